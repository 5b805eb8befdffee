"""Running text, such as a book's: how it is cut into sentences and words. The specification of
native/running.cpp.

A run is what stands between blanks. It holds a word, or several with dashes between them; marks at the
edges of words are dropped. A sentence ends

- after a run that ends with a full stop, unless that is an abbreviation ("Mr.") or an initial ("J.");
- after one that ends with other marks (! ? … or several), unless a lower-case letter follows ("Why?" he
said);
- at an empty line, at the end of the text, and after 512 words.

Quotes and brackets that close after the mark belong to the run. A sentence of more words than a network
reads comes in pieces as even as can be. Letters are lowered in ASCII only, as no other is in a
vocabulary of bAbI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MOST_WORDS = 512

_EDGES = ".,;:!?\"()[]{}*_'`“”‘’…«»"
_CLOSERS = "\"')]}*_”’»"
_BLANKS = re.compile(r"[ \t\n\v\f\r]*")
_RUN = re.compile(r"[^ \t\n\v\f\r]+")
_DASHES = re.compile(r"-{2,}|[–—]")
# fmt: off
_ABBREVIATIONS = frozenset(
    [
        "mr", "mrs", "ms", "dr", "st", "prof", "rev", "capt", "col", "gen", "lieut", "lt", "sr",
        "jr", "vs", "no", "vol", "chap", "fig", "hon", "messrs", "mme", "mlle", "sgt", "maj",
        "adm", "gov", "pres", "esq", "viz", "cf",
    ]
)
# fmt: on
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


class Piece(NamedTuple):
    """A sentence, or a piece of one."""

    words: tuple[str, ...]
    start: int
    end: int
    """Where it stands in the text, in characters."""
    line: int
    """How many line breaks stand before it."""


def running_pieces(text: str, longest: int) -> Iterator[Piece]:
    """A text's sentences in order, in pieces of up to ``longest`` words."""
    sentence: list[tuple[str, int, int, int]] = []
    ends, at, line = "no", 0, 0
    while True:
        blank = _BLANKS.match(text, at)
        assert blank is not None
        breaks = blank.group().count("\n")
        at, line = blank.end(), line + breaks
        lower = "a" <= text[at : at + 1] <= "z"
        if at == len(text) or breaks > 1 or ends == "yes" or (ends == "unless lower" and not lower):
            yield from _pieces(sentence, longest)
            sentence, ends = [], "no"
        if at == len(text):
            return
        run = _RUN.match(text, at)
        assert run is not None
        at = run.end()
        words, ends = _words_of_run(run.group(), run.start())
        sentence += [(word, start, end, line) for word, start, end in words]
        if len(sentence) >= MOST_WORDS or not sentence:
            yield from _pieces(sentence, longest)
            sentence, ends = [], "no"


def _pieces(sentence: list[tuple[str, int, int, int]], longest: int) -> Iterator[Piece]:
    count = -(-len(sentence) // longest)
    for i in range(count):
        part = sentence[len(sentence) * i // count : len(sentence) * (i + 1) // count]
        yield Piece(tuple(word for word, *_ in part), part[0][1], part[-1][2], part[0][3])


def _words_of_run(run: str, start: int) -> tuple[list[tuple[str, int, int]], str]:
    """Its words with their places, and whether a sentence ends with it."""
    words, first = [], 0
    cuts = [(dash.start(), dash.end()) for dash in _DASHES.finditer(run)]
    for last, after in [*cuts, (len(run), len(run))]:
        word = run[first:last].strip(_EDGES)
        if word:
            words.append((word.translate(_LOWER), start + first, start + last))
        last_word, first = run[first:last], after
    return words, _end(last_word)


def stops(sentence: str) -> bool:
    """Whether another sentence may follow on the same line; not after a heading, say."""
    return _end(sentence.rsplit(None, 1)[-1]) != "no"


def _end(run: str) -> str:
    body = run.rstrip(_CLOSERS)
    word = body.rstrip(".!?…")
    marks = body[len(word) :]
    if not marks:
        return "no"
    if marks != ".":
        return "unless lower"
    word = word.strip(_EDGES).translate(_LOWER)
    if len(word.encode()) > 8:
        return "yes"
    if (len(word) == 1 and "a" <= word <= "z" and word != "i") or word in _ABBREVIATIONS:
        return "no"
    return "unless lower" if "." in word else "yes"
