"""Task 1, one supporting fact: where is somebody?"""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.house_story import house_story
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked
from entnet.data.babi_tasks.task import PEOPLE, PLACES, Task
from entnet.data.babi_tasks.world import Event, House
from entnet.data.story import Story


class Whereabouts:
    """Where each person last went, and the sentence that told it."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[str, int]] = {}

    def hear(self, event: Event, sentence: int, house: House) -> None:
        self.known[event.actor] = (event.what, sentence)

    def question(self, event: Event) -> Asked | None:
        place, sentence = self.known[event.actor]
        return Asked(f"Where is {event.actor}?", place, (sentence,))


def story(dice: Dice, setting: Setting) -> Story:
    return house_story(dice, setting, ("go",), Whereabouts())


TASK = Task(
    number=1,
    name="single-supporting-fact",
    setting=Setting(
        people=PEOPLE,
        places=PLACES,
        questions_per_story=5,
        sentences_per_question=2,
        fewest={"people": 1},
    ),
    story=story,
)
