"""Task 20, motivations: whoever is hungry goes to the kitchen and takes the apple, if it is there."""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import VERBS, Asked, Storyteller
from entnet.data.babi_tasks.task import Task
from entnet.data.story import Story

MOTIVES = {
    "hungry": ("kitchen", "apple"),
    "thirsty": ("kitchen", "milk"),
    "tired": ("bedroom", "pajamas"),
    "bored": ("garden", "football"),
}
"""Where each motive leads, and to what."""


def story(dice: Dice, setting: Setting) -> Story:
    """Each person in turn feels, goes and takes; every sentence is followed by its question."""
    teller = Storyteller(dice, setting)
    motive: dict[str, str] = {}
    felt: dict[str, tuple[int]] = {}
    step = dict.fromkeys(setting.people, 0)
    taken: set[str] = set()
    while True:
        # There is one apple: whoever else is hungry stays without.
        active = [
            p for p in setting.people if step[p] < 2 or (step[p] == 2 and motive[p] not in taken)
        ]
        if not active:
            return teller.story()
        person = dice.pick(active)
        # Names are lower case in this task's official questions.
        name = person.lower()
        if step[person] == 0:
            motive[person] = dice.pick(tuple(MOTIVES))
        place, thing = MOTIVES[motive[person]]
        if step[person] == 0:
            felt[person] = (teller.say(f"{person} is {motive[person]}."),)
            asked = Asked(f"Where will {name} go?", place, felt[person])
        elif step[person] == 1:
            teller.say(f"{person} {teller.wording(VERBS['go'])} to the {place}.")
            asked = Asked(f"Why did {name} go to the {place}?", motive[person], felt[person])
        else:
            taken.add(motive[person])
            there = " there" if setting.noise else ""
            teller.say(f"{person} {teller.wording(VERBS['get'])} the {thing}{there}.")
            asked = Asked(f"Why did {name} get the {thing}?", motive[person], felt[person])
        teller.ask(asked)
        step[person] += 1


TASK = Task(
    number=20,
    name="agents-motivations",
    setting=Setting(people=("Antoine", "Jason", "Sumit", "Yann"), fewest={"people": 1}),
    story=story,
)
