"""Task 2, two supporting facts: where is an object that somebody carries or put down?"""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.house_story import house_story
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked
from entnet.data.babi_tasks.task import HOUSE, Task
from entnet.data.babi_tasks.world import Event, House
from entnet.data.story import Story


class Objects:
    """What the story lets one know about where the objects are."""

    def __init__(self) -> None:
        self.walked: dict[str, tuple[str, int]] = {}
        """Where each person last went, and the sentence."""
        self.taken: dict[str, tuple[str, int]] = {}
        """Who carries each object, and the sentence in which it was taken."""
        self.dropped: dict[str, Asked] = {}
        """The question to ask about each object that lies at a known place."""

    def hear(self, event: Event, sentence: int, house: House) -> None:
        if event.kind == "go":
            self.walked[event.actor] = (event.what, sentence)
        elif event.kind == "get":
            self.taken[event.what] = (event.actor, sentence)
            self.dropped.pop(event.what, None)
        else:
            del self.taken[event.what]
            if event.actor in self.walked:
                place, walked = self.walked[event.actor]
                self.dropped[event.what] = _where(event.what, place, sentence, walked)

    def question(self, event: Event) -> Asked | None:
        """About an object lately dropped, or taken and then carried somewhere."""
        if event.kind == "go":
            return None
        if event.what not in self.taken:
            return self.dropped.get(event.what)
        carrier, taken = self.taken[event.what]
        place, walked = self.walked.get(carrier, ("", -1))
        return _where(event.what, place, taken, walked) if walked > taken else None


def _where(thing: str, place: str, handled: int, walked: int) -> Asked:
    return Asked(f"Where is the {thing}?", place, (handled, walked))


def story(dice: Dice, setting: Setting) -> Story:
    return house_story(dice, setting, ("go", "get", "drop"), Objects())


TASK = Task(
    number=2,
    name="two-supporting-facts",
    setting=HOUSE,
    story=story,
)
