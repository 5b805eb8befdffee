"""Training on questions of the Children's Book Test as windows; the network best on validation is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from entnet.config import TrainConfig
from entnet.data.cbt.windows import WINDOW, WindowedQuestions, with_oov_rows
from entnet.data.story import RaggedBatch
from entnet.models.base import StoryModel, model_class
from entnet.models.entnet import EntNet
from entnet.models.own_code import own_code
from entnet.models.readers.native import NativeSimple, is_simple, simple_config
from entnet.models.readers.scorer import Floats
from entnet.ops.windows import is_built
from entnet.tasks.questions import (
    QuestionData,
    QuestionEngine,
    QuestionOptions,
    QuestionTask,
    TorchQuestions,
    in_parts,
)
from entnet.text import Vocab
from entnet.training.learner import BatchResult
from entnet.training.native_engine import LACKING
from entnet.training.trainer import Epoch, Trainer


@dataclass(frozen=True)
class WindowOptions(QuestionOptions):
    """What is read of the questions, as windows."""

    query_width: int = 5
    """Words of the query that are read, the blank in the middle."""

    def batches(self, data: WindowedQuestions) -> Iterator[RaggedBatch]:
        """Questions in their order, to be answered."""
        entries = data.corpus(self.oov_rows, self.query_width).entries()
        yield from map(entries.batch, in_parts(len(data), 200))


@dataclass(frozen=True)
class WholeEpoch:
    """An epoch's questions in order. Compiled code cuts its own batches, and draws the OOV words."""

    order: NDArray[np.int64]
    seed: int
    sentences: int


class WindowSource:
    """Shuffled questions, a candidate now and then read as a new word."""

    def __init__(
        self, data: WindowedQuestions, options: WindowOptions, config: TrainConfig, whole: bool
    ) -> None:
        """``whole``: an epoch is one batch, for compiled code."""
        self.data, self.options, self.config, self.whole = data, options, config, whole

    def epoch(self, number: int) -> Epoch:
        seed = self.config.seed * 100_003 + number
        order = self.options.order(len(self.data), self.config.seed, number)
        if self.whole:
            windows = int(np.diff(self.data.offsets)[order].sum())
            return Epoch([WholeEpoch(order, seed, windows)], 1, seed, complete=False)
        count = -(-len(order) // self.config.batch_size)
        return Epoch(self._batches(order, seed), count, seed, complete=False)

    def _batches(self, order: NDArray[np.int64], seed: int) -> Iterator[RaggedBatch]:
        rng = np.random.default_rng(seed)
        options, size = self.options, self.config.batch_size
        corpus = self.data.choose(order).corpus(
            options.oov_rows, options.query_width, rng, options.oov_probability
        )
        entries = corpus.entries()
        for first in range(0, len(order), size):
            yield entries.batch(np.arange(first, min(first + size, len(order))))


class NativeWindows:
    """The simple network in compiled code, an epoch at a time. The weights are the model's."""

    name = "native"

    def __init__(
        self, model: EntNet, data: WindowedQuestions, options: WindowOptions, config: TrainConfig
    ) -> None:
        self.model, self.data, self.options, self.config = model, data, options, config
        self.net = NativeSimple(model, adaptive=config.optimizer == "adagrad")

    def step(self, batch: WholeEpoch, rate: float) -> BatchResult:
        self.net.take(self.model)
        got = self.net.train_epoch(
            self.data,
            batch.order,
            rate,
            batch=self.config.batch_size,
            clip=self.config.max_grad_norm,
            oov_probability=self.options.oov_probability,
            seed=batch.seed,
        )
        self.net.give(self.model)
        count = len(batch.order)
        return BatchResult(got.loss * count, round(got.error * count / 100), count)

    def scores(self, data: WindowedQuestions) -> Floats:
        self.net.take(self.model)
        return self.net.scores(data)

    def state(self) -> dict[str, Tensor]:
        return {name: torch.from_numpy(part.copy()) for name, part in self.net.squares.items()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        for name, part in self.net.squares.items():
            part[...] = state[name].numpy()


WindowData = QuestionData[WindowedQuestions]


def window_model(
    kind: str, model_options: dict[str, Any], options: WindowOptions, vocab: Vocab
) -> StoryModel:
    """An untrained network on windows; EntNet is the paper's simple model but for what is said."""
    words = with_oov_rows(vocab, options.oov_rows)
    size = {"vocabulary": len(words), "sentence_length": max(WINDOW, options.query_width)}
    if kind == EntNet.config_class.kind:
        return EntNet(simple_config(**{**size, **model_options}), words)
    network = model_class(kind)
    return network(network.config_class.from_dict({**size, **model_options}), words)


def window_trainer(
    directory: Path | str,
    kind: str,
    model_options: dict[str, Any],
    options: WindowOptions,
    config: TrainConfig,
    data: WindowData,
    about: dict[str, Any] | None = None,
    checkpoint_seconds: float = 10.0,
) -> Trainer:
    """A run on windows, ready to start; the simple network is trained in compiled code where it can."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = window_model(kind, model_options, options, data.vocab)
    native = (
        isinstance(model, EntNet)
        and is_simple(model.config)
        and own_code(model, EntNet) is None
        and is_built()
        and config.engine != "reference"
        and config.optimizer in ("sgd", "adagrad")
        and not config.changed([*LACKING, "epsilon", "accumulator"])
    )
    engine: QuestionEngine
    if native:
        assert isinstance(model, EntNet)
        engine = NativeWindows(model, data.train, options, config)
    else:
        engine = TorchQuestions(model, config, options.batches)
    return Trainer(
        directory,
        model,
        engine,
        WindowSource(data.train, options, config, whole=native),
        QuestionTask(data, config, options),
        config,
        about,
        checkpoint_seconds,
    )
