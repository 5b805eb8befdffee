"""A small domain of its own: friends lend one another books and tools; who has them, and who had them?"""

from __future__ import annotations

import random

from entnet import Question, Story

FRIENDS = ["amir", "beata", "chen", "dora", "elif"]
BOOKS = ["atlas", "cookbook", "diary", "novel"]
TOOLS = ["drill", "ladder", "saw"]


def lending_stories(number: int, seed: int = 1) -> list[Story]:
    """Stories in which things go from hand to hand."""
    dice = random.Random(seed)
    return [_story(dice) for _ in range(number)]


def _story(dice: random.Random) -> Story:
    things = [dice.choice(BOOKS), dice.choice(TOOLS)]
    owners = {thing: [dice.choice(FRIENDS)] for thing in things}
    sentences = [
        f"{owners[thing][0].capitalize()} {dice.choice(['buys', 'finds'])} the {thing}."
        for thing in things
    ]
    questions = []
    for _ in range(dice.randint(3, 5)):
        thing = dice.choice(things)
        giver = owners[thing][-1]
        taker = dice.choice([friend for friend in FRIENDS if friend != giver])
        owners[thing].append(taker)
        told = (
            f"{giver.capitalize()} lends {taker.capitalize()} the {thing}."
            if dice.random() < 0.5
            else f"{taker.capitalize()} borrows the {thing} from {giver.capitalize()}."
        )
        sentences.append(told)
        asked = dice.choice(things)
        if len(owners[asked]) > 1 and dice.random() < 0.5:
            question, answer = f"Who had the {asked} before?", owners[asked][-2]
        else:
            question, answer = f"Who has the {asked} now?", owners[asked][-1]
        questions.append(Question(len(sentences), question, answer))
    return Story(tuple(sentences), tuple(questions))
