"""Task 3, three supporting facts: where was an object before it was carried to some place?"""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.house_story import house_story
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked
from entnet.data.babi_tasks.task import HOUSE, Task
from entnet.data.babi_tasks.world import Event, House
from entnet.data.story import Story


class Journeys:
    """Of each object, where it was carried since it was last taken."""

    def __init__(self, dice: Dice, objects: tuple[str, ...]) -> None:
        self.dice = dice
        self.stops: dict[str, list[tuple[str, int]]] = {thing: [] for thing in objects}
        """Places, and the sentences that told of going there."""
        self.handled: dict[str, int] = {}
        """The sentence in which each object was last taken or dropped."""

    def hear(self, event: Event, sentence: int, house: House) -> None:
        if event.kind == "go":
            for thing in house.carried[event.actor]:
                self.stops[thing].append((event.what, sentence))
            return
        self.handled[event.what] = sentence
        if event.kind == "get":
            self.stops[event.what] = []

    def question(self, event: Event) -> Asked | None:
        """About an object lately taken or dropped, if it was carried to two places in a row."""
        if event.kind == "go":
            return None
        thing, stops = event.what, self.stops[event.what]
        if len(stops) < 2:
            return None
        place, _ = stops[1 + self.dice.below(len(stops) - 1)]
        # It may have been carried to the place more than once: the last time is meant.
        last = max(i for i in range(1, len(stops)) if stops[i][0] == place)
        (before, left), (_, reached) = stops[last - 1], stops[last]
        text = f"Where was the {thing} before the {place}?"
        return Asked(text, before, (self.handled[thing], reached, left))


def story(dice: Dice, setting: Setting) -> Story:
    listener = Journeys(dice, setting.objects)
    return house_story(dice, setting, ("go", "get", "drop"), listener, there_after_get=0.2)


TASK = Task(
    number=3,
    name="three-supporting-facts",
    setting=HOUSE,
    story=story,
)
