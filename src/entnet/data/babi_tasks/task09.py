"""Task 9, simple negation: people are somewhere, or are not."""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked, Storyteller
from entnet.data.babi_tasks.task import PEOPLE, PLACES, Task
from entnet.data.babi_tasks.world import House
from entnet.data.story import Story


def story(dice: Dice, setting: Setting) -> Story:
    house = House(dice, setting)
    teller = Storyteller(dice, setting)
    people: list[str] = []
    known: dict[str, tuple[str, bool, int]] = {}

    def question(person: str) -> Asked:
        """Of somebody known not to be in a place, that place is asked; else, half of the time."""
        place, there, sentence = known[person]
        asked = place
        if there and dice.chance(0.5):
            asked = dice.pick([other for other in setting.places if other != place])
        answer = "yes" if there and asked == place else "no"
        return Asked(f"Is {person} in the {asked}?", answer, (sentence,))

    while teller.asking:
        for _ in range(setting.sentences_per_question):
            before = dict(house.place_of)
            event = house.live(("go",))
            people.append(event.actor)
            if dice.chance(0.25):
                left = before[event.actor]
                negation = teller.wording(("is no longer", "is not"))
                sentence = teller.say(f"{event.actor} {negation} in the {left}.")
                known[event.actor] = (left, False, sentence)
            else:
                known[event.actor] = (event.what, True, teller.tell_place(event, 1 / 3))
        teller.ask_about_recent(people, question)
    return teller.story()


TASK = Task(
    number=9,
    name="simple-negation",
    setting=Setting(
        people=PEOPLE,
        places=PLACES,
        questions_per_story=5,
        sentences_per_question=2,
        fewest={"people": 1},
    ),
    story=story,
)
