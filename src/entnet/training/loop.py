"""Training on stories: their batches, their scores, and the run made of both."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from entnet.config import TrainConfig
from entnet.data.story import Corpus, Entries, Ints, RaggedBatch, Story
from entnet.errors import EntNetError
from entnet.files import write_atomically
from entnet.models.base import StoryModel
from entnet.symmetries import Symmetries
from entnet.training.augment import Exchange
from entnet.training.auto import AutoTask
from entnet.training.auto_source import Augmentation, AutoSource
from entnet.training.engine import Engine, choose_engine
from entnet.training.evaluate import score
from entnet.training.sampling import Readings
from entnet.training.schedule import ScheduledTask
from entnet.training.trainer import (
    Callback,
    Epoch,
    EpochMetrics,
    Source,
    Task,
    Trainer,
    TrainingScore,
    ValidationScore,
)

__all__ = [
    "Callback",
    "EpochMetrics",
    "Run",
    "RunData",
    "StorySource",
    "StoryTask",
    "draw_groups",
    "epoch_seed",
]


@dataclass(frozen=True)
class RunData:
    """What a run trains on, chooses by and is tested on."""

    train: Corpus
    valid: Corpus
    test: Corpus | None = None
    symmetries: Symmetries | None = None
    """Found in the training stories, for the schedule ``auto``."""
    held_out: tuple[Story, ...] = ()
    """The validation stories as texts, with which symmetries are confirmed."""


class StorySource:
    """Batches of training stories: shuffled, oversampled and augmented as the settings say."""

    def __init__(
        self,
        train: Corpus,
        model: StoryModel,
        config: TrainConfig,
    ) -> None:
        self.config = config
        self.entries = train.entries(config.example, model.config.memory_limit)
        self.exchange, self.exchange_anywhere = (
            Exchange(permute, model.vocab)
            for permute in (
                config.permute,
                config.permute.replace(only_if=(), only_if_until=None),
            )
        )
        self.readings = Readings(self.entries, model.vocab, config)

    def epoch(self, number: int) -> Epoch:
        often = self.readings.of_epoch(number)
        groups = draw_groups(self.entries, self.config, number, often)
        return Epoch(
            self.entries.batches(groups, self._change(number)),
            len(groups),
            epoch_seed(self.config.seed, number),
            bool(often.all()),
        )

    def _change(self, epoch: int) -> Callable[[RaggedBatch], RaggedBatch] | None:
        """How this epoch's stories are told differently, if at all."""
        permute = self.config.permute
        if not permute.groups or epoch < permute.from_epoch:
            return None
        generator = np.random.default_rng([self.config.seed, epoch, 1])
        until = permute.only_if_until
        exchange = self.exchange if until is None or epoch <= until else self.exchange_anywhere
        return lambda batch: exchange(batch, generator)


class StoryTask(ScheduledTask):
    """Errors on validation and test stories; the schedule and early stopping of the settings."""

    def __init__(self, data: RunData, config: TrainConfig, memory_limit: int | None) -> None:
        super().__init__(config)
        self.valid = data.valid.entries("story", memory_limit)
        self._test = data.test.entries("story", memory_limit) if data.test is not None else None

    def validate(self, engine: Engine, epoch: int, training: TrainingScore) -> ValidationScore:
        valid = score(engine, self.valid)
        learnt = training.errors == 0 and training.complete
        percent = {"valid_error": valid.error_percent, "train_error": training.error}
        better = self.progress.record(self.config, epoch, valid.errors, valid.loss, learnt, percent)
        return ValidationScore(valid.loss, valid.error_percent, better)

    def test(self, engine: Engine) -> dict[str, Any]:
        scores: dict[str, Any] = {}
        for name, entries in (("valid", self.valid), ("test", self._test)):
            if entries is None:
                continue
            whole = 32 if name == "test" and self.config.drop_last else None
            got = score(engine, entries, whole)
            scores[f"{name}_error"] = round(got.error_percent, 4)
            scores[f"{name}_loss"] = round(got.loss, 6)
            scores[f"{name}_questions"] = got.questions
        return scores


class Run(Trainer):
    """A network trained on stories, chosen by others, and tested on yet others."""

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
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            model = build()
        if model.keys_per_story and data.train.story_keys is None:
            raise EntNetError(
                f"{model.config.kind} needs {model.keys_per_story} candidates with every question, and "
                "stories have none: `entnet reproduce table4` trains it"
            )
        source, task = parts_of_run(model, data, config)
        super().__init__(
            directory,
            model,
            choose_engine(model, config),
            source,
            task,
            config,
            about,
            checkpoint_seconds,
        )

    def _finish(self) -> dict[str, Any]:
        if isinstance(self.task, AutoTask):
            self.about = {**self.about, **self.task.summary()}
        result = super()._finish()
        if isinstance(self.task, AutoTask):
            write_card(self.directory / "model", result)
        return result


def write_card(directory: Path, result: dict[str, Any]) -> None:
    """What a network was trained on, how well it does, and which words were permuted in its training."""
    chosen = result[result["train"]["checkpoint"]]
    card = {
        "name": directory.parent.name,
        "title": result.get("train_file") or result.get("table"),
        "task": result.get("task"),
        "seed": result["seed"],
        "epoch": result["best_epoch"],
        "updates": result["updates"],
        "validation_error": chosen["valid_error"],
        "test_error": chosen.get("test_error"),
        "symmetries": result["symmetries"],
        "parameters": result["parameters"],
    }
    write_atomically(directory / "card.json", json.dumps(card, indent=1).encode())


def parts_of_run(model: StoryModel, data: RunData, config: TrainConfig) -> tuple[Source, Task]:
    """Where batches come from, and what is measured, by the schedule of the settings."""
    limit = model.config.memory_limit
    if config.schedule != "auto":
        return StorySource(data.train, model, config), StoryTask(data, config, limit)
    augmentation = Augmentation(model)
    source = AutoSource(data.train, model, config, augmentation)
    task = AutoTask(
        data.valid,
        data.test,
        config,
        limit,
        augmentation,
        source,
        data.symmetries,
        data.held_out,
    )
    return source, task


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
    if config.sampling == "shuffle":
        order = generator.permutation(len(read))
    else:
        order = generator.integers(len(read), size=len(read))
    return entries.groups(config.batch_size, read[order], config.batch_unit)
