"""Words of a paragraph, where participants are mentioned, and spans that may name a place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from entnet.data.propara.match import stem
from entnet.data.propara.process import Process, names
from entnet.data.propara.words import word_lists

_TOKEN = re.compile(r"'s\b|[a-z0-9]+(?:-[a-z0-9]+)*|[^\sa-z0-9]")
_IRREGULAR = {"leaves": "leaf", "alveoli": "alveolus", "bacteria": "bacterium", "men": "man"}
"""Plurals that no stemmer sees through."""

FUNCTION_WORDS = frozenset(word_lists()["function_words"].split())
_LINKS = frozenset({"of", "the", "and", "or", "'s", "a", "an", "in"})
"""May stand inside a place: ``bottom of the ocean``."""
_ARTICLES = frozenset({"the", "a", "an", "its", "their", "your"})
LONGEST_SPAN = 5

Key = tuple[str, ...]
"""Stems: what makes two spans the same place."""


def split_words(text: str) -> list[str]:
    """Words and marks of a text in lower case.

    >>> split_words("Earth's crust, finally.")
    ['earth', "'s", 'crust', ',', 'finally', '.']
    """
    return _TOKEN.findall(text.lower().replace("’", "'"))


@cache
def lemma(word: str) -> str:
    """A word as annotators write places: some plurals in the singular."""
    return _IRREGULAR.get(word, word)


def key_of(words: Sequence[str]) -> Key:
    """The stems of a phrase, without an article at its start."""
    kept = words[1:] if len(words) > 1 and words[0] in _ARTICLES else words
    return tuple(stem(lemma(word)) for word in kept)


@dataclass(frozen=True)
class Span:
    """Words of a sentence, from ``start`` up to, but without, ``end``."""

    sentence: int
    start: int
    end: int


@dataclass
class Candidate:
    """A phrase that may name a place, and where the paragraph has it."""

    text: str
    key: Key
    spans: list[Span]


def candidate_places(sentences: Sequence[Sequence[str]]) -> list[Candidate]:
    """Every phrase of the paragraph that may name a place, in the order of reading."""
    found: dict[Key, Candidate] = {}
    for number, words in enumerate(sentences):
        for start, end in _phrases(words):
            key = key_of(words[start:end])
            text = " ".join(lemma(word) for word in words[start:end])
            candidate = found.setdefault(key, Candidate(text, key, []))
            candidate.spans.append(Span(number, start, end))
    return list(found.values())


def _phrases(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    for start, first in enumerate(words):
        if not _carries(first):
            continue
        for end in range(start + 1, min(start + LONGEST_SPAN, len(words)) + 1):
            inner = words[start:end]
            if not all(_carries(word) or word in _LINKS for word in inner):
                break
            linked = any(word in _LINKS for word in inner)
            if _carries(inner[-1]) and (linked or len(inner) <= 3):
                yield start, end


def _carries(word: str) -> bool:
    """Whether a word has a meaning of its own."""
    return word[0].isalnum() and word not in FUNCTION_WORDS


def mentions(participant: str, sentences: Sequence[Sequence[str]]) -> list[Span]:
    """Where a participant is mentioned by one of its names; by their last words, if nowhere in full."""
    stems = [[stem(lemma(word)) for word in words] for words in sentences]
    keys = [key for name in names(participant) if (key := key_of(split_words(name)))]
    return list(_occurrences(keys, stems)) or list(_occurrences([key[-1:] for key in keys], stems))


def _occurrences(keys: Sequence[Key], sentences: Sequence[Sequence[str]]) -> Iterator[Span]:
    for number, words in enumerate(sentences):
        for start in range(len(words)):
            for key in keys:
                if tuple(words[start : start + len(key)]) == key:
                    yield Span(number, start, start + len(key))


def paragraph_words(process: Process) -> list[list[str]]:
    """The words of every sentence."""
    return [split_words(sentence) for sentence in process.sentences]
