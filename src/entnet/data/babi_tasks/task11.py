"""Task 11, basic coreference: somebody goes somewhere, then she or he goes on."""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import THEN, VERBS, Asked, Storyteller, pronoun
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
        (person,), place = walkers.go(1)
        first = teller.say(f"{person} {teller.wording(VERBS['go'])} to the {place}.")
        place = walkers.go_on((person,))
        she, then = pronoun(person, setting), teller.wording(THEN)
        second = teller.say(f"{then} {she} {teller.wording(VERBS['go'])} to the {place}.")
        people += [person, person]
        known[person] = (place, (first, second))
        teller.ask_about_recent(people, question)
    return teller.story()


TASK = Task(
    number=11,
    name="basic-coreference",
    setting=Setting(people=PEOPLE, places=PLACES, questions_per_story=5, fewest={"people": 1}),
    story=story,
)
