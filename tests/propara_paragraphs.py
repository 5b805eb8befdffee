"""Paragraphs whose sentences are easy to learn from."""

from __future__ import annotations

import random

from entnet.data.propara.process import Process

THINGS = ("water", "salt", "sand", "rain", "ash")
PLACES = ("ocean", "cloud", "river", "ground", "lake")


def paragraphs(count: int, seed: int = 1) -> list[Process]:
    """Two things each: one moves, the other is created and destroyed."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        mover, other = rng.sample(THINGS, 2)
        first, second, third = rng.sample(PLACES, 3)
        made.append(
            Process(
                str(number),
                (
                    f"The {mover} flows into the {first}.",
                    f"Some {other} forms in the {second}.",
                    f"The {mover} goes to the {third}.",
                    f"The {other} is destroyed.",
                ),
                (mover, other),
                (("?", first, first, third, third), ("-", "-", second, second, "-")),
            )
        )
    return made
