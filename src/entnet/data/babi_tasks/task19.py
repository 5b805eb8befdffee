"""Task 19, path finding: how do you go from one place to another, two steps away?"""

from __future__ import annotations

from entnet.data.babi_tasks.compass import COMPASS, OPPOSITE, Map, describe
from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Asked, Storyteller
from entnet.data.babi_tasks.task import PLACES, Task
from entnet.data.story import Story
from entnet.errors import EntNetError

MOST_PLACES = 11
"""Three on the way and one in each of the eight directions left beside them."""


def story(dice: Dice, setting: Setting) -> Story:
    if len(setting.places) > MOST_PLACES:
        raise EntNetError(f"task 19 has room for {MOST_PLACES} places, not {len(setting.places)}")
    teller = Storyteller(dice, setting)
    start, middle, end, *others = dice.draw(setting.places, len(setting.places))
    first = dice.pick(COMPASS)
    second = dice.pick([way for way in COMPASS if way != OPPOSITE[first]])
    world = Map()
    world.connect(start, first, middle)
    world.connect(middle, second, end)
    # The other places lie beside the three on the way, wherever there is room.
    room = [(place, way) for place in (start, middle, end) for way in world.free(place)]
    for (place, way), other in zip(dice.draw(room, len(others)), others, strict=True):
        world.connect(place, way, other)
    told = describe(dice, world)
    for place, towards, origin in told:
        teller.say(f"The {place} is {towards} of the {origin}.")
    pairs = [{place, origin} for place, _, origin in told]
    supports = (pairs.index({start, middle}), pairs.index({middle, end}))
    text = f"How do you go from the {start} to the {end}?"
    teller.ask(Asked(text, f"{first[0]},{second[0]}", supports))
    return teller.story()


TASK = Task(
    number=19,
    name="path-finding",
    setting=Setting(places=PLACES, fewest={"places": 3}),
    story=story,
)
