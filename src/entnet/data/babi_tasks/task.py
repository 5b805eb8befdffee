"""What a task is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.story import Story

PEOPLE = ("Mary", "John", "Sandra", "Daniel")
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
OBJECTS = ("apple", "football", "milk")

WINDOW = 5
"""Questions concern what the last few sentences were about."""

ATTEMPTS = 25
"""How often a question is looked for before the story goes on without one."""


@dataclass(frozen=True)
class Task:
    """A kind of story and question: its world as in the official data, and how a story is made."""

    number: int
    setting: Setting
    story: Callable[[Dice, Setting], Story]
