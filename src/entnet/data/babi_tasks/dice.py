"""Random choices that depend on a seed and on nothing else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Dice(random.Random):
    """A seeded source of choices, the same in every process and on every version of Python.

    All choices are made from ``random()``, whose sequence Python keeps from version to version;
    those of ``choice`` and ``shuffle`` it does not promise to keep, and they are slower.
    """

    @classmethod
    def of(cls, *names: int | str) -> Dice:
        """Dice for one purpose. Different names give unrelated sequences.

        Python seeds from a string through SHA-512, not through its per-process ``hash``.
        """
        return cls(" ".join(map(str, names)))

    def pick(self, items: Sequence[Item]) -> Item:
        return items[int(self.random() * len(items))]

    def below(self, end: int) -> int:
        """A whole number from 0 to ``end`` − 1."""
        return int(self.random() * end)

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def draw(self, items: Sequence[Item], count: int) -> list[Item]:
        """``count`` different items, in random order."""
        left = list(items)
        for i in range(count):
            j = i + self.below(len(left) - i)
            left[i], left[j] = left[j], left[i]
        return left[:count]

    def cycled(self, items: Sequence[Item]) -> list[Item]:
        """The items in a random order that leaves none in its place (Sattolo's shuffle)."""
        order = list(items)
        for i in range(len(order) - 1, 0, -1):
            j = self.below(i)
            order[i], order[j] = order[j], order[i]
        return order
