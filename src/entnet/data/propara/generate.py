"""Generated processes: small worlds in which things come to be, move, and cease to be, told in many words.

They teach what verbs and prepositions say before the few real paragraphs are read. Grids are true by
construction: each sentence is one event, and the grid is what the events come to. ``words.toml`` has the
words.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from entnet.data.babi_tasks.dice import Dice
from entnet.data.propara.process import NOWHERE, UNKNOWN, Process
from entnet.data.propara.words import items, word_lists

SENTENCES = (4, 8)
THINGS = (3, 6)
PLACES = 5
EVENTS = {"moves": 34, "leaves": 5, "creates": 15, "destroys": 8, "converts": 18, "idle": 20}
"""How often each kind is tried, in percent; where nothing is there to be changed, things move or idle."""


@dataclass
class _World:
    """What exists, and where, after each sentence told so far."""

    dice: Dice
    things: list[str]
    places: list[str]
    grid: dict[str, list[str]] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def now(self, thing: str) -> str:
        return self.grid[thing][-1]

    def tell(self, kind: str, x: str, y: str = "", to: str = "") -> str:
        """Tell an event of x: the sentence's pattern, which says what became known by it."""
        choice = self.dice.pick(word_lists()[kind])
        pattern: str = choice["sentence"].replace("{verb}", self.dice.pick(items(choice["verbs"])))
        if "{a}" in pattern and self.now(x) in (UNKNOWN, NOWHERE):
            place = self.dice.pick([one for one in self.places if one != to])
            if self.now(x) == UNKNOWN and kind != "idle":
                self._reveal(x, place)
        else:
            place = self.now(x)
        text = pattern.format(
            x=self.dice.pick((x, f"the {x}")),
            y=y,
            a=place,
            b=to,
            the=self.dice.pick(("the", "the", "a", "")),
            agent=self.dice.pick(items(word_lists()["agents"])),
        )
        text = " ".join(text.split())
        self.told.append(text[:1].upper() + text[1:])
        return pattern

    def _reveal(self, thing: str, place: str) -> None:
        """It has been there since it was last told of, as readers infer it."""
        row = self.grid[thing]
        for step in reversed(range(len(row))):
            if row[step] != UNKNOWN:
                break
            row[step] = place


def generate_process(number: int, seed: int) -> Process:
    """A generated paragraph; the same for the same number and seed."""
    dice = Dice.of("process", seed, number)
    words = word_lists()
    things = dice.draw(items(words["things"]), THINGS[0] + dice.below(THINGS[1] - THINGS[0] + 1))
    places = [place for place in items(words["places"]) if place not in things]
    world = _World(dice, things, dice.draw(places, PLACES))
    for thing in things:
        world.grid[thing] = [UNKNOWN if dice.chance(0.55) else NOWHERE]
    for _ in range(SENTENCES[0] + dice.below(SENTENCES[1] - SENTENCES[0] + 1)):
        _happen(world)
    text = " ".join(world.told).lower()
    named = [thing for thing in things if thing in text] or things[:1]
    return Process(
        f"generated-{number}",
        tuple(world.told),
        tuple(named),
        tuple(tuple(world.grid[thing]) for thing in named),
    )


def _happen(world: _World) -> None:
    """Tell one sentence, and bring the grid up to date."""
    dice = world.dice
    there = [thing for thing in world.things if world.now(thing) != NOWHERE]
    never = [thing for thing in world.things if set(world.grid[thing]) == {NOWHERE}]
    kind = dice.pick([kind for kind, percent in EVENTS.items() for _ in range(percent)])
    changes: dict[str, str] = {}
    if kind == "creates" and never:
        x = dice.pick(never)
        b = dice.pick(world.places)
        changes[x] = b if "{b}" in world.tell(kind, x, to=b) else UNKNOWN
    elif not there or kind == "idle":
        world.tell("idle", dice.pick(there or world.things))
    else:
        x = dice.pick(there)
        b = dice.pick([place for place in world.places if place != world.now(x)])
        if kind == "converts" and never:
            y = dice.pick(never)
            changes = {x: NOWHERE, y: world.now(x)}
            world.tell(kind, x, y)
        elif kind == "destroys":
            world.tell(kind, x)
            changes[x] = NOWHERE
        elif kind == "leaves":
            world.tell(kind, x)
            changes[x] = UNKNOWN
        else:
            world.tell("moves", x, to=b)
            changes[x] = b
    for thing in world.things:
        world.grid[thing].append(changes.get(thing, world.now(thing)))


def generate_processes(count: int, seed: int) -> list[Process]:
    """So many generated paragraphs."""
    return [generate_process(number, seed) for number in range(count)]
