"""Task 12, conjunction: two people go somewhere together."""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import VERBS, Asked, Storyteller
from entnet.data.babi_tasks.task import PEOPLE, PLACES, Task
from entnet.data.babi_tasks.walkers import Walkers
from entnet.data.story import Story


def story(dice: Dice, setting: Setting) -> Story:
    walkers = Walkers(dice, setting)
    teller = Storyteller(dice, setting)
    people: list[str] = []
    known: dict[str, tuple[str, int]] = {}

    def question(person: str) -> Asked:
        place, sentence = known[person]
        return Asked(f"Where is {person}?", place, (sentence,))

    while teller.asking:
        for _ in range(setting.sentences_per_question):
            company, place = walkers.go(2)
            verb = teller.wording(VERBS["go"])
            sentence = teller.say(f"{company[0]} and {company[1]} {verb} to the {place}.")
            people += company
            known.update(dict.fromkeys(company, (place, sentence)))
        teller.ask_about_recent(people, question)
    return teller.story()


TASK = Task(
    number=12,
    name="conjunction",
    setting=Setting(
        people=PEOPLE,
        places=PLACES,
        questions_per_story=5,
        sentences_per_question=2,
        fewest={"places": 3},
    ),
    story=story,
)
