"""Task 4, two arguments: three places in a row, which of them lies north of which?"""

from __future__ import annotations

from entnet.data.babi_tasks.compass import COMPASS, OPPOSITE, Map, describe
from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked, Storyteller
from entnet.data.babi_tasks.task import PLACES, Task
from entnet.data.story import Story


def story(dice: Dice, setting: Setting) -> Story:
    teller = Storyteller(dice, setting)
    one, middle, other = dice.draw(setting.places, 3)
    direction = dice.pick(COMPASS)
    world = Map()
    world.connect(middle, direction, one)
    world.connect(middle, OPPOSITE[direction], other)
    told = describe(dice, world)
    for place, towards, origin in told:
        teller.say(f"The {place} is {towards} of the {origin}.")
    fact = dice.below(len(told))
    place, towards, origin = told[fact]
    if dice.chance(0.5):
        text = f"What is {towards} of the {origin}?"
    else:
        text = f"What is the {origin} {OPPOSITE[towards]} of?"
    teller.ask(Asked(text, place, (fact,)))
    return teller.story()


TASK = Task(
    number=4,
    name="two-arg-relations",
    setting=Setting(places=PLACES, fewest={"places": 3}),
    story=story,
)
