"""How often an epoch reads each story: all of them once, unless told otherwise.

A network that learns many tasks at once learns most of them long before the hardest, and the hardest may
never get a start among the others. Neither of these two is in the paper:

    repeat  "4 north south"     stories in which one of these words occurs are read four times an epoch
    begin   "40 north south"    the first 40 epochs read only such stories; a second text follows the first
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from entnet.config import ConfigError, TrainConfig
from entnet.data.story import Entries, Ints
from entnet.text import Vocab


class Readings:
    """How often each entry is read, epoch by epoch."""

    def __init__(self, entries: Entries, vocab: Vocab, config: TrainConfig) -> None:
        self.often = np.ones(len(entries), dtype=np.int64)
        """In epochs after the beginning; where several texts of ``repeat`` apply, the highest counts."""
        for times, words in map(parse_repeat, config.repeat):
            named = naming(entries, vocab, words)
            self.often = np.where(named, np.maximum(self.often, times), self.often)
        self.stages: list[tuple[int, Ints]] = []
        """Of the beginning: the last epoch of each stage, and how often its epochs read each entry."""
        last = 0
        for epochs, words in map(parse_begin, config.begin):
            named = naming(entries, vocab, words)
            if not named.any():
                raise ConfigError(f"begin: no training story has any of {', '.join(words)}")
            last += epochs
            self.stages.append((last, self.often * named))

    def of_epoch(self, epoch: int) -> Ints:
        """How often this epoch, counted from 1, reads each entry."""
        return next((often for last, often in self.stages if epoch <= last), self.often)


def parse_repeat(text: str) -> tuple[int, list[str]]:
    """How often, and stories with which words."""
    return _number_and_words(text, "repeat", "4 north south")


def parse_begin(text: str) -> tuple[int, list[str]]:
    """For how many epochs, and stories with which words."""
    return _number_and_words(text, "begin", "40 north south")


def _number_and_words(text: str, option: str, example: str) -> tuple[int, list[str]]:
    number, *words = text.split() or [""]
    if not number.isdigit() or int(number) < 1 or not words:
        raise ConfigError(f"{option}: a number and words expected, as '{example}', not {text!r}")
    return int(number), words


def naming(entries: Entries, vocab: Vocab, words: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which entries have one of the words in a sentence."""
    numbers = vocab.encode([word for word in words if word in vocab])
    told = np.isin(entries.corpus.words, numbers).any(1)
    # Sentences told so far: an entry has one of them if the count grows within it.
    count = np.concatenate(([0], np.cumsum(told)))
    named: npt.NDArray[np.bool_] = count[entries.end] > count[entries.start]
    return named
