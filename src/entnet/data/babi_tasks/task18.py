"""Task 18, size reasoning: what fits into what fits into something bigger still."""

from __future__ import annotations

from typing import NamedTuple

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import ATTEMPTS, WINDOW, Asked, Storyteller
from entnet.data.babi_tasks.task import Task
from entnet.data.story import Story

SENTENCES = 5
"""Sentences told before questions are tried."""

ALWAYS_SMALL = 2
"""The first of the objects have the same sizes in every story: least, next to least."""


class Fact(NamedTuple):
    small: str
    big: str


def story(dice: Dice, setting: Setting) -> Story:
    """Tell some sizes and ask; if too little follows from them, tell more and ask anew."""
    teller = Storyteller(dice, setting)
    small, rest = setting.objects[:ALWAYS_SMALL], setting.objects[ALWAYS_SMALL:]
    by_size = (*small, *dice.draw(rest, len(rest)))
    facts: list[Fact] = []
    asked = 0
    while asked < setting.questions_per_story:
        for _ in range(SENTENCES):
            fact = Fact(*sorted(dice.draw(by_size, 2), key=by_size.index))
            facts.append(fact)
            inside, bigger = "The {} fits inside the {}.", "The {1} is bigger than the {0}."
            teller.say(teller.wording((inside, bigger)).format(*fact))
        asked = 0
        while asked < setting.questions_per_story and ask(dice, teller, facts):
            asked += 1
    return teller.story()


def ask(dice: Dice, teller: Storyteller, facts: list[Fact]) -> bool:
    """Ask what follows from a recent fact and the first other one that it can be chained to.

    A fact told twice chains to nothing new if its repetition stands before what would follow.
    """
    for _ in range(ATTEMPTS):
        one = len(facts) - 1 - dice.below(min(WINDOW, len(facts)))
        other = next((i for i in range(len(facts)) if i != one and meet(facts, one, i)), one)
        if facts[one] == facts[other]:
            continue
        bigger_first = facts[one].small == facts[other].big
        low, high = (other, one) if bigger_first else (one, other)
        small, big = facts[low].small, facts[high].big
        claimed = (small, big) if bigger_first else (big, small)
        inside, bigger = "Does the {} fit in the {}?", "Is the {1} bigger than the {0}?"
        text = teller.wording((inside, bigger)).format(*claimed)
        teller.ask(Asked(text, "yes" if bigger_first else "no", (one, other)))
        return True
    return False


def meet(facts: list[Fact], one: int, other: int) -> bool:
    """Whether two facts form a chain, or say the same."""
    a, b = facts[one], facts[other]
    return a.big == b.small or a.small == b.big or a == b


TASK = Task(
    number=18,
    name="size-reasoning",
    setting=Setting(
        objects=(
            "chocolate",
            "box of chocolates",
            "box",
            "chest",
            "container",
            "suitcase",
        ),
        questions_per_story=5,
        fewest={"objects": 3},
    ),
    story=story,
)
