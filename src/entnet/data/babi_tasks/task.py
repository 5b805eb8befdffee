"""What a task is, and the words that most of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.story import Story

PEOPLE = ("Mary", "John", "Sandra", "Daniel")
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
OBJECTS = ("apple", "football", "milk")

HOUSE = Setting(
    people=PEOPLE,
    places=PLACES,
    objects=OBJECTS,
    questions_per_story=5,
    sentences_per_question=2,
    fewest={"people": 1, "objects": 1},
)
"""People who walk about and carry things, with a question after every two sentences."""

TOWN_PEOPLE = ("Mary", "Fred", "Julie", "Bill")
TOWN_PLACES = ("bedroom", "cinema", "kitchen", "office", "park", "school")


@dataclass(frozen=True)
class Task:
    """A kind of story: its world as in the official data, and how one story is made."""

    number: int
    name: str
    setting: Setting
    story: Callable[[Dice, Setting], Story]
