"""Do slots name the right places? The paper's Table 3, counted over many stories instead of one.

Where people and things truly are follows from the text of task 2: people move, take things along
and put them down. A slot tied to one of them should have that place as its nearest word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from entnet.data.story import Story
from entnet.errors import EntNetError
from entnet.models.entnet import EntNet
from entnet.text import tokenise
from entnet.tracker import Tracker

_MOVE = re.compile(r"^(\w+) (?:went|journeyed|travelled|moved)(?: back)? to the (\w+)$")
_TAKE = re.compile(r"^(\w+) (?:got|took|grabbed|picked up) the (\w+)(?: there)?$")
_DROP = re.compile(r"^(\w+) (?:dropped|discarded|put down|left) the (\w+)(?: there)?$")


@dataclass(frozen=True)
class TruePlaces:
    """Where the people and the things of a story are at its end, as far as the text says."""

    people: Mapping[str, str]
    things: Mapping[str, str]
    carried: Collection[str]
    """Things that somebody has carried to where they are or have been put down. Of the others no
    sentence says where they are: it follows from where the one was who took them, which only that
    one's slot can know."""


def true_places(sentences: Sequence[str]) -> TruePlaces:
    """Follow the moves, takes and drops of a task-2 story; other sentences are an error."""
    people: dict[str, str] = {}
    things: dict[str, str] = {}
    holder: dict[str, str] = {}
    carried: set[str] = set()
    for sentence in sentences:
        plain = " ".join(tokenise(sentence))
        if move := _MOVE.match(plain):
            person, place = move.groups()
            people[person] = place
            along = [thing for thing, by in holder.items() if by == person]
            things.update(dict.fromkeys(along, place))
            carried.update(along)
        elif take := _TAKE.match(plain):
            person, thing = take.groups()
            holder[thing] = person
            if person in people:
                things[thing] = people[person]
        elif drop := _DROP.match(plain):
            holder.pop(drop.group(2), None)
        else:
            raise EntNetError(f"not a sentence of task 2 (moves, takes, drops): {sentence!r}")
    return TruePlaces(people, things, carried)


@dataclass(frozen=True)
class PlaceScore:
    """How many slots named the right place."""

    stories: int
    people: int
    people_right: int
    things: int
    things_right: int
    carried: int
    """Of the things, those that were carried to where they are, as ``TruePlaces`` has it."""
    carried_right: int

    @property
    def share(self) -> float:
        """Of the people and things whose place the text tells, the share whose slot names it."""
        return (self.people_right + self.things_right) / max(self.people + self.things, 1)

    def to_dict(self) -> dict[str, float]:
        return {
            "stories": self.stories,
            "entities": self.people + self.things,
            "right": self.people_right + self.things_right,
            "share": self.share,
            "people": self.people,
            "people_right": self.people_right,
            "things": self.things,
            "things_right": self.things_right,
            "carried": self.carried,
            "carried_right": self.carried_right,
        }


def measure_places(model: EntNet, stories: Sequence[Story]) -> PlaceScore:
    """Read task-2 stories with a network of tied keys, and compare every slot with the truth."""
    slot_of = {word: slot for slot, word in enumerate(model.config.key_words)}
    if not slot_of:
        raise EntNetError(
            "places are measured on a network whose keys are tied to words, and this one's are not"
        )
    kinds = ("people", "things", "carried")
    known, right = dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0)
    tracker = Tracker(model)
    for story in stories:
        tracker.reset()
        tracker.read_sentences(story.sentences)
        said = [content.words[0].word for content in tracker.slots(words=1)]
        truth = true_places(story.sentences)
        carried = {name: truth.things[name] for name in truth.carried}
        for kind, places in zip(kinds, (truth.people, truth.things, carried), strict=True):
            for name, place in places.items():
                if name in slot_of:
                    known[kind] += 1
                    right[kind] += said[slot_of[name]] == place
    return PlaceScore(
        len(stories),
        *(count[kind] for kind in kinds for count in (known, right)),
    )
