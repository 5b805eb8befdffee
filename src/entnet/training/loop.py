"""The training loop: epochs, checkpoints, metrics. Killed at any moment, it goes on where it was.

A run is a directory:

    run.json                   what is trained, and how
    metrics.jsonl              a line an epoch
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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from entnet.config import TrainConfig
from entnet.data.story import Corpus, Entries, Ints, RaggedBatch
from entnet.errors import EntNetError
from entnet.files import write_atomically
from entnet.models.base import StoryModel
from entnet.training.checkpoint import Checkpoint
from entnet.training.engine import Engine, choose_engine
from entnet.training.evaluate import Score, score
from entnet.training.exchange import Exchange
from entnet.training.readings import Readings
from entnet.training.result import result_line
from entnet.training.schedule import Progress


@dataclass(frozen=True)
class EpochMetrics:
    """A line of metrics.jsonl."""

    epoch: int
    rate: float
    train_loss: float
    train_error: float
    valid_loss: float
    valid_error: float
    """Errors in percent."""
    sentences_per_second: float
    seconds: float
    """Since the start of the run, interruptions not counted."""


class Watcher:
    """Is told how a run gets on; does nothing itself."""

    def begin(self, epochs: int, done: int) -> None: ...

    def batch(self, share: float) -> None: ...

    def epoch(self, metrics: EpochMetrics) -> None: ...

    def end(self) -> None: ...


@dataclass(frozen=True)
class RunData:
    """What a run trains on, chooses by and is tested on."""

    train: Corpus
    valid: Corpus
    test: Corpus | None = None


class Run:
    """One training run in its directory."""

    def __init__(
        self,
        directory: Path | str,
        build: Callable[[], StoryModel],
        data: RunData,
        config: TrainConfig,
        about: dict[str, Any] | None = None,
        checkpoint_seconds: float = 10.0,
    ) -> None:
        """``build`` makes the untrained network; it is called with torch's seed set to the run's."""
        self.directory = Path(directory)
        self.data = data
        self.config = config
        self.about = about or {}
        self.checkpoint_seconds = checkpoint_seconds
        torch.set_num_threads(config.threads)
        torch.manual_seed(config.seed)
        self.model = build()
        self.engine: Engine = choose_engine(self.model, config)
        self.entries = data.train.entries(config.draw, self.model.config.memory_limit)
        self.valid_entries = data.valid.entries("story", self.model.config.memory_limit)
        self.exchange, self.exchange_anywhere = (
            Exchange(config.exchange, self.model.vocab, config.exchange_unless, where)
            for where in (config.exchange_where, "")
        )
        self.readings = Readings(self.entries, self.model.vocab, config)
        self.progress = Progress()
        self.best = self._weights()
        self.done = 0
        self.seconds = 0.0

    def train(self, watcher: Watcher | None = None) -> dict[str, Any]:
        """Train to the end, from wherever the run stands, and return its result."""
        watcher = watcher or Watcher()
        finished = self.directory / "result.json"
        self._claim()
        if finished.is_file():
            result: dict[str, Any] = json.loads(finished.read_text(encoding="utf-8"))
            return result
        self._resume()
        watcher.begin(self.config.epochs, self.done)
        saved = time.monotonic()
        try:
            while not (self.done and self.progress.finished(self.config, self.done)):
                metrics = self._epoch(self.done + 1, watcher)
                self._append(metrics)
                watcher.epoch(metrics)
                if time.monotonic() - saved >= self.checkpoint_seconds:
                    self._save()
                    saved = time.monotonic()
        finally:
            watcher.end()
        self._save()
        return self._finish()

    def _epoch(self, epoch: int, watcher: Watcher) -> EpochMetrics:
        started = time.perf_counter()
        rate = self.progress.rate(self.config, epoch)
        often = self.readings.of_epoch(epoch)
        groups = draw_groups(self.entries, self.config, epoch, often)
        torch.manual_seed(epoch_seed(self.config.seed, epoch))
        loss, errors, questions, sentences = 0.0, 0, 0, 0
        for number, batch in enumerate(self.entries.batches(groups, self._change(epoch)), start=1):
            seen = self.engine.step(batch, rate)
            loss += seen.loss
            errors += seen.errors
            questions += seen.questions
            sentences += batch.sentences
            watcher.batch(number / len(groups))
        if not np.isfinite(loss):
            raise EntNetError(
                f"the loss became {loss} in epoch {epoch}; a smaller rate than {rate} may help"
            )
        trained = time.perf_counter()
        valid = score(self.engine, self.valid_entries)
        learnt = errors == 0 and bool(often.all())
        train_error = 100 * errors / questions
        percent = {"validation": valid.error_percent, "training": train_error}
        if self.progress.record(self.config, epoch, valid.errors, valid.loss, learnt, percent):
            self.best = self._weights()
        self.done = epoch
        self.seconds += time.perf_counter() - started
        return EpochMetrics(
            epoch,
            rate,
            loss / questions,
            train_error,
            valid.loss,
            valid.error_percent,
            sentences / (trained - started),
            self.seconds,
        )

    def _change(self, epoch: int) -> Callable[[RaggedBatch], RaggedBatch] | None:
        """How this epoch's stories are told differently, if at all."""
        if not self.config.exchange or epoch < self.config.exchange_from:
            return None
        generator = np.random.default_rng([self.config.seed, epoch, 1])
        until = self.config.exchange_where_until
        exchange = self.exchange if until is None or epoch <= until else self.exchange_anywhere
        return lambda batch: exchange(batch, generator)

    def _finish(self) -> dict[str, Any]:
        last = self._scores()
        self.model.save_pretrained(self.directory / "last")
        final = self._weights()
        self._load(self.best)
        best = self._scores()
        self._load(self.best if self.config.select == "best" else final)
        self.model.save_pretrained(self.directory / "model")
        result = result_line(self.about, self.model, self.config, self.engine.name)
        result |= {
            "epochs": self.done,
            "best_epoch": self.progress.best_epoch,
            "best": best,
            "last": last,
            "seconds": round(self.seconds, 2),
        }
        text = json.dumps(result, indent=1)
        write_atomically(self.directory / "result.json", text.encode())
        written: dict[str, Any] = json.loads(text)
        return written

    def _scores(self) -> dict[str, float | int]:
        scores: dict[str, float | int] = {}
        for name, corpus in (("valid", self.data.valid), ("test", self.data.test)):
            if corpus is None:
                continue
            whole = 32 if name == "test" and self.config.whole_batches_only else None
            got: Score = score(
                self.engine, corpus.entries("story", self.model.config.memory_limit), whole
            )
            scores[f"{name}_error"] = round(got.error_percent, 4)
            scores[f"{name}_loss"] = round(got.loss, 6)
            scores[f"{name}_questions"] = got.questions
        return scores

    def _weights(self) -> dict[str, Tensor]:
        return {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}

    def _load(self, weights: dict[str, Tensor]) -> None:
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
            theirs["train"] = {**TrainConfig().to_dict(), **theirs.get("train", {})}
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
            self.progress = Progress(**checkpoint.progress)
            self.done = checkpoint.epoch
            self.seconds = checkpoint.seconds
            if self._metrics_path.is_file():
                lines = self._metrics_path.read_text(encoding="utf-8").splitlines(keepends=True)
                kept = lines[: self.done]
        write_atomically(self._metrics_path, "".join(kept).encode())

    def _save(self) -> None:
        Checkpoint(
            self.done,
            self.progress.to_dict(),
            self.seconds,
            self._weights(),
            self.engine.state(),
            self.best,
        ).write(self.directory / "checkpoint.safetensors")

    def _append(self, metrics: EpochMetrics) -> None:
        with self._metrics_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(metrics.__dict__) + "\n")

    @property
    def _metrics_path(self) -> Path:
        return self.directory / "metrics.jsonl"


def epoch_seed(seed: int, epoch: int) -> int:
    """A seed for one epoch of one run."""
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0])


def draw_groups(
    entries: Entries, config: TrainConfig, epoch: int, often: Ints | None = None
) -> list[Ints]:
    """The batches of an epoch: a shuffled pass, or as many independent draws.

    ``often`` is how many times it reads each entry, once if not given.
    """
    generator = np.random.default_rng([config.seed, epoch])
    read = np.repeat(np.arange(len(entries)), 1 if often is None else often)
    if config.epoch == "pass":
        order = generator.permutation(len(read))
    else:
        order = generator.integers(len(read), size=len(read))
    return entries.groups(config.batch, read[order], config.batch_of)
