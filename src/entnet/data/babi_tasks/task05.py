"""Task 5, three arguments: who gave what to whom?"""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.house_story import house_story
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked
from entnet.data.babi_tasks.task import OBJECTS, PLACES, Task
from entnet.data.babi_tasks.world import Event, House
from entnet.data.story import Story


class Gifts:
    """The last time that each object was given, and that each pair of people gave."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.of_object: dict[str, tuple[Event, int]] = {}
        self.between: dict[tuple[str, str], Event] = {}

    def hear(self, event: Event, sentence: int, house: House) -> None:
        if event.kind == "give":
            self.of_object[event.what] = (event, sentence)
            self.between[event.actor, event.to] = event

    def question(self, event: Event) -> Asked | None:
        """About the last gift of an object lately given. "What" is asked as often as two others."""
        if event.kind != "give":
            return None
        (_, giver, thing, taker), sentence = self.of_object[event.what]
        asked = self.dice.pick(
            (
                (f"What did {giver} give to {taker}?", thing),
                (f"What did {giver} give to {taker}?", thing),
                (f"Who received the {thing}?", taker),
                (f"Who did {giver} give the {thing} to?", taker),
                (f"Who gave the {thing}?", giver),
                (f"Who gave the {thing} to {taker}?", giver),
            )
        )
        # The official data ask "what" even where the two have since exchanged another thing.
        if asked[1] == thing and self.between[giver, taker].what != thing:
            return None
        return Asked(*asked, (sentence,))


def story(dice: Dice, setting: Setting) -> Story:
    return house_story(dice, setting, ("go", "get", "drop", "give"), Gifts(dice))


TASK = Task(
    number=5,
    name="three-arg-relations",
    setting=Setting(
        people=("Mary", "Fred", "Bill", "Jeff"),
        places=PLACES,
        objects=OBJECTS,
        questions_per_story=5,
        sentences_per_question=2,
        fewest={"objects": 1},
    ),
    story=story,
)
