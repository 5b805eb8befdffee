"""Stories that an epoch reads more often than others.

A network that learns many tasks at once learns most of them long before the hardest. ``TrainConfig.repeat``
gives the hard ones more room: "4 north south" has stories in which one of these words occurs read four
times an epoch. It is not in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from entnet.config import ConfigError
from entnet.data.story import Entries, Ints
from entnet.text import Vocab


def parse_repeat(text: str) -> tuple[int, list[str]]:
    """How often, and which words."""
    times, *words = text.split() or [""]
    if not times.isdigit() or int(times) < 1 or not words:
        raise ConfigError(f"repeat: a number and words expected, as '4 north south', not {text!r}")
    return int(times), words


def readings(entries: Entries, vocab: Vocab, repeat: Sequence[str]) -> Ints:
    """How often an epoch reads each entry; the most often said counts."""
    often = np.ones(len(entries), dtype=np.int64)
    for text in repeat:
        times, words = parse_repeat(text)
        often = np.where(naming(entries, vocab, words), np.maximum(often, times), often)
    return often


def naming(entries: Entries, vocab: Vocab, words: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which entries have one of the words in a sentence."""
    numbers = vocab.encode([word for word in words if word in vocab])
    told = np.isin(entries.corpus.words, numbers).any(1)
    # Sentences told so far: an entry has one of them if the count grows within it.
    count = np.concatenate(([0], np.cumsum(told)))
    named: npt.NDArray[np.bool_] = count[entries.end] > count[entries.start]
    return named
