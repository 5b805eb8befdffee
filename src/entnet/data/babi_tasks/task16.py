"""Task 16, basic induction: Greg is a swan, and the other swan is green."""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked, Storyteller
from entnet.data.babi_tasks.task import Task
from entnet.data.story import Story

COLOURS = ("gray", "green", "white", "yellow")


def story(dice: Dice, setting: Setting) -> Story:
    while True:
        told = attempt(dice, setting)
        if told is not None:
            return told


def attempt(dice: Dice, setting: Setting) -> Story | None:
    """Tell a kind and a colour of everybody but the last, whose colour is asked.

    A kind takes a new colour whenever a member is introduced, so only those whose colours are told
    between two introductions must agree. Then the last introduced counts: that is how the official
    answers are to be read. Official stories never have two, of all numbers, to induce from.
    """
    teller = Storyteller(dice, setting)
    kind_of: dict[str, tuple[str, int]] = {}
    colour_of: dict[str, tuple[str, int]] = {}
    fashion: dict[str, str] = {}
    while len(colour_of) < len(setting.people) - 1 or len(kind_of) < len(setting.people):
        name = dice.pick([name for name in setting.people if name not in colour_of])
        if name not in kind_of:
            kind = dice.pick(setting.objects)
            fashion[kind] = dice.pick(COLOURS)
            article = "an" if kind[0] in "aeiou" else "a"
            kind_of[name] = (kind, teller.say(f"{name} is {article} {kind}."))
        else:
            colour = fashion[kind_of[name][0]]
            colour_of[name] = (colour, teller.say(f"{name} is {colour}."))
    (asked,) = kind_of.keys() - colour_of.keys()
    kind, introduced = kind_of[asked]
    others = [name for name in kind_of if name != asked and kind_of[name][0] == kind]
    if len(others) in (0, 2):
        return None
    colour, coloured = colour_of[others[-1]]
    supports = (introduced, kind_of[others[-1]][1], coloured)
    teller.ask(Asked(f"What color is {asked}?", colour, supports))
    return teller.story()


TASK = Task(
    number=16,
    name="basic-induction",
    setting=Setting(
        people=("Lily", "Bernhard", "Brian", "Julius", "Greg"),
        objects=("frog", "lion", "rhino", "swan"),
        fewest={"objects": 1},
    ),
    story=story,
)
