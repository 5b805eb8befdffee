"""When two phrases are the same: places by their words' stems, participants by any of their names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import snowballstemmer

from entnet.data.propara.process import names

_STEMMER = snowballstemmer.stemmer("porter")
_ARTICLES = ("a ", "an ", "the ")

Term = frozenset[str]
"""The names or phrases that a part of an answer goes by; two terms match if they share one."""


@cache
def stem(word: str) -> str:
    """A word's Porter stem."""
    stemmed: str = _STEMMER.stemWord(word)
    return stemmed


@cache
def normal(place: str) -> str:
    """A place as it is compared: lower case, without a leading article, each word's stem."""
    place = place.lower()
    for article in _ARTICLES:
        place = place.removeprefix(article)
    return " ".join(stem(word) for word in place.split())


def participant_term(participant: str) -> Term:
    return frozenset(names(participant))


def place_term(place: str) -> Term:
    return frozenset(normal(name) for name in names(place))


def jaccard(predicted: Iterable[Term], gold: Iterable[Term]) -> float:
    """Terms that match, as a share of all terms."""
    predicted, gold = set(predicted), set(gold)
    overlap = sum(any(p & g for g in gold) for p in predicted)
    union = len(predicted) + len(gold) - overlap
    return overlap / union if union else 1.0
