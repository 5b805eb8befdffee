"""A story in which all may happen that happens in bAbI's house, and all may be asked at any moment."""

from __future__ import annotations

from dataclasses import dataclass

from entnet.data.babi_tasks.dice import Dice
from entnet.data.story import Question, Story
from entnet.data.world import pools
from entnet.data.world.asking import Asker
from entnet.data.world.knowledge import Knowledge


@dataclass(frozen=True)
class Cast:
    """Who and what is in a story, and how it is told."""

    people: tuple[str, ...]
    things: tuple[str, ...]
    places: tuple[str, ...]
    diarists: tuple[str, ...] = ()
    """People of whom only times of day are told; they are none of the others."""
    sentences: int = 20
    plain: bool = False
    """bAbI's own wording only."""
    doubts: float = 0.1
    """Share of the sentences that say where somebody is not, or may be."""
    company: float = 0.15
    """Share of the walks that two people make."""
    handling: float = 0.5
    """Share of the sentences about things."""
    giving: float = 0.25
    """Of these, the share of gifts."""


class Teller:
    """Lets things happen in a house, tells of them, and keeps what may be known."""

    def __init__(self, dice: Dice, cast: Cast) -> None:
        self.dice = dice
        self.cast = cast
        self.knowledge = Knowledge()
        self.sentences: list[str] = []
        # What is the case, told or not.
        self.place_of = {name: dice.pick(cast.places) for name in cast.people}
        self.lying = {thing: dice.pick(cast.places) for thing in cast.things}
        self.hands: dict[str, list[str]] = {name: [] for name in cast.people}
        self.before: tuple[str, ...] = ()
        """Whom the last sentence was about: she, he or they."""
        self.pronouns = {name: dice.pick(("she", "he")) for name in cast.people}

    def tell(self) -> None:
        """One more sentence."""
        dice, cast = self.dice, self.cast
        if cast.diarists and (not cast.people or dice.chance(0.3)):
            return self._diary()
        if cast.things and dice.chance(cast.handling) and self._handle():
            return None
        if dice.chance(cast.doubts):
            return self._doubt()
        return self._walk()

    def _say(self, sentence: str, about: tuple[str, ...] = ()) -> None:
        self.sentences.append(sentence[0].upper() + sentence[1:])
        self.before = about

    def _pronoun(self) -> str:
        """For those whom the last sentence was about."""
        return self.pronouns[self.before[0]] if len(self.before) == 1 else "they"

    def _subject(self, name: str) -> str:
        """Somebody by name, or now and then by pronoun."""
        return self._pronoun() if self.before == (name,) and self.dice.chance(0.4) else name

    def _went(self) -> str:
        plain = self.cast.plain or self.dice.chance(0.7)
        return self.dice.pick(pools.GO if plain else pools.MORE_GO)

    def _walk(self) -> None:
        dice, cast = self.dice, self.cast
        went = self._went()
        if self.before and dice.chance(0.35):
            company = self.before
            then = f"{dice.pick(pools.THEN)} " if dice.chance(0.6) else ""
            who = f"{then}{self._pronoun()}"
        elif len(cast.people) > 1 and dice.chance(cast.company):
            company = tuple(dice.draw(cast.people, 2))
            who = f"{company[0]} and {company[1]}"
        else:
            company = (dice.pick(cast.people),)
            who = company[0]
        here = {self.place_of[name] for name in company}
        place = dice.pick([place for place in cast.places if place not in here] or cast.places)
        for name in company:
            self.place_of[name] = place
            self.knowledge.at(name, place)
        if who == company[0] and dice.chance(0.15):
            went = "is in"
        self._say(f"{who} {went} the {place}.", company)

    def _doubt(self) -> None:
        """Somebody went somewhere; told is where they no longer are, or two places, one of them right."""
        dice, cast = self.dice, self.cast
        name = dice.pick(cast.people)
        left = self.place_of[name]
        place = self.place_of[name] = dice.pick([other for other in cast.places if other != left])
        if dice.chance(0.5):
            self.knowledge.left(name, left)
            return self._say(f"{name} {dice.pick(pools.NOT_IN)} the {left}.")
        one, other = dice.draw((place, dice.pick(cast.places)), 2)
        self.knowledge.at(name, one, other)
        return self._say(f"{name} is either in the {one} or the {other}.")

    def _handle(self) -> bool:
        """Something is taken, put down or given, if it can be."""
        dice = self.dice
        if dice.chance(self.cast.giving):
            return self._give()
        carriers = [name for name in self.cast.people if self.hands[name]]
        if carriers and dice.chance(0.45):
            name = dice.pick(carriers)
            what = dice.pick(self.hands[name])
            self.hands[name].remove(what)
            self.lying[what] = self.place_of[name]
            self.knowledge.drops(name, what)
            who = self._subject(name)
            self._say(f"{who} {dice.pick(pools.DROP)} the {what}{self._there(0.2)}.", (name,))
            return True
        here = [
            (name, thing)
            for name in self.cast.people
            for thing, place in self.lying.items()
            if place == self.place_of[name]
        ]
        if not here:
            return False
        name, what = dice.pick(here)
        del self.lying[what]
        self.hands[name].append(what)
        self.knowledge.gets(name, what)
        who = self._subject(name)
        self._say(f"{who} {dice.pick(pools.GET)} the {what}{self._there(0.5)}.", (name,))
        return True

    def _give(self) -> bool:
        carriers = [name for name in self.cast.people if self.hands[name]]
        if not carriers:
            return False
        giver = self.dice.pick(carriers)
        others = [
            name
            for name in self.cast.people
            if name != giver and self.place_of[name] == self.place_of[giver]
        ]
        if not others:
            return False
        to, what = self.dice.pick(others), self.dice.pick(self.hands[giver])
        self.hands[giver].remove(what)
        self.hands[to].append(what)
        self.knowledge.gives(giver, what, to)
        self._say(f"{giver} {self.dice.pick(pools.GIVE)} the {what} to {to}.")
        return True

    def _there(self, share: float) -> str:
        return " there" if self.dice.chance(share) else ""

    def _diary(self) -> None:
        """Where somebody was at a time of day of which nothing was told yet."""
        dice, cast = self.dice, self.cast
        told = {name: self.knowledge.person(name).days for name in cast.diarists}
        name = dice.pick(
            [name for name in cast.diarists if len(told[name]) < len(pools.TIMES)] or cast.diarists
        )
        left = [time for time in range(len(pools.TIMES)) if time not in told[name]]
        if not left:
            return self._walk() if cast.people else None
        time = dice.pick(left)
        beside = {told[name].get(time - 1), told[name].get(time + 1)}
        place = dice.pick([place for place in cast.places if place not in beside] or cast.places)
        self.knowledge.was(name, time, place)
        went, when = f"{name} {self._went()} the {place}", pools.TIMES[time]
        return self._say(dice.pick((f"{when} {went}.", f"{went} {when}.")))


