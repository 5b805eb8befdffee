"""Copy and repeat-copy, on which memory machines show whether they have learned to use their memory.

Sequences are fresh throughout, of 1 to T steps: an epoch is a number of updates. A run is tested on
sequences of several lengths, some longer than it was trained on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import torch

from entnet.config import Config, TrainConfig
from entnet.models.copying import Copier, CopierConfig, CopyBatch, copy_batch, copy_error
from entnet.tasks.spec import Result, RunSpec
from entnet.training.engine import TorchEngine
from entnet.training.schedule import ScheduledTask
from entnet.training.trainer import Callback, Epoch, Trainer, TrainingScore, ValidationScore

STREAMS = {"valid": 1, "test": 2}
"""Seeds of sequences that no run trains on."""


@dataclass(frozen=True)
class CopyOptions(Config):
    """Which sequences a run trains on, and where it is tested."""

    longest: int = 10
    """T: steps of the longest sequence in training."""
    updates_per_epoch: int = 100
    test_lengths: tuple[int, ...] = ()
    """Lengths to test on; T when not given."""
    test_repeats: tuple[int, ...] = ()
    """How often they are to be said in the test; as often as in training, at the most, when not given."""

    def check(self) -> None:
        for name in ("longest", "updates_per_epoch"):
            value = getattr(self, name)
            self.require(value >= 1, f"{name} is {value}, but must be at least 1")


class CopySource:
    """Fresh sequences for every update, of a length and a number of repeats drawn anew."""

    def __init__(self, model: CopierConfig, options: CopyOptions, config: TrainConfig) -> None:
        self.model, self.options, self.config = model, options, config

    def epoch(self, number: int) -> Epoch:
        seed = self.config.seed * 1_000_003 + number
        count = self.options.updates_per_epoch
        return Epoch(self._batches(seed, count), count, seed, complete=False)

    def _batches(self, seed: int, count: int) -> Iterator[CopyBatch]:
        dice = torch.Generator().manual_seed(seed)
        for _ in range(count):
            length = int(torch.randint(1, self.options.longest + 1, (), generator=dice))
            repeats = int(torch.randint(1, self.model.most_repeats + 1, (), generator=dice))
            yield copy_batch(self.model, self.config.batch_size, length, repeats, dice)


class CopyTask(ScheduledTask):
    """Wrong bits, in percent. The epoch kept is the best on sequences of the longest length in training."""

    def __init__(self, model: Copier, options: CopyOptions, config: TrainConfig) -> None:
        super().__init__(config)
        self.model, self.options = model, options

    def validate(self, engine: Any, epoch: int, training: TrainingScore) -> ValidationScore:
        most = self.model.config.most_repeats
        wrong, asked = copy_error(self.model, self.options.longest, most, STREAMS["valid"])
        error = 100 * wrong / asked
        percent = {"valid_error": error, "train_error": training.error}
        better = self.progress.record(self.config, epoch, wrong, training.loss, percent=percent)
        return ValidationScore(None, error, better)

    def test(self, engine: Any) -> dict[str, Any]:
        options, most = self.options, self.model.config.most_repeats
        cells: dict[str, dict[str, float]] = {}
        totals: dict[str, Any] = {}
        for name, stream in STREAMS.items():
            wrong = asked = 0
            for repeats in options.test_repeats or (most,):
                for length in options.test_lengths or (options.longest,):
                    errors, bits = copy_error(self.model, length, repeats, stream, 256)
                    cell = str(length) if most == 1 else f"{length} × {repeats}"
                    cells.setdefault(cell, {})[f"{name}_error"] = round(100 * errors / bits, 4)
                    wrong, asked = wrong + errors, asked + bits
            totals |= {f"{name}_error": round(100 * wrong / asked, 4), f"{name}_questions": asked}
        return {**totals, "cells": cells}


def copy_trainer(spec: RunSpec) -> Trainer:
    config = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
    options = CopyOptions.from_dict({**spec.source, "longest": spec.task})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = Copier(CopierConfig.from_dict(spec.model))
    return Trainer(
        spec.directory,
        model,
        TorchEngine(cast("Any", model), config),
        CopySource(model.config, options, config),
        CopyTask(model, options, config),
        config,
        {**spec.about(), "source": options.to_dict()},
        spec.checkpoint_seconds,
    )


def run(spec: RunSpec, callback: Callback | None) -> Result:
    return copy_trainer(spec).train(callback)


def settings(kind: str) -> list[type[Config]]:
    return [CopierConfig, TrainConfig, CopyOptions]
