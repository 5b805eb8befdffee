"""Task 3, three supporting facts: where was an object before it was carried to some place?"""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import Storyteller
from entnet.data.babi_tasks.task import ATTEMPTS, OBJECTS, PEOPLE, PLACES, WINDOW, Task
from entnet.data.babi_tasks.world import Event, House
from entnet.data.story import Story

KINDS = ("go", "get", "drop")


class Journeys:
    """Of each object, where it was carried since it was last taken."""

    def __init__(self, objects: tuple[str, ...]) -> None:
        self.stops: dict[str, list[tuple[str, int]]] = {thing: [] for thing in objects}
        """Places, and the sentences that told of going there."""
        self.handled = dict.fromkeys(objects, -1)
        """The sentence in which each object was last taken or dropped."""

    def follow(self, event: Event, sentence: int, house: House) -> None:
        if event.kind == "go":
            for thing in house.carried[event.actor]:
                self.stops[thing].append((event.what, sentence))
            return
        self.handled[event.what] = sentence
        if event.kind == "get":
            self.stops[event.what] = []


def story(dice: Dice, setting: Setting) -> Story:
    house = House(dice, setting)
    teller = Storyteller(dice, setting)
    journeys = Journeys(setting.objects)
    events: list[Event] = []
    while teller.asked < (setting.questions_per_story or 0):
        for _ in range(setting.sentences_per_question or 0):
            events.append(house.live(KINDS))
            journeys.follow(events[-1], teller.tell(events[-1]), house)
        ask(dice, teller, journeys, events[-WINDOW:])
    return teller.story()


def ask(dice: Dice, teller: Storyteller, journeys: Journeys, recent: list[Event]) -> None:
    """Ask about an object lately taken or dropped that was carried to two places in a row, if any."""
    for _ in range(ATTEMPTS):
        event = dice.pick(recent)
        if event.kind == "go":
            continue
        thing = event.what
        stops = journeys.stops[thing]
        if len(stops) < 2:
            continue
        place = stops[1 + dice.below(len(stops) - 1)][0]
        # An object may have been carried to a place more than once: the last time is meant.
        last = max(i for i in range(1, len(stops)) if stops[i][0] == place)
        (before, left), (_, reached) = stops[last - 1], stops[last]
        supports = (journeys.handled[thing], reached, left)
        teller.ask(f"Where was the {thing} before the {place}?", before, supports)
        return


TASK = Task(
    number=3,
    setting=Setting(
        people=PEOPLE,
        places=PLACES,
        objects=OBJECTS,
        questions_per_story=5,
        sentences_per_question=2,
        fewest={"people": 1, "objects": 1},
    ),
    story=story,
)
