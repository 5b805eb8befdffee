"""Sentences as the solvers read them: patterns of words, nothing of the world that made them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from entnet.errors import EntNetError


class Solution(NamedTuple):
    """What a solver found: the answer, and the sentences that it rests on."""

    answer: str
    supports: tuple[int, ...]


class UnsolvableError(EntNetError):
    """A question that does not follow from its story, or a sentence that cannot be read."""


class Act(NamedTuple):
    """Somebody goes to a place, or does something with an object."""

    kind: str
    actor: str
    what: str
    to: str = ""


GO = r"(?:moved|went back|went|journeyed|travelled)"
ACTS = (
    ("go", re.compile(rf"(.+) {GO} to the (.+)\.")),
    ("get", re.compile(r"(.+) (?:got|took|grabbed|picked up) the (.+?)(?: there)?\.")),
    ("drop", re.compile(r"(.+) (?:dropped|left|discarded|put down) the (.+?)(?: there)?\.")),
    ("give", re.compile(r"(.+) (?:gave|handed|passed) the (.+) to (.+)\.")),
)


@lru_cache(maxsize=100_000)
def act(sentence: str) -> Act:
    """Read a sentence of the house."""
    for kind, pattern in ACTS:
        if match := pattern.fullmatch(sentence):
            return Act(kind, *match.groups())
    raise UnsolvableError(f"not understood: {sentence!r}")


def acts(sentences: Sequence[str]) -> list[Act]:
    return [act(sentence) for sentence in sentences]


@lru_cache(maxsize=1000)
def pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


def words(template: str, text: str) -> tuple[str, ...] | None:
    """The words at the blanks ``_`` of a template, or nothing if the text is another.

    >>> words("Where was the _ before the _?", "Where was the milk before the garden?")
    ('milk', 'garden')
    """
    regex = re.escape(template).replace("_", "(.+)")
    match = pattern(regex).fullmatch(text)
    return match.groups() if match else None


def asked(template: str, question: str) -> tuple[str, ...]:
    """The words at the blanks of a question that must be of this form."""
    found = words(template, question)
    if found is None:
        raise UnsolvableError(f"not understood: {question!r}")
    return found
