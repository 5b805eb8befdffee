"""Running text cut into sentences of word numbers, in compiled code; ``data/running.py`` says how."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from entnet.data.running import MOST_WORDS, running_pieces
from entnet.errors import EntNetError
from entnet.ops.library import SplitStruct, check, library
from entnet.text import UNKNOWN_WORD

MOST_PIECES = 1 << 15
"""In one call."""


class Pieces(NamedTuple):
    """Sentences, and pieces of long ones, in order."""

    words: NDArray[np.int32]
    """(N, L) numbers of words, 0 behind the last."""
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    """(N) their places in the text, in bytes."""
    lines: NDArray[np.int64]
    """(N) line breaks before them."""
    consumed: int
    """Bytes that were read; the rest is an unfinished sentence, or did not fit."""
    runs: int
    """Words as ``str.split`` counts them."""
    breaks: int
    """Line breaks in what was read."""


class RunningText:
    """Cuts text for a network with these words, which reads sentences of up to ``longest``."""

    def __init__(self, words: Sequence[str], longest: int) -> None:
        if UNKNOWN_WORD not in words:
            raise EntNetError(f"to read running text, a vocabulary needs the word {UNKNOWN_WORD}")
        self.longest = longest
        self.index = {word: number for number, word in enumerate(words)}
        self.unknown = self.index[UNKNOWN_WORD]
        self._library = library()
        self._handle: int | None = None
        if self._library is not None:
            text = "\n".join(words).encode()
            self._handle = self._library.entnet_words_new(text, len(text), self.unknown)
        self._words = np.empty((MOST_PIECES, longest), np.int32)
        self._places = np.empty((3, MOST_PIECES), np.int64)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None and self._library is not None:
            self._library.entnet_words_free(self._handle)
            self._handle = None

    def split(self, text: bytes, final: bool = True, at: int = 0) -> Pieces:
        """The first sentences from byte ``at`` on, as many as there is room for; ``final`` if the text ends
        with these bytes."""
        if self._library is None:
            return self._split_in_python(text[at:], final)
        address = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0
        call = SplitStruct(
            address + at,
            len(text) - at,
            final,
            self.longest,
            MOST_PIECES,
            self._words.ctypes.data,
            *(row.ctypes.data for row in self._places),
        )
        check(self._library.entnet_split(self._handle, ctypes.byref(call)))
        count = call.pieces
        starts, ends, lines = self._places[:, :count].copy()
        return Pieces(
            self._words[:count].copy(), starts, ends, lines, call.consumed, call.runs, call.breaks
        )

    def split_all(self, text: bytes) -> Pieces:
        """All of a text at once."""
        parts: list[Pieces] = []
        at = breaks = runs = 0
        while at < len(text) or not parts:
            part = self.split(text, at=at)
            parts.append(
                part._replace(
                    starts=part.starts + at, ends=part.ends + at, lines=part.lines + breaks
                )
            )
            at, breaks, runs = at + part.consumed, breaks + part.breaks, runs + part.runs
        words, starts, ends, lines = (np.concatenate([part[i] for part in parts]) for i in range(4))
        return Pieces(words, starts, ends, lines, at, runs, breaks)

    def _split_in_python(self, text: bytes, final: bool) -> Pieces:
        """The specification itself, in characters; only whole texts, as where one is cut decides how it
        is read."""
        decoded = text.decode("utf-8", "replace")
        if not final:
            decoded = decoded[: decoded.rfind("\n\n") + 2] if "\n\n" in decoded else ""
        pieces = list(running_pieces(decoded, self.longest))
        words = np.zeros((len(pieces), self.longest), np.int32)
        for row, piece in zip(words, pieces, strict=True):
            row[: len(piece.words)] = [self.index.get(word, self.unknown) for word in piece.words]
        lengths = [len(letter.encode()) for letter in decoded]
        byte = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        return Pieces(
            words,
            byte[[piece.start for piece in pieces]].astype(np.int64),
            byte[[piece.end for piece in pieces]].astype(np.int64),
            np.array([piece.line for piece in pieces], np.int64),
            int(byte[-1]) if not final or decoded else len(text),
            len(decoded.split()),
            decoded.count("\n"),
        )


__all__ = ["MOST_PIECES", "MOST_WORDS", "Pieces", "RunningText"]
