"""Word vectors from a file: a word and its numbers per line with blanks between, as GloVe has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from entnet.data.propara.encode import all_words
from entnet.data.propara.match import stem
from entnet.data.propara.process import Process
from entnet.data.propara.spans import lemma
from entnet.errors import DataError, EntNetError

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Vectors:
    """Vectors of those words that are wanted."""

    words: dict[str, Floats]

    @property
    def width(self) -> int:
        return len(next(iter(self.words.values())))

    def by_stem(self) -> dict[str, Floats]:
        """The mean vector of the words of each stem."""
        groups: dict[str, list[Floats]] = {}
        for word, vector in self.words.items():
            groups.setdefault(stem(lemma(word)), []).append(vector)
        return {key: np.mean(group, axis=0) for key, group in groups.items()}


def read_vectors(path: Path | str, texts: Iterable[Iterable[Process]]) -> Vectors:
    """The vectors of the paragraphs' words. A first line of two numbers (word2vec) is skipped."""
    wanted = {word for processes in texts for word in all_words(processes)}
    found: dict[str, Floats] = {}
    width = 0
    try:
        with Path(path).open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                word, *values = line.rstrip().split(" ")
                if number == 1 and len(values) == 1 and word.isdigit():
                    continue
                width = width or len(values)
                if not values or len(values) != width:
                    raise DataError(path, number, f"a word and {width or 'its'} numbers expected")
                if word.lower() in wanted:
                    try:
                        found.setdefault(word.lower(), np.array(values, dtype=np.float32))
                    except ValueError as error:
                        raise DataError(path, number, f"not a number: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise EntNetError(f"{path}: cannot be read: {reason}") from error
    if not found:
        raise EntNetError(f"{path}: has no vector of any word of the paragraphs")
    return Vectors(found)
