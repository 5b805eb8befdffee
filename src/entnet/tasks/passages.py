"""Training on whole passages of the Children's Book Test: readers, and EntNet with a recurrent encoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from entnet.config import TrainConfig
from entnet.data.cbt.passages import Passages
from entnet.data.cbt.windows import shuffled, with_oov_rows
from entnet.data.story import RaggedBatch
from entnet.data.vectors import read_vectors
from entnet.errors import EntNetError
from entnet.models.base import StoryModel, model_class
from entnet.models.entnet import EntNet
from entnet.models.readers.passage import PassageReader
from entnet.tasks.questions import (
    QuestionData,
    QuestionOptions,
    QuestionTask,
    TorchQuestions,
    in_parts,
)
from entnet.text import Vocab
from entnet.training.trainer import Epoch, Trainer


@dataclass(frozen=True)
class PassageOptions(QuestionOptions):
    """What is read of the questions, as whole passages."""

    oov_rows: int = 256
    neighbours: int = 8
    """Questions that stand one after the other in the books and come into a batch together: they have
    sentences in common, which are then encoded once."""
    pool: int = 1
    """Batches that are cut from one pool, sorted by length: then they have less to fill up."""
    vectors: str = ""
    """A file of word vectors, a word and its numbers per line, to start the embeddings from."""
    begin: str = ""
    """A variant of the table, a network on windows, from whose run of the same seed this one takes its
    embeddings at the start; the recurrent EntNet takes its masks too."""
    frozen: bool = False
    """What is taken over is not trained further."""

    def check(self) -> None:
        super().check()
        self.at_least(1, "neighbours", "pool")
        self.require(not self.frozen or bool(self.begin), "frozen needs begin, which it freezes")

    def order(self, count: int, seed: int, epoch: int) -> NDArray[np.int64]:
        """Neighbours stay together; where they stand is shuffled."""
        groups = shuffled(-(-count // self.neighbours), seed, epoch)
        order = (groups[:, None] * self.neighbours + np.arange(self.neighbours)).ravel()
        order = order[order < count]
        return order[: self.questions] if self.questions else order

    def batches(self, data: Passages) -> Iterator[RaggedBatch]:
        """Questions in their order, to be answered."""
        for chosen in in_parts(len(data), 100):
            yield data.batch(chosen, self.oov_rows)


class PassageSource:
    """Questions in groups of neighbours, a candidate now and then read as a new word."""

    def __init__(self, data: Passages, options: PassageOptions, config: TrainConfig) -> None:
        self.data, self.options, self.config = data, options, config

    def epoch(self, number: int) -> Epoch:
        seed = self.config.seed * 100_003 + number
        order = self.sorted_in_pools(self.options.order(len(self.data), self.config.seed, number))
        count = -(-len(order) // self.config.batch_size)
        return Epoch(self._batches(order, seed), count, seed, complete=False)

    def sorted_in_pools(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Pool by pool by length, neighbours staying together."""
        if self.options.pool == 1:
            return order
        size = self.options.pool * self.config.batch_size
        words = np.diff(self.data.offsets)[self.data.contexts[order]].sum(1)
        place = np.arange(len(order))
        group = np.append(True, np.diff(order // self.options.neighbours) != 0).cumsum() - 1
        longest = np.maximum.reduceat(words, np.flatnonzero(np.diff(group, prepend=-1)))
        return order[np.lexsort((place, longest[group], place // size))]

    def _batches(self, order: NDArray[np.int64], seed: int) -> Iterator[RaggedBatch]:
        draw = np.random.default_rng(seed)
        size, options = self.config.batch_size, self.options
        for first in range(0, len(order), size):
            chosen = order[first : first + size]
            yield self.data.batch(chosen, options.oov_rows, draw, options.oov_probability)


def passage_model(
    kind: str,
    model_options: dict[str, Any],
    options: PassageOptions,
    vocab: Vocab,
    begin: StoryModel | None = None,
) -> StoryModel:
    """An untrained reader; its embeddings begin as a file of vectors has them, if there is one."""
    words = with_oov_rows(vocab, options.oov_rows)
    network = model_class(kind)
    assert issubclass(network, PassageReader)
    config = network.config_class.from_dict({"vocabulary": len(words), **model_options})
    model = network(config, words)
    if begin is not None:
        if not isinstance(begin, EntNet):
            raise EntNetError(
                f"begin: {kind} does not begin as a network of kind {begin.config.kind}"
            )
        model.begin_as(begin, options.frozen)
    if options.vectors:
        model.start_from(read_vectors(options.vectors, vocab.index, "the questions"))
    return model


def passage_trainer(
    directory: Path | str,
    kind: str,
    model_options: dict[str, Any],
    options: PassageOptions,
    config: TrainConfig,
    data: QuestionData[Passages],
    about: dict[str, Any] | None = None,
    begin: StoryModel | None = None,
    checkpoint_seconds: float = 60.0,
) -> Trainer:
    """A run of a reader, ready to start; with ``begin``, from what that network has learnt."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = passage_model(kind, model_options, options, data.vocab, begin)
    return Trainer(
        directory,
        model,
        TorchQuestions(model, config, options.batches),
        PassageSource(data.train, options, config),
        QuestionTask(data, config, options),
        config,
        about,
        checkpoint_seconds,
    )
