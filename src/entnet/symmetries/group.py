"""Permutations of words, and the groups that they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile


@dataclass(frozen=True)
class Swap:
    """Words that change places, all at once: ``Swap(("north", "n"), ("south", "s"))``."""

    left: tuple[str, ...]
    right: tuple[str, ...]

    def __post_init__(self) -> None:
        moved = self.left + self.right
        if len(self.left) != len(self.right) or len(set(moved)) != len(moved) or not moved:
            raise ValueError(f"not a swap of different words: {self.left} and {self.right}")

    @property
    def mapping(self) -> dict[str, str]:
        """What each moved word becomes."""
        return {
            **dict(zip(self.left, self.right, strict=True)),
            **dict(zip(self.right, self.left, strict=True)),
        }

    def __str__(self) -> str:
        return f"{'+'.join(self.left)} ↔ {'+'.join(self.right)}"


def compose(first: Mapping[str, str], then: Mapping[str, str]) -> dict[str, str]:
    """The permutation that does one and then the other; words that stay are left out.

    >>> compose({"north": "east", "east": "north"}, {"north": "south", "south": "north"})
    {'north': 'east', 'east': 'south', 'south': 'north'}
    """
    both = {
        word: then.get(first.get(word, word), first.get(word, word)) for word in (*first, *then)
    }
    return {word: image for word, image in both.items() if image != word}


def orbits(mappings: Iterable[Mapping[str, str]]) -> list[frozenset[str]]:
    """Sets of words that the permutations carry into one another."""
    found: list[frozenset[str]] = []
    for mapping in mappings:
        for pair in mapping.items():
            touched = [orbit for orbit in found if orbit & set(pair)]
            found = [orbit for orbit in found if orbit not in touched]
            found.append(frozenset(pair).union(*touched))
    return found


def complete_groups(pairs: Mapping[frozenset[str], float]) -> list[tuple[str, ...]]:
    """Groups all of whose pairs were accepted, the surest first; ``pairs`` has how much each pair differs.

    Interchangeability carries over from a and b, b and c to a and c. A group with a refused pair in it
    would say that one of the tests was wrong, so it is not built.
    """
    groups: list[frozenset[str]] = [frozenset([word]) for word in sorted(set().union(*pairs))]
    for pair in sorted(pairs, key=lambda pair: (pairs[pair], sorted(pair))):
        one, other = (next(group for group in groups if word in group) for word in sorted(pair))
        if one != other and all(frozenset((a, b)) in pairs for a in one for b in other):
            groups = [group for group in groups if group not in (one, other)] + [one | other]
    return sorted(tuple(sorted(group)) for group in groups if len(group) > 1)


def side_by_side(pairs: Sequence[tuple[str, str]]) -> Swap:
    """A joint swap with words that are spelled alike on the same side: north and n, mouse and mice.

    The sides only matter to the reader: the permutation is the same.
    """
    (first, second), *rest = pairs
    left, right = [first], [second]
    for one, other in rest:
        kept = _alike(first, one) + _alike(second, other)
        turned = _alike(first, other) + _alike(second, one)
        left.append(other if turned > kept else one)
        right.append(one if turned > kept else other)
    return Swap(tuple(left), tuple(right))


def _alike(one: str, other: str) -> int:
    """How many letters two words have in common from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