LONG_SHARE = 0.08
"""Share of the stories that have 30 sentences or more."""


def draw_cast(dice: Dice, most: int = 120, long_share: float = LONG_SHARE) -> Cast:
    """Who and what a story is about: one person or a crowd, a few sentences or many."""
    crowd = dice.chance(0.25)
    people = 1 + dice.below(10 if crowd else 5)
    places = 3 + dice.below(10 if crowd else 6)
    listed = dice.chance(0.5)
    things = dice.below(11 if crowd and not listed else 4)
    names = dice.draw(pools.PEOPLE, min(people + 3, len(pools.PEOPLE)))
    pool = pools.THINGS[: pools.LISTABLE] if listed else pools.THINGS[pools.LISTABLE :]
    length = 2 + dice.below(14) if dice.chance(0.5) else 6 + dice.below(30)
    if dice.chance(long_share):
        length = 30 + dice.below(most - 29)
    diarists = tuple(names[people:]) if dice.chance(0.2) else ()
    return Cast(
        people=tuple(names[:people]),
        things=tuple(dice.draw(pool, min(things, len(pool)))),
        places=tuple(dice.draw(pools.PLACES, places)),
        diarists=diarists[: 1 + dice.below(3)],
        sentences=min(length, most),
        plain=dice.chance(0.5),
        doubts=dice.pick((0.0, 0.1, 0.4)),
        company=dice.pick((0.0, 0.15, 0.6)),
        handling=dice.pick((0.2, 0.5, 0.7)),
        giving=dice.pick((0.0, 0.2, 0.5)),
    )


def tell_story(
    dice: Dice, cast: Cast, asked_per_sentence: float = 1.5, hard: bool = False
) -> Story:
    """A story of this cast, with questions at any moment, some of which it does not answer.

    hard: as of ``Asker``.
    """
    teller = Teller(dice, cast)
    asker = Asker(dice, cast, teller.knowledge, hard)
    questions: list[Question] = []
    while len(teller.sentences) < cast.sentences:
        before = len(teller.sentences)
        teller.tell()
        if len(teller.sentences) == before:
            break
        wanted = int(asked_per_sentence) + dice.chance(asked_per_sentence % 1)
        for text, answer in asker.ask(teller.sentences, wanted):
            questions.append(Question(len(teller.sentences), text, answer))
    return Story(tuple(teller.sentences), tuple(questions))
