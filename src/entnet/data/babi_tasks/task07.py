"""Task 7, counting: how many objects does somebody carry?"""

from __future__ import annotations

from dataclasses import replace

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.house_story import house_story
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked
from entnet.data.babi_tasks.task import HOUSE, Task
from entnet.data.babi_tasks.world import Event, House
from entnet.data.story import Story

NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Hands:
    """What happened to what each person carries, and how much it is by now."""

    def __init__(self) -> None:
        self.changes: dict[str, list[int]] = {}
        self.count: dict[str, int] = {}

    def hear(self, event: Event, sentence: int, house: House) -> None:
        if event.kind == "go":
            return
        for person in filter(None, (event.actor, event.to)):
            self.changes.setdefault(person, []).append(sentence)
            self.count[person] = len(house.carried[person])

    def question(self, event: Event) -> Asked | None:
        """About somebody who lately took, dropped or gave something."""
        if event.kind == "go":
            return None
        count = self.count[event.actor]
        answer = NUMBERS[count] if count < len(NUMBERS) else str(count)
        supports = tuple(self.changes[event.actor])
        return Asked(f"How many objects is {event.actor} carrying?", answer, supports)


def story(dice: Dice, setting: Setting) -> Story:
    return house_story(dice, setting, ("go", "get", "drop", "give"), Hands())


TASK = Task(
    number=7,
    name="counting",
    # Whoever stands first is given most: see ``House``.
    setting=replace(HOUSE, people=("John", "Mary", "Sandra", "Daniel")),
    story=story,
)
