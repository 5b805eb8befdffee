"""What is read beside a sentence: of whom it tells, and what was told of them last.

A slot sees sentences, and no other slot. So the slot of a thing that is picked up would not know where, if
that was told of its carrier before, and that of a thing that is carried not that its carrier moves. And
who *she* is, only the sentences before can say. A context brings all this to the sentence, by looking at
nothing but which words name people, places and things:

    mary went to the garden
    then she took the apple     + mary, mary went to the garden
    she went to the kitchen     + mary, mary went to the garden, then she took the apple
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from entnet.config.model import CONTEXT_NAMES, CONTEXT_PLACES, CONTEXT_THINGS, context_size

Told = tuple[int, ...]
"""The first words of a sentence."""


class Held(NamedTuple):
    """What is kept of the sentences so far; of each person the last sentences, the last one first."""

    about: tuple[int, ...] = ()
    """Whom the last sentence was about."""
    told: Mapping[int, tuple[Told, ...]] = {}
    """Those that named a place."""
    handled: Mapping[int, tuple[tuple[int, Told], ...]] = {}
    """Those that named a thing, each with the thing: one for each."""


@dataclass(frozen=True)
class Context:
    """Which words name people, places and things, and how much of a sentence is kept."""

    length: int
    people: frozenset[int]
    places: frozenset[int]
    things: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        """How many words stand beside a sentence."""
        return context_size(self.length, bool(self.things))

    def heard(self, words: Sequence[int], held: Held) -> tuple[list[int], Held]:
        """What stands beside this sentence, and what is held after it.

        The names of two people, unless the sentence has names itself; the last sentences that told where
        the first of them is, and the last one of the second; those that told what they did with things.
        """
        named = tuple(dict.fromkeys(word for word in words if word in self.people))
        about = named or held.about
        beside = filled(() if named else about[:CONTEXT_NAMES], CONTEXT_NAMES)
        for told in self._sentences(about, held):
            beside += filled(told, self.length)
        return beside, self._after(tuple(words), about, held)

    def _sentences(self, about: tuple[int, ...], held: Held) -> Iterator[Told]:
        """As many as there are places for, some of them empty."""
        first, second = (*about, 0, 0)[:2]
        yield from padded(held.told.get(first, ()), CONTEXT_PLACES)
        yield from padded(held.told.get(second, ()), 1)
        if self.things:
            for person, count in zip((first, second), CONTEXT_THINGS, strict=True):
                yield from padded([told for _, told in held.handled.get(person, ())], count)

    def _after(self, words: Told, about: tuple[int, ...], held: Held) -> Held:
        kept, (places, things) = words[: self.length], (self.places, self.things)
        if about and not places.isdisjoint(words):
            last = {who: (kept, *held.told.get(who, ()))[:CONTEXT_PLACES] for who in about}
            held = held._replace(told={**held.told, **last})
        for thing in (word for word in words if word in things):
            last_of = {}
            for who in about:
                others = [one for one in held.handled.get(who, ()) if one[0] != thing]
                last_of[who] = ((thing, kept), *others)[: max(CONTEXT_THINGS)]
            held = held._replace(handled={**held.handled, **last_of})
        return held if about == held.about else held._replace(about=about)


def filled(words: Sequence[int], length: int) -> list[int]:
    return [*words, *[0] * (length - len(words))]


def padded(sentences: Sequence[Told], count: int) -> list[Told]:
    """The first of them; empty ones where there are too few."""
    return [*sentences[:count], *[()] * (count - len(sentences))]
