"""A sentence that is longer than those of training, cut into clauses that are sentences of training."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from entnet.binding import Names

MOST_WORDS = 200
"""A longer sentence is not cut: it is no sentence."""
MOST_BESIDE = 3
"""Words that a clause may have more than the longest sentence: new ones, which it does not need."""


class Clause(NamedTuple):
    """A part of a sentence."""

    words: list[str]
    passed_over: tuple[str, ...]
    """Words between it and the clause before, or behind the last: they are in no clause."""


def clauses(
    names: Names, words: Sequence[str], known: Container[str], longest: int
) -> list[Clause]:
    """The clauses of a sentence, from left to right; none if it was told as a whole, or no part of it was.

    "John took the milk there and then Mary went to the garden" is two sentences and "and then".
    """
    if len(words) > MOST_WORDS or names.is_told(words, known):
        return []
    found: list[Clause] = []
    passed_over: list[str] = []
    start = 0
    while start < len(words):
        end = _end(names, words, known, longest, start)
        if end == start:
            passed_over.append(words[start])
            start += 1
            continue
        found.append(Clause(list(words[start:end]), tuple(passed_over)))
        passed_over, start = [], end
    if found and passed_over:
        last = found[-1]
        found[-1] = last._replace(passed_over=(*last.passed_over, *passed_over))
    return found


def _end(
    names: Names, words: Sequence[str], known: Container[str], longest: int, start: int
) -> int:
    """Where the clause that begins here ends, or here if there is none: the longest that was told word for
    word, but for names, else the shortest with new words that it does not need."""
    last = min(len(words), start + longest + MOST_BESIDE)
    for end in range(last, start + 1, -1):
        if names.is_told(words[start:end], known, besides=False):
            return end
    ends = range(start + 2, last + 1)
    return next((end for end in ends if names.is_told(words[start:end], known)), start)
