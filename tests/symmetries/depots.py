"""A small domain of its own: vans carry parcels between depots."""

from __future__ import annotations

import random

from entnet import Question, Story

DEPOTS = ["airport", "harbour", "market", "quarry", "station"]
PARCELS = ["barrel", "crate", "envelope", "sack"]
VANS = ["blue", "old", "small"]


def depot_stories(number: int, seed: int = 1) -> list[Story]:
    """Stories in which a parcel is where its van is."""
    dice = random.Random(seed)
    return [_story(dice) for _ in range(number)]


def _story(dice: random.Random) -> Story:
    vans = dice.sample(VANS, 2)
    load = dict(zip(vans, dice.sample(PARCELS, 2), strict=True))
    sentences = [f"The {van} van takes the {load[van]}." for van in vans]
    place = {}
    for _ in range(dice.randint(2, 5)):
        van = dice.choice(vans)
        place[van] = dice.choice(DEPOTS)
        sentences.append(f"The {van} van drives to the {place[van]}.")
    asked = dice.choice(sorted(place))
    question = Question(len(sentences), f"Where is the {load[asked]}?", place[asked])
    return Story(tuple(sentences), (question,))
