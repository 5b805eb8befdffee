"""Stories of the house: things happen, and every few sentences there is a chance to ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked, Storyteller
from entnet.data.babi_tasks.world import Event, House
from entnet.data.story import Story


class Listener(Protocol):
    """What a task remembers of the story, and what it asks about something that happened."""

    def hear(self, event: Event, sentence: int, house: House) -> None: ...

    def question(self, event: Event) -> Asked | None: ...


def house_story(
    dice: Dice,
    setting: Setting,
    kinds: Sequence[str],
    listener: Listener,
    there_after_get: float = 1.0,
) -> Story:
    """Tell a story of these kinds of action until it has its questions."""
    house = House(dice, setting)
    teller = Storyteller(dice, setting, there_after_get)
    events: list[Event] = []
    while teller.asking:
        for _ in range(setting.sentences_per_question):
            event = house.live(kinds)
            events.append(event)
            listener.hear(event, teller.tell(event), house)
        teller.ask_about_recent(events, listener.question)
    return teller.story()
