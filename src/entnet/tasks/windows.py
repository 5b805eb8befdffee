"""Training on windows of the Children's Book Test, with the network that is best on validation kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from entnet.config import Config, TrainConfig
from entnet.data.cbt.windows import WINDOW, WindowedQuestions, shuffled, with_fresh
from entnet.data.story import RaggedBatch
from entnet.models.base import StoryModel, model_class
from entnet.models.entnet import EntNet
from entnet.models.own_code import own_code
from entnet.models.readers.native import NativeSimple, is_simple, simple_config
from entnet.models.readers.scorer import Floats, accuracy
from entnet.ops.windows import is_built
from entnet.text import Vocab
from entnet.training.engine import BatchResult, choose_engine
from entnet.training.native_engine import LACKING
from entnet.training.schedule import ScheduledTask
from entnet.training.trainer import Epoch, Learner, Trainer, TrainingScore, ValidationScore


@dataclass(frozen=True)
class WindowOptions(Config):
    """What is read of the questions."""

    questions: int = 0
    """Questions per epoch, drawn anew for each; 0 for all of them."""
    fresh: int = 64
    """Rows of the embedding for words that training does not have."""
    disguise: float = 0.0
    """How often a candidate is read as such a word in training."""
    query_width: int = 5
    """Words of the query that are read, the blank in the middle."""

    def check(self) -> None:
        self.require(0 <= self.disguise <= 1, "disguise is a share, in [0, 1]")
        self.require(self.fresh > 0 or self.disguise == 0, "disguise needs fresh rows")
        self.require(self.questions >= 0, "questions must not be negative")

    def order(self, count: int, seed: int, epoch: int) -> NDArray[np.int64]:
        """Which of so many questions an epoch reads, one after the other."""
        order = shuffled(count, seed, epoch)
        return order[: self.questions] if self.questions else order

    def passes(self, count: int, epochs: int) -> float:
        """How often these epochs read each of so many questions, on average."""
        return epochs * min(self.questions / count, 1.0) if self.questions else float(epochs)


class WindowEngine(Learner, Protocol):
    """Updates from windows, and scores of the ten candidates."""

    def scores(self, data: WindowedQuestions) -> Floats: ...


@dataclass(frozen=True)
class WholeEpoch:
    """An epoch's questions in order. Compiled code cuts its own batches and draws its own disguises."""

    order: NDArray[np.int64]
    seed: int
    sentences: int


class WindowSource:
    """Shuffled questions, a candidate now and then in disguise."""

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
            options.fresh, options.query_width, rng, options.disguise
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
            disguise=self.options.disguise,
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


class TorchWindows:
    """Any network that reads windows, on the package's engines."""

    def __init__(self, model: StoryModel, options: WindowOptions, config: TrainConfig) -> None:
        self.model, self.options = model, options
        self.engine = choose_engine(model, config)
        self.name = self.engine.name

    def step(self, batch: RaggedBatch, rate: float) -> BatchResult:
        return self.engine.step(batch, rate)

    @torch.no_grad()
    def scores(self, data: WindowedQuestions) -> Floats:
        self.model.eval()
        entries = data.corpus(self.options.fresh, self.options.query_width).entries()
        chunks = np.array_split(np.arange(len(data)), max(1, len(data) // 200))
        return np.concatenate([self.model(entries.batch(chunk)).numpy() for chunk in chunks])

    def state(self) -> dict[str, Tensor]:
        return self.engine.state()

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.engine.load_state(state)


@dataclass(frozen=True)
class WindowData:
    """What a network on windows trains on, chooses by and is tested on."""

    train: WindowedQuestions
    valid: WindowedQuestions
    test: WindowedQuestions
    vocab: Vocab
    beside: Mapping[str, WindowedQuestions] = field(default_factory=dict)
    """Scored besides at the end, by name: "rebuilt_test"."""


class WindowTask(ScheduledTask):
    """Accuracy on validation and test questions; where candidates tie, what a draw would give."""

    def __init__(self, data: WindowData, config: TrainConfig) -> None:
        super().__init__(config)
        self.valid = data.valid
        self.scored = {"valid": data.valid, "test": data.test, **data.beside}

    def validate(
        self, engine: WindowEngine, epoch: int, training: TrainingScore
    ) -> ValidationScore:
        error = self._error(engine, self.valid)
        percent = {"valid_error": error, "train_error": training.error}
        better = self.progress.record(self.config, epoch, error, 0.0, percent=percent)
        return ValidationScore(None, error, better)

    def test(self, engine: WindowEngine) -> dict[str, Any]:
        scores: dict[str, Any] = {}
        for name, questions in self.scored.items():
            scores[f"{name}_error"] = round(self._error(engine, questions), 4)
            scores[f"{name}_questions"] = len(questions)
        return scores

    def _error(self, engine: WindowEngine, data: WindowedQuestions) -> float:
        return 100 * (1 - accuracy(engine.scores(data), data.answers))


def window_model(
    kind: str, model_options: dict[str, Any], options: WindowOptions, vocab: Vocab
) -> StoryModel:
    """An untrained network on windows; EntNet is the paper's simple model but for what is said."""
    words = with_fresh(vocab, options.fresh)
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
    engine: WindowEngine
    if native:
        assert isinstance(model, EntNet)
        engine = NativeWindows(model, data.train, options, config)
    else:
        engine = TorchWindows(model, options, config)
    return Trainer(
        directory,
        model,
        engine,
        WindowSource(data.train, options, config, whole=native),
        WindowTask(data, config),
        config,
        about,
        checkpoint_seconds,
    )
