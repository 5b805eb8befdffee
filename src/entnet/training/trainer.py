"""The training loop: epochs, checkpoints, metrics. Killed at any moment, it goes on where it was.

A run is a directory:

    run.json                   what is trained, and how
    metrics.jsonl              one line per epoch
    checkpoint.safetensors     where the run stands
    model/                     the chosen network, once the run has ended
    last/                      the last epoch's network
    result.json                how it ended

Nothing random is carried from one epoch to the next: each draws from the run's seed and its own number,
so a run that is started again repeats an interrupted epoch exactly.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from entnet.config import TrainConfig
from entnet.errors import EntNetError
from entnet.files import write_atomically
from entnet.training.checkpoint import Checkpoint
from entnet.training.learner import Learner
from entnet.training.result import Trained, result_line

Weights = dict[str, Tensor]

AVERAGE_EVERY = 10
"""Updates between two additions to the average of the weights."""


@dataclass(frozen=True)
class EpochMetrics:
    """A line of metrics.jsonl."""

    epoch: int
    rate: float
    train_loss: float
    train_error: float
    valid_loss: float | None
    valid_error: float | None
    """Errors in percent; None where the task does not measure it."""
    sentences_per_second: float
    seconds: float
    """Since the start of the run, interruptions not counted."""


class Callback:
    """Callback interface for training progress. All methods are no-ops."""

    def begin(self, epochs: int, done: int) -> None: ...

    def batch(self, share: float) -> None: ...

    def epoch(self, metrics: EpochMetrics) -> None: ...

    def end(self) -> None: ...


class Batch(Protocol):
    """What an update is made from; only the engine looks inside."""

    @property
    def sentences(self) -> int:
        """How many sentences it reads."""


@dataclass(frozen=True)
class Epoch:
    """The batches of one epoch."""

    batches: Iterable[Batch]
    count: int
    """How many batches there are."""
    seed: int
    """Torch's seed for the epoch: what dropout and the like draw from."""
    complete: bool = True
    """Whether it reads all of the training data."""


class Source(Protocol):
    """Where batches come from."""

    def epoch(self, number: int) -> Epoch:
        """An epoch's batches, counted from 1; the same whenever they are asked for."""


@dataclass(frozen=True)
class TrainingScore:
    """What an epoch of training saw, before each of its updates."""

    loss: float
    """Mean per question."""
    error: float
    """In percent."""
    errors: int
    complete: bool
    """Whether the epoch read all of the training data."""


class ValidationScore(NamedTuple):
    """What validation gave after an epoch; None for what is not measured."""

    loss: float | None
    error: float | None
    """In percent."""
    better: bool
    """Whether it is the best so far."""
    rewind: bool = False
    """Whether training goes on from the best network so far."""


class Task(Protocol):
    """What is measured, and what training makes of it: learning rate, selection, the end."""

    def learning_rate(self, epoch: int, done: float) -> float:
        """The learning rate in an epoch, counted from 1, of which this fraction is done."""

    def validate(self, engine: Any, epoch: int, training: TrainingScore) -> ValidationScore:
        """Measure the network after an epoch."""

    def finished(self, epoch: int) -> bool:
        """Whether no epoch follows this one."""

    def test(self, engine: Any) -> dict[str, Any]:
        """A network's scores once training has ended, ``valid_error`` among them."""

    def state(self) -> dict[str, Any]:
        """What it remembers of the epochs so far, for JSON; ``best_epoch`` among it."""

    def load_state(self, state: dict[str, Any]) -> None:
        """Take up what ``state`` gave."""


