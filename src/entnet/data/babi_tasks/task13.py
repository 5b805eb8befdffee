"""Task 13, compound coreference: two people go somewhere, then they go on."""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import THEN, VERBS, Asked, Storyteller
from entnet.data.babi_tasks.task import PEOPLE, PLACES, Task
from entnet.data.babi_tasks.walkers import Walkers
from entnet.data.story import Story


def story(dice: Dice, setting: Setting) -> Story:
    walkers = Walkers(dice, setting)
    teller = Storyteller(dice, setting)
    people: list[str] = []
    known: dict[str, tuple[str, tuple[int, int]]] = {}

    def question(person: str) -> Asked:
        place, sentences = known[person]
        return Asked(f"Where is {person}?", place, sentences)

    while teller.asking:
        company, place = walkers.go(2)
        verb = teller.wording(VERBS["go"])
        first = teller.say(f"{company[0]} and {company[1]} {verb} to the {place}.")
        place = walkers.go_on(company)
        then, verb = teller.wording(THEN), teller.wording(VERBS["go"])
        second = teller.say(f"{then} they {verb} to the {place}.")
        people += (*company, *company)
        known.update(dict.fromkeys(company, (place, (first, second))))
        teller.ask_about_recent(people, question)
    return teller.story()


TASK = Task(
    number=13,
    name="compound-coreference",
    setting=Setting(people=PEOPLE, places=PLACES, questions_per_story=5, fewest={"places": 3}),
    story=story,
)
