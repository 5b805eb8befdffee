"""Oversampling and curriculum: how often an epoch reads each story, by default once.

A network that learns many tasks at once learns most of them long before the hardest, and the hardest may
never get a start among the others. Neither ``oversample`` nor ``curriculum`` is in the paper.
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
        """After the curriculum; where several rules apply, the highest counts."""
        for rule in config.oversample:
            named = naming(entries, vocab, rule.words)
            self.often = np.where(named, np.maximum(self.often, rule.times), self.often)
        self.stages: list[tuple[int, Ints]] = []
        """Of the curriculum: the last epoch of each stage, and how often its epochs read each entry."""
        last = 0
        for stage in config.curriculum:
            named = naming(entries, vocab, stage.only)
            if not named.any():
                raise ConfigError(
                    f"curriculum: no training story has any of {', '.join(stage.only)}"
                )
            last += stage.epochs
            self.stages.append((last, self.often * named))

    def of_epoch(self, epoch: int) -> Ints:
        """How often this epoch, counted from 1, reads each entry."""
        return next((often for last, often in self.stages if epoch <= last), self.often)


def naming(entries: Entries, vocab: Vocab, words: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which entries have one of the words in a sentence."""
    numbers = vocab.encode([word for word in words if word in vocab])
    told = np.isin(entries.corpus.words, numbers).any(1)
    # Sentences told so far: an entry has one of them if the count grows within it.
    count = np.concatenate(([0], np.cumsum(told)))
    named: npt.NDArray[np.bool_] = count[entries.end] > count[entries.start]
    return named
