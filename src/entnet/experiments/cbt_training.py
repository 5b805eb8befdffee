"""Training on windows of the Children's Book Test, with the network that is best on validation kept.

A run keeps a file with its weights, the best ones so far, and what it has seen; started again, it goes on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from entnet.config import Config, TrainConfig
from entnet.data.cbt_windows import WindowedQuestions, shuffled
from entnet.models.base import StoryModel
from entnet.models.cbt.native import EpochResult, NativeSimple
from entnet.models.cbt.scorer import Floats, accuracy
from entnet.training.engine import choose_engine

Arrays = dict[str, NDArray[Any]]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class WindowTraining(Config):
    """How a network is trained on windows."""

    epochs: int = 20
    questions: int = 0
    """Questions of an epoch, drawn anew for each; 0 for all of them."""
    rate: float = 0.01
    decay: float = 1.0
    """The rate is multiplied by this after every epoch."""
    batch: int = 32
    clip: float = 40.0
    optimiser: str = "sgd"
    """sgd, as in the paper; adagrad (the simple network in compiled code) or adam (the others)."""
    fresh: int = 64
    """Rows of the embedding for words that training does not have."""
    disguise: float = 0.0
    """How often a candidate is read as such a word in training."""
    query_width: int = 5
    """Words of the query that are read, the blank in the middle."""
    budget: float = 0.0
    """CPU seconds after which no further epoch begins; 0 for no limit."""
    seed: int = 1

    def check(self) -> None:
        known = ("sgd", "adagrad", "adam")
        self.require(self.optimiser in known, f"optimiser must be one of {', '.join(known)}")
        self.require(0 <= self.disguise <= 1, "disguise is a share, in [0, 1]")
        self.require(self.fresh > 0 or self.disguise == 0, "disguise needs fresh rows")
        for name in ("epochs", "batch"):
            self.require(getattr(self, name) >= 1, f"{name} must be at least 1")
        self.require(self.questions >= 0, "questions must not be negative")

    def order(self, count: int, epoch: int) -> NDArray[np.int64]:
        """Which of so many questions an epoch reads, one after the other."""
        order = shuffled(count, self.seed, epoch)
        return order[: self.questions] if self.questions else order

    def passes(self, count: int, epochs: int) -> float:
        """How often these epochs read each of so many questions, on average."""
        return epochs * min(self.questions / count, 1.0) if self.questions else float(epochs)


class Trainee(Protocol):
    """A network in training: an epoch at a time, scores at any moment, weights in and out."""

    def epoch(self, number: int) -> EpochResult: ...
    def scores(self, data: WindowedQuestions) -> Floats: ...
    def arrays(self) -> Arrays: ...
    def load(self, arrays: Arrays) -> None: ...
    def network(self) -> StoryModel: ...


class NativeTrainee:
    """The simple network in compiled code."""

    def __init__(
        self, net: NativeSimple, data: WindowedQuestions, training: WindowTraining
    ) -> None:
        self.net, self.data, self.training = net, data, training

    def epoch(self, number: int) -> EpochResult:
        t = self.training
        return self.net.train_epoch(
            self.data,
            t.order(len(self.data), number),
            t.rate * t.decay ** (number - 1),
            batch=t.batch,
            clip=t.clip,
            disguise=t.disguise,
            seed=t.seed * 100_003 + number,
        )

    def scores(self, data: WindowedQuestions) -> Floats:
        return self.net.scores(data)

    def arrays(self) -> Arrays:
        return {name: values.copy() for name, values in self._held().items()}

    def load(self, arrays: Arrays) -> None:
        for name, values in self._held().items():
            values[...] = arrays[name]

    def network(self) -> StoryModel:
        return self.net.to_model()

    def _held(self) -> Arrays:
        squares = {f"squares.{name}": values for name, values in self.net.squares.items()}
        return dict(self.net.parameters()) | squares


class TorchTrainee:
    """Any other network that reads windows, on the package's engines."""

    def __init__(
        self, model: StoryModel, data: WindowedQuestions, training: WindowTraining
    ) -> None:
        self.model, self.data, self.training = model, data, training
        config = TrainConfig(
            optimiser="adam" if training.optimiser == "adam" else "sgd",
            rate=training.rate,
            clip=training.clip,
            batch=training.batch,
            draw="question",
        )
        self.engine = choose_engine(model, config)

    def epoch(self, number: int) -> EpochResult:
        t = self.training
        seed = t.seed * 100_003 + number
        torch.manual_seed(seed)
        data = self.data.choose(t.order(len(self.data), number))
        corpus = data.corpus(t.fresh, t.query_width, np.random.default_rng(seed), t.disguise)
        entries = corpus.entries()
        rate = t.rate * t.decay ** (number - 1)
        loss = errors = 0.0
        for first in range(0, len(data), t.batch):
            chosen = np.arange(first, min(first + t.batch, len(data)))
            result = self.engine.step(entries.batch(chosen), rate)
            loss += result.loss
            errors += result.errors
        return EpochResult(loss / len(data), 100 * errors / len(data))

    @torch.no_grad()
    def scores(self, data: WindowedQuestions) -> Floats:
        self.model.eval()
        entries = data.corpus(self.training.fresh, self.training.query_width).entries()
        chunks = np.array_split(np.arange(len(data)), max(1, len(data) // 200))
        return np.concatenate([self.model(entries.batch(chunk)).numpy() for chunk in chunks])

    def arrays(self) -> Arrays:
        weights = {f"model.{n}": v.numpy().copy() for n, v in self.model.state_dict().items()}
        state = {f"engine.{n}": v.numpy().copy() for n, v in self.engine.state().items()}
        return weights | state

    def load(self, arrays: Arrays) -> None:
        def part(prefix: str) -> dict[str, torch.Tensor]:
            return {
                name.removeprefix(prefix): torch.from_numpy(np.array(values))
                for name, values in arrays.items()
                if name.startswith(prefix)
            }

        with torch.no_grad():
            for name, values in part("model.").items():
                self.model.state_dict()[name].copy_(values)
        state = part("engine.")
        if state:
            self.engine.load_state(state)

    def network(self) -> StoryModel:
        return self.model.eval()


@dataclass
class Progress:
    """What a run has come to."""

    epoch: int = 0
    best_epoch: int = 0
    best_valid: float = -1.0
    cpu_seconds: float = 0.0
    curve: list[list[float]] = field(default_factory=list)
    """Epoch, training loss, training error in percent, validation accuracy."""


@dataclass
class Outcome:
    """A finished run: the weights that were best on validation, and what they score."""

    progress: Progress
    valid_scores: Floats
    test_scores: Floats


def train_windows(
    trainee: Trainee,
    training: WindowTraining,
    valid: WindowedQuestions,
    test: WindowedQuestions,
    file: Path,
    tell: Tell = print,
) -> Outcome:
    """Train to the last epoch, or until the budget is spent; ``file`` keeps what is needed to go on."""
    progress, best = _resume(trainee, file, training)
    while progress.epoch < training.epochs:
        if training.budget and progress.cpu_seconds >= training.budget:
            break
        began = time.process_time()
        progress.epoch += 1
        result = trainee.epoch(progress.epoch)
        reached = accuracy(trainee.scores(valid), valid.answers)
        progress.cpu_seconds += time.process_time() - began
        progress.curve.append(
            [progress.epoch, round(result.loss, 4), round(result.error, 2), round(reached, 4)]
        )
        if reached > progress.best_valid:
            progress.best_valid, progress.best_epoch = reached, progress.epoch
            best = trainee.arrays()
        _keep(trainee, best, progress, training, file)
        tell(
            f"{file.stem}: epoch {progress.epoch} of {training.epochs}, loss {result.loss:.3f}, "
            f"validation {reached:.4f} (best {progress.best_valid:.4f}), "
            f"{progress.cpu_seconds:.0f} s of CPU"
        )
    trainee.load(best)
    return Outcome(progress, trainee.scores(valid), trainee.scores(test))


def _keep(
    trainee: Trainee, best: Arrays, progress: Progress, training: WindowTraining, file: Path
) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    about = json.dumps({"progress": progress.__dict__, "training": training.to_dict()})
    last = {f"last.{name}": values for name, values in trainee.arrays().items()}
    part = file.with_suffix(".part.npz")
    held: dict[str, Any] = last | {f"best.{name}": values for name, values in best.items()}
    np.savez(part, about=about, **held)
    part.replace(file)


def _resume(trainee: Trainee, file: Path, training: WindowTraining) -> tuple[Progress, Arrays]:
    """What a run with these settings has come to; more epochs and a larger budget are the same run."""
    if not file.is_file():
        return Progress(), trainee.arrays()
    with np.load(file, allow_pickle=False) as kept:
        about = json.loads(str(kept["about"]))
        done = WindowTraining.from_dict(about["training"])
        if done.replace(epochs=training.epochs, budget=training.budget) != training:
            return Progress(), trainee.arrays()
        trainee.load({n.removeprefix("last."): kept[n] for n in kept.files if n[:5] == "last."})
        best = {n.removeprefix("best."): kept[n] for n in kept.files if n[:5] == "best."}
    return Progress(**about["progress"]), best
