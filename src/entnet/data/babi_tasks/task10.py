"""Task 10, indefinite knowledge: somebody is either here or there, so perhaps here."""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked, Storyteller
from entnet.data.babi_tasks.task import TOWN_PEOPLE, TOWN_PLACES, Task
from entnet.data.babi_tasks.world import House
from entnet.data.story import Story


def story(dice: Dice, setting: Setting) -> Story:
    house = House(dice, setting)
    teller = Storyteller(dice, setting)
    people: list[str] = []
    known: dict[str, tuple[tuple[str, ...], int]] = {}

    def question(person: str) -> Asked:
        """Half of the time about the place where the person truly is."""
        places, sentence = known[person]
        asked = place = house.place_of[person]
        if dice.chance(0.5):
            asked = dice.pick([other for other in setting.places if other != place])
        possible = "yes" if len(places) == 1 else "maybe"
        answer = possible if asked in places else "no"
        return Asked(f"Is {person} in the {asked}?", answer, (sentence,))

    while teller.asking:
        for _ in range(setting.sentences_per_question):
            event = house.live(("go",))
            people.append(event.actor)
            if dice.chance(0.25):
                # The decoy may be the true place: "either in the park or the park" does occur.
                places = dice.draw((event.what, dice.pick(setting.places)), 2)
                sentence = teller.say(
                    f"{event.actor} is either in the {places[0]} or the {places[1]}."
                )
                known[event.actor] = (tuple(places), sentence)
            else:
                known[event.actor] = ((event.what,), teller.tell_place(event, 1 / 3))
        teller.ask_about_recent(people, question)
    return teller.story()


TASK = Task(
    number=10,
    name="indefinite-knowledge",
    setting=Setting(
        people=TOWN_PEOPLE,
        places=TOWN_PLACES,
        questions_per_story=5,
        sentences_per_question=2,
        fewest={"people": 1},
    ),
    story=story,
)
