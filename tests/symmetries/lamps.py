"""A small domain of its own: lamps go on and off, one by one or a floor at a time; yes, no and how many."""

from __future__ import annotations

import random

from entnet import Question, Story

COLOURS = ["amber", "blue", "green", "violet", "white"]
FLOORS = ["attic", "cellar", "ground"]
NUMBERS = ["none", "one", "two", "three"]


def lamp_stories(number: int, seed: int = 1) -> list[Story]:
    """Stories about three lamps, of which any may burn."""
    dice = random.Random(seed)
    return [_story(dice) for _ in range(number)]


def _story(dice: random.Random) -> Story:
    lamps = dice.sample(COLOURS, 3)
    floor = {lamp: dice.choice(FLOORS) for lamp in lamps}
    sentences = [f"The {lamp} lamp hangs on the {floor[lamp]} floor." for lamp in lamps]
    burning: set[str] = set()
    questions = []
    for _ in range(dice.randint(3, 6)):
        on = dice.random() < 0.6
        way = "on" if on else "off"
        if dice.random() < 0.25:
            where = dice.choice(FLOORS)
            switched = {lamp for lamp in lamps if floor[lamp] == where}
            sentences.append(f"Somebody switches everything on the {where} floor {way}.")
        else:
            one = dice.choice(lamps)
            switched = {one}
            verb = dice.choice(["switches", "turns"])
            sentences.append(f"Somebody {verb} the {one} lamp {way}.")
        burning = burning | switched if on else burning - switched
        if dice.random() < 0.3:
            answer, question = NUMBERS[len(burning)], "How many lamps are burning?"
        else:
            asked = dice.choice(lamps)
            answer, question = "yes" if asked in burning else "no", f"Is the {asked} lamp burning?"
        questions.append(Question(len(sentences), question, answer))
    return Story(tuple(sentences), tuple(questions))
