"""Task 15, basic deduction: Gertrude is a mouse, and mice are afraid of wolves."""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked, Storyteller, plural
from entnet.data.babi_tasks.task import Task
from entnet.data.story import Story


def story(dice: Dice, setting: Setting) -> Story:
    teller = Storyteller(dice, setting)
    fears: dict[str, tuple[str, int]] = {}
    kind_of: dict[str, tuple[str, int]] = {}
    while len(fears) < len(setting.objects) or len(kind_of) < len(setting.people):
        kind = dice.pick(setting.objects)
        if dice.chance(0.5):
            if kind not in fears:
                enemy = dice.pick([other for other in setting.objects if other != kind])
                sentence = f"{plural(kind).capitalize()} are afraid of {plural(enemy)}."
                fears[kind] = (enemy, teller.say(sentence))
        else:
            name = dice.pick(setting.people)
            # Only kinds already spoken of have members.
            if name not in kind_of and kind in fears:
                kind_of[name] = (kind, teller.say(f"{name} is a {kind}."))
    while teller.asking:
        name = dice.pick(setting.people)
        kind, membership = kind_of[name]
        enemy, fear = fears[kind]
        # Names are lower case in this task's official questions.
        teller.ask(Asked(f"What is {name.lower()} afraid of?", enemy, (membership, fear)))
    return teller.story()


TASK = Task(
    number=15,
    name="basic-deduction",
    setting=Setting(
        people=("Gertrude", "Winona", "Emily", "Jessica"),
        objects=("cat", "mouse", "sheep", "wolf"),
        questions_per_story=4,
        fewest={"people": 1},
    ),
    story=story,
)
