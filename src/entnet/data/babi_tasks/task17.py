"""Task 17, positional reasoning: two shapes beside a third; where are they to each other?"""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked, Storyteller
from entnet.data.babi_tasks.task import Task
from entnet.data.story import Story

DIRECTIONS = {
    "above": (0, 1),
    "below": (0, -1),
    "to the left of": (-1, 0),
    "to the right of": (1, 0),
}
MIDDLE_FIRST = 2 / 3
"""Share of the sentences whose subject is the shape between the other two."""


def story(dice: Dice, setting: Setting) -> Story:
    teller = Storyteller(dice, setting)
    middle, *outer = dice.draw(setting.objects, 3)
    ways = dice.draw(tuple(DIRECTIONS), 2)
    spots = {shape: DIRECTIONS[way] for shape, way in zip(outer, ways, strict=True)}
    for shape, way in zip(outer, ways, strict=True):
        if dice.chance(MIDDLE_FIRST):
            teller.say(f"The {middle} is {opposite(way)} the {shape}.")
        else:
            teller.say(f"The {shape} is {way} the {middle}.")
    while teller.asking:
        one, other = dice.draw(outer, 2)
        wanted = dice.chance(0.5)
        relation = dice.pick(
            [way for way in DIRECTIONS if lies(spots[one], way, spots[other]) == wanted]
        )
        supports = (outer.index(one), outer.index(other))
        text = f"Is the {one} {relation} the {other}?"
        teller.ask(Asked(text, "yes" if wanted else "no", supports))
    return teller.story()


def opposite(way: str) -> str:
    x, y = DIRECTIONS[way]
    return next(other for other, step in DIRECTIONS.items() if step == (-x, -y))


def lies(spot: tuple[int, int], way: str, other: tuple[int, int]) -> bool:
    """Whether one spot lies that way of the other."""
    x, y = DIRECTIONS[way]
    return (spot[0] - other[0]) * x + (spot[1] - other[1]) * y > 0


TASK = Task(
    number=17,
    name="positional-reasoning",
    setting=Setting(
        objects=(
            "triangle",
            "pink rectangle",
            "blue square",
            "red sphere",
            "red square",
            "yellow square",
        ),
        questions_per_story=8,
        fewest={"objects": 3},
    ),
    story=story,
)