class Trainer:
    """One training run in its directory: the only loop over epochs and batches."""

    def __init__(
        self,
        directory: Path | str,
        model: Trained,
        engine: Learner,
        source: Source,
        task: Task,
        config: TrainConfig,
        about: dict[str, Any] | None = None,
        checkpoint_seconds: float = 10.0,
    ) -> None:
        self.directory = Path(directory)
        self.model = model
        self.engine = engine
        self.source = source
        self.task = task
        self.config = config
        self.about = about or {}
        self.checkpoint_seconds = checkpoint_seconds
        self.best = self._weights()
        self.average = self._weights() if config.weight_average else {}
        """The running average of the weights; empty without."""
        self.done = 0
        self.seconds = 0.0

    def train(self, callback: Callback | None = None) -> dict[str, Any]:
        """Train to the end, from wherever the run stands, and return its result."""
        callback = callback or Callback()
        torch.set_num_threads(self.config.threads)
        finished = self.directory / "result.json"
        self._claim()
        if finished.is_file():
            result: dict[str, Any] = json.loads(finished.read_text(encoding="utf-8"))
            return result
        self._resume()
        callback.begin(self.config.epochs, self.done)
        saved = time.monotonic()
        try:
            while not (self.done and self._finished()):
                metrics = self._epoch(self.done + 1, callback)
                self._append(metrics)
                callback.epoch(metrics)
                if time.monotonic() - saved >= self.checkpoint_seconds:
                    self._save()
                    saved = time.monotonic()
        finally:
            callback.end()
        self._save()
        return self._finish()

    def _finished(self) -> bool:
        spent = 0 < self.config.max_seconds <= self.seconds
        return spent or self.task.finished(self.done)

    def _epoch(self, number: int, callback: Callback) -> EpochMetrics:
        started = time.perf_counter()
        rate = self.task.learning_rate(number, 0.0)
        training, sentences = self._update(number, callback)
        trained = time.perf_counter()
        valid = self.task.validate(self.engine, number, training)
        if valid.better:
            self.best = self._weights()
        if valid.rewind:
            self._load(self.best)
        self.done = number
        self.seconds += time.perf_counter() - started
        return EpochMetrics(
            number,
            rate,
            training.loss,
            training.error,
            valid.loss,
            valid.error,
            sentences / (trained - started),
            self.seconds,
        )

    def _update(self, number: int, callback: Callback) -> tuple[TrainingScore, int]:
        """An epoch's updates: what they saw, and how many sentences they read."""
        epoch = self.source.epoch(number)
        torch.manual_seed(epoch.seed)
        loss, errors, questions, sentences = 0.0, 0, 0, 0
        for done, batch in enumerate(epoch.batches, start=1):
            rate = self.task.learning_rate(number, (done - 1) / epoch.count)
            seen = self.engine.step(batch, rate)
            if self.average and done % AVERAGE_EVERY == 0:
                self._add_to_average()
            loss += seen.loss
            errors += seen.errors
            questions += seen.questions
            sentences += batch.sentences
            callback.batch(done / epoch.count)
        if not np.isfinite(loss):
            raise EntNetError(
                f"the loss became {loss} in epoch {number}; a smaller learning rate than {rate} may help"
            )
        error = 100 * errors / questions
        return TrainingScore(loss / questions, error, errors, epoch.complete), sentences

    def _finish(self) -> dict[str, Any]:
        last = self.task.test(self.engine)
        self.model.save_pretrained(self.directory / "last")
        final = self._weights()
        best, best_epoch = last, self.task.state()["best_epoch"]
        if best_epoch != self.done:
            self._load(self.best)
            best = self.task.test(self.engine)
        averaged = False
        if self.average:
            self._load(self.average)
            scores = self.task.test(self.engine)
            averaged = scores["valid_error"] < best["valid_error"]
            if averaged:
                best, self.best = scores, self.average
        self._load(self.best if self.config.checkpoint == "best" or averaged else final)
        self.model.save_pretrained(self.directory / "model")
        result = result_line(self.about, self.model, self.config, self.engine.name)
        result |= {
            "epochs": self.done,
            "best_epoch": best_epoch,
            "best": best,
            "last": last,
            "seconds": round(self.seconds, 2),
        }
        if self.average:
            result["averaged"] = averaged
        text = json.dumps(result, indent=1)
        write_atomically(self.directory / "result.json", text.encode())
        written: dict[str, Any] = json.loads(text)
        return written

    def _add_to_average(self) -> None:
        weights = self.model.state_dict()
        for name, mean in self.average.items():
            if mean.is_floating_point():
                mean.lerp_(weights[name], 1 - self.config.weight_average)

    def _weights(self) -> Weights:
        return {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}

    def _load(self, weights: Weights) -> None:
        self.model.load_state_dict(weights)

    def _claim(self) -> None:
        """Write what this run is, or make sure that the directory is this run's."""
        path = self.directory / "run.json"
        mine = {
            "about": self.about,
            "kind": self.model.config.kind,
            "model": self.model.config.to_dict(),
            "train": self.config.to_dict(),
        }
        mine = json.loads(json.dumps(mine))
        if path.is_file():
            theirs = json.loads(path.read_text(encoding="utf-8"))
            # A run from before an option was there is one with its default.
            theirs["train"] = json.loads(
                json.dumps(TrainConfig.from_dict(theirs.get("train", {})).to_dict())
            )
            if theirs.get("kind") == mine["kind"]:
                defaults = type(self.model.config)().to_dict()
                theirs["model"] = json.loads(json.dumps({**defaults, **theirs["model"]}))
            changed = sorted(
                f"{part}.{key}"
                for part in ("model", "train")
                for key in mine[part].keys() | theirs.get(part, {}).keys()
                if mine[part].get(key) != theirs.get(part, {}).get(key)
            )
            if changed or theirs.get("kind") != mine["kind"]:
                raise EntNetError(
                    f"{self.directory}: holds another run (different: {', '.join(changed) or 'kind'}); "
                    "give another --out, or delete it"
                )
        else:
            write_atomically(path, json.dumps(mine, indent=1).encode())

    def _resume(self) -> None:
        path = self.directory / "checkpoint.safetensors"
        kept: list[str] = []
        if path.is_file():
            checkpoint = Checkpoint.read(path)
            self._load(checkpoint.weights)
            self.engine.load_state(checkpoint.optimiser)
            self.best = checkpoint.best
            self.average = checkpoint.average
            self.task.load_state(checkpoint.progress)
            self.done = checkpoint.epoch
            self.seconds = checkpoint.seconds
            if self._metrics_path.is_file():
                lines = self._metrics_path.read_text(encoding="utf-8").splitlines(keepends=True)
                kept = lines[: self.done]
        write_atomically(self._metrics_path, "".join(kept).encode())

    def _save(self) -> None:
        Checkpoint(
            self.done,
            self.task.state(),
            self.seconds,
            self._weights(),
            self.engine.state(),
            self.best,
            self.average,
        ).write(self.directory / "checkpoint.safetensors")

    def _append(self, metrics: EpochMetrics) -> None:
        with self._metrics_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(metrics.__dict__) + "\n")

    @property
    def _metrics_path(self) -> Path:
        return self.directory / "metrics.jsonl"
