"""Word vectors for paragraphs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from entnet.data import vectors
from entnet.data.propara.encode import all_words
from entnet.data.propara.match import stem
from entnet.data.propara.process import Process
from entnet.data.propara.spans import lemma
from entnet.data.vectors import Floats


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
    """The vectors of the paragraphs' words."""
    wanted = {word for processes in texts for word in all_words(processes)}
    return Vectors(vectors.read_vectors(path, wanted, "the paragraphs"))
