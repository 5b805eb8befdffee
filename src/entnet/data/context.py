"""What is read beside a sentence: of whom it tells, and what was last told of where they are.

A slot sees sentences, and no other slot. So the slot of a thing that is picked up would not know where, if
that was told of its carrier before; and who *she* is, only the sentences before can say. A context brings
both to the sentence, by looking at nothing but which words name people and which name places:

    mary went to the garden
    then she took the apple     + mary, mary went to the garden
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

ABOUT = 2
"""As many people have their names in a context, and what was told of them."""
KEPT = 3
"""Sentences that are kept of each person: all stand beside a sentence for the first whom it is about, and
the last one for the second."""

Told = tuple[int, ...]
"""The first words of a sentence."""


class Held(NamedTuple):
    """What is kept of the sentences so far."""

    about: tuple[int, ...] = ()
    """Whom the last sentence was about."""
    told: Mapping[int, tuple[Told, ...]] = {}
    """Of each person, the last sentences that named a place, the last one first."""


@dataclass(frozen=True)
class Context:
    """Which words name people and places, and how much of a sentence is kept."""

    length: int
    people: frozenset[int]
    places: frozenset[int]

    @property
    def size(self) -> int:
        """How many words stand beside a sentence."""
        return ABOUT + (KEPT + 1) * self.length

    def heard(self, words: Sequence[int], held: Held) -> tuple[list[int], Held]:
        """What stands beside this sentence, and what is held after it.

        The names of two people, unless the sentence has names itself; the last sentences that told where
        the first of them is, and the last one of the second.
        """
        named = tuple(dict.fromkeys(word for word in words if word in self.people))
        about = named or held.about
        first, second = (held.told.get(who, ()) for who in (*about[:ABOUT], 0, 0)[:ABOUT])
        names = () if named else about[:ABOUT]
        beside = [*names, *[0] * (ABOUT - len(names))]
        for told in (*first, *[()] * (KEPT - len(first)), *(second[:1] or [()])):
            beside += [*told, *[0] * (self.length - len(told))]
        if about and not self.places.isdisjoint(words):
            kept = tuple(words[: self.length])
            last = {who: (kept, *held.told.get(who, ())[: KEPT - 1]) for who in about}
            return beside, Held(about, {**held.told, **last})
        return beside, held if about == held.about else held._replace(about=about)
