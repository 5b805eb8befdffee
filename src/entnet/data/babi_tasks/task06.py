"""Task 6, yes or no: is somebody in some place?"""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.house_story import house_story
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked
from entnet.data.babi_tasks.task import HOUSE, Task
from entnet.data.babi_tasks.world import Event, House
from entnet.data.story import Story


class Whereabouts:
    """Where each person last went, and the sentence that told it."""

    def __init__(self, dice: Dice, places: tuple[str, ...]) -> None:
        self.dice = dice
        self.places = places
        self.known: dict[str, tuple[str, int]] = {}

    def hear(self, event: Event, sentence: int, house: House) -> None:
        if event.kind == "go":
            self.known[event.actor] = (event.what, sentence)

    def question(self, event: Event) -> Asked | None:
        """About somebody who lately went somewhere: half of the time, whether they are there."""
        if event.kind != "go":
            return None
        place, sentence = self.known[event.actor]
        asked = place
        if self.dice.chance(0.5):
            asked = self.dice.pick([other for other in self.places if other != place])
        answer = "yes" if asked == place else "no"
        return Asked(f"Is {event.actor} in the {asked}?", answer, (sentence,))


def story(dice: Dice, setting: Setting) -> Story:
    return house_story(dice, setting, ("go", "get", "drop"), Whereabouts(dice, setting.places))


TASK = Task(
    number=6,
    name="yes-no-questions",
    setting=HOUSE,
    story=story,
)
