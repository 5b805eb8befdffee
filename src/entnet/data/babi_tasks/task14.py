"""Task 14, time: people go somewhere yesterday, this morning and so on, told out of order."""

from __future__ import annotations

from typing import NamedTuple

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.language import VERBS, Asked, Storyteller
from entnet.data.babi_tasks.task import TOWN_PEOPLE, TOWN_PLACES, Task
from entnet.data.story import Story

TIMES = ("yesterday", "this morning", "this afternoon", "this evening")


class Walk(NamedTuple):
    person: str
    time: int
    """Number of the time of day."""
    place: str


class Days:
    """Everybody's walks in order of time, one for each time of day."""

    def __init__(self, dice: Dice, setting: Setting) -> None:
        self.dice = dice
        self.places = setting.places
        self.walks: dict[str, list[Walk]] = {person: [] for person in setting.people}

    @property
    def over(self) -> bool:
        return all(len(walks) == len(TIMES) for walks in self.walks.values())

    def next_walk(self) -> Walk:
        """Somebody whose day is not over goes to a place where they are not."""
        left = [person for person, walks in self.walks.items() if len(walks) < len(TIMES)]
        walks = self.walks[person := self.dice.pick(left)]
        here = walks[-1].place if walks else ""
        place = self.dice.pick([place for place in self.places if place != here])
        walks.append(Walk(person, len(walks), place))
        return walks[-1]


def story(dice: Dice, setting: Setting) -> Story:
    days = Days(dice, setting)
    teller = Storyteller(dice, setting)
    walks: list[Walk] = []
    sentence_of: dict[Walk, int] = {}

    def question(walk: Walk) -> Asked | None:
        """Where somebody was before a place where they lately went, the last time that they did."""
        mine = days.walks[walk.person]
        last = max(other.time for other in mine if other.place == walk.place)
        if last == 0:
            return None
        supports = (sentence_of[mine[last]], sentence_of[mine[last - 1]])
        text = f"Where was {walk.person} before the {walk.place}?"
        return Asked(text, mine[last - 1].place, supports)

    untold: list[Walk] = []
    while teller.asking and not days.over:
        for _ in range(setting.sentences_per_question):
            if not days.over:
                untold.append(days.next_walk())
                walks.append(untold[-1])
        # What happened since the last question is told out of order, once there is one to ask.
        if any(walk.time for walk in walks):
            for walk in dice.cycled(untold):
                sentence_of[walk] = teller.say(wording(teller, walk))
            untold = []
            teller.ask_about_recent(walks, question)
    return teller.story()


def wording(teller: Storyteller, walk: Walk) -> str:
    time = TIMES[walk.time]
    went = f"{walk.person} {teller.wording(VERBS['go'])} to the {walk.place}"
    return teller.wording((f"{time.capitalize()} {went}.", f"{went} {time}."))


TASK = Task(
    number=14,
    name="time-reasoning",
    setting=Setting(
        people=TOWN_PEOPLE,
        places=TOWN_PLACES,
        questions_per_story=5,
        sentences_per_question=2,
        fewest={"people": 1},
    ),
    story=story,
)
