"""Words that stand for one thing together: "pink rectangle", "red square", "box of chocolates", "put down".

A phrase may be interchangeable with a word, or with another phrase, where its words by themselves are not.
Two words make a phrase if

* the one is always followed by the other, which always follows it (pink rectangle), or the same holds of
  several first words and several second ones (red, blue and yellow before square and sphere), unless one
  side is interchangeable anyway, as names are; or
* the second only ever follows the first, and the two stand where a single word stands as well (box of
  chocolates, where a suitcase is).

Phrases grow word by word. What is none of a kind does no harm: it is tested like everything else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

MOST_WORDS = 4
FEWEST_TIMES = 30
"""Rarer phrases are no phrases: their words meet by chance."""
STANDING = 0.9
"""The share of a phrase's places in which a single word must stand too."""
EDGE = ""
"""What stands before the first word, and after the last."""

Tokens = tuple[str, ...]


@dataclass(frozen=True)
class Phrases:
    """Phrases that are read as one word each, ``"box of chocolates"``, the longest first."""

    whole: frozenset[str] = frozenset()

    @cached_property
    def longest(self) -> int:
        """Words of the longest phrase."""
        return max((phrase.count(" ") + 1 for phrase in self.whole), default=1)

    def join(self, tokens: Sequence[str]) -> list[str]:
        """The words, with phrases as one of them.

        >>> Phrases(frozenset({"box of chocolates"})).join("the box of chocolates".split())
        ['the', 'box of chocolates']
        """
        joined: list[str] = []
        at = 0
        while at < len(tokens):
            size = min(self.longest, len(tokens) - at)
            while size > 1 and " ".join(tokens[at : at + size]) not in self.whole:
                size -= 1
            joined.append(" ".join(tokens[at : at + size]))
            at += size
        return joined


def find_phrases(texts: Iterable[Sequence[str]], groups: Sequence[Sequence[str]] = ()) -> Phrases:
    """The phrases of some sentences and questions, of whose words these groups are interchangeable."""
    counted = Counter(tuple(text) for text in texts)
    kinds = [frozenset(group) for group in groups]
    whole: set[str] = set()
    for _ in range(MOST_WORDS - 1):
        found = {
            " ".join(pair)
            for pair in _pairs(counted, kinds)
            if len(" ".join(pair).split()) <= MOST_WORDS
        }
        if not found:
            break
        whole |= found
        joining, grown = Phrases(frozenset(found)), Counter[Tokens]()
        for text, times in counted.items():
            grown[tuple(joining.join(text))] += times
        counted = grown
    return Phrases(frozenset(whole))


def _pairs(counted: Mapping[Tokens, int], kinds: Sequence[frozenset[str]]) -> set[tuple[str, str]]:
    """Neighbours that make a phrase."""
    times: Counter[tuple[str, str]] = Counter()
    for text, count in counted.items():
        for pair in pairwise((EDGE, *text, EDGE)):
            times[pair] += count
    followed, preceded = defaultdict(set), defaultdict(set)
    for first, second in times:
        followed[first].add(second)
        preceded[second].add(first)
    closed = _closed(followed, preceded, kinds)
    words = {word for pair in closed for word in pair}
    standing = _standing_for_a_word(counted, times, followed, preceded)
    found = closed | {pair for pair in standing if words.isdisjoint(pair)}
    return {pair for pair in found if times[pair] >= FEWEST_TIMES}


def _closed(
    followed: Mapping[str, set[str]],
    preceded: Mapping[str, set[str]],
    kinds: Sequence[frozenset[str]],
) -> set[tuple[str, str]]:
    """Pairs of first words that only second words follow, which only they precede."""
    found: set[tuple[str, str]] = set()
    seen: set[str] = {EDGE}
    for word in followed:
        if word in seen:
            continue
        firsts, seconds = {word}, set[str]()
        while True:
            new_seconds = set().union(*(followed[first] for first in firsts))
            new_firsts = set().union(*(preceded[second] for second in new_seconds))
            if new_seconds == seconds and new_firsts == firsts:
                break
            firsts, seconds = new_firsts | firsts, new_seconds
            if EDGE in firsts or EDGE in seconds or firsts & seconds:
                break
        seen |= firsts
        apart = EDGE not in firsts | seconds and not firsts & seconds
        several = len(firsts) > 1 and len(seconds) > 1
        several = several and not any(firsts <= kind or seconds <= kind for kind in kinds)
        if apart and (several or len(firsts) == len(seconds) == 1):
            found |= {(first, second) for first in firsts for second in followed[first]}
    return found


def _standing_for_a_word(
    counted: Mapping[Tokens, int],
    times: Mapping[tuple[str, str], int],
    followed: Mapping[str, set[str]],
    preceded: Mapping[str, set[str]],
) -> set[tuple[str, str]]:
    """Pairs whose second word only follows the first, where a single word stands as well."""
    loose = {
        (next(iter(firsts)), second)
        for second, firsts in preceded.items()
        if len(firsts) == 1 and EDGE not in firsts and second != EDGE
    }
    loose = {pair for pair in loose if followed[pair[0]] != {pair[1]}}
    loose = {pair for pair in loose if times[pair] >= FEWEST_TIMES}
    if not loose:
        return set()
    around: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    words_in: dict[tuple[str, str], set[str]] = defaultdict(set)
    for text, count in counted.items():
        padded = (EDGE, *text, EDGE)
        for at in range(1, len(padded) - 1):
            words_in[padded[at - 1], padded[at + 1]].add(padded[at])
            pair = padded[at : at + 2]
            if pair in loose:
                around[pair][padded[at - 1], padded[at + 2]] += count
    found = set()
    for pair, places in around.items():
        standing: Counter[str] = Counter()
        for place, count in places.items():
            for word in words_in[place] - set(pair):
                standing[word] += count
        if standing and max(standing.values()) >= STANDING * places.total():
            found.add(pair)
    return found
