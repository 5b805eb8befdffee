"""Task 8, lists: what does somebody carry?"""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.house_story import house_story
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked
from entnet.data.babi_tasks.task import HOUSE, Task
from entnet.data.babi_tasks.world import Event, House
from entnet.data.story import Story


class Hands:
    """What each person did with each object, objects in the order first taken by that person."""

    def __init__(self) -> None:
        self.handled: dict[str, dict[str, list[int]]] = {}
        self.carried: dict[str, list[str]] = {}

    def hear(self, event: Event, sentence: int, house: House) -> None:
        if event.kind != "go":
            self.handled.setdefault(event.actor, {}).setdefault(event.what, []).append(sentence)
            self.carried = house.carried

    def question(self, event: Event) -> Asked | None:
        """About somebody who lately took or dropped something.

        Objects are listed, and facts cited, in the order in which the person first took them.
        """
        if event.kind == "go":
            return None
        handled = self.handled[event.actor]
        held = [thing for thing in handled if thing in self.carried[event.actor]]
        supports = tuple(sentence for sentences in handled.values() for sentence in sentences)
        return Asked(f"What is {event.actor} carrying?", ",".join(held) or "nothing", supports)


def story(dice: Dice, setting: Setting) -> Story:
    return house_story(dice, setting, ("go", "get", "drop"), Hands())


TASK = Task(
    number=8,
    name="lists-sets",
    setting=HOUSE,
    story=story,
)
