"""The world model task (Tables 1a and 1b): agents move on a grid, and the network is asked where they are.

Stories are fresh throughout, so an epoch is a number of updates, and the training error is an error on
stories never seen. Nothing random is carried from one epoch to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from entnet.config import Config, TrainConfig
from entnet.data.gridworld import (
    SENTENCE_LENGTH,
    Asked,
    Asking,
    GridWorld,
    grid_batch,
    grid_stream,
)
from entnet.models import StoryModel, model_class
from entnet.tasks.spec import RunSpec
from entnet.training.engine import Engine, choose_engine
from entnet.training.schedule import ScheduledTask
from entnet.training.trainer import Callback, Epoch, Trainer, TrainingScore, ValidationScore

STREAMS = {"valid": 1, "test": 2}
"""Streams of questions that no run ever trains on, told apart by these numbers."""


@dataclass(frozen=True)
class GridOptions(Config):
    """Which stories a run trains on, and where it is tested."""

    length: int = 20
    """T: sentences per training story."""
    shortest: int | None = None
    """With this, every batch has a length of its own, drawn between this and T."""
    ask_from: int | None = None
    """In training, ask after every sentence from this one on; at the end only when not given."""
    ask_agents: Asked = "all"
    """In training, ask for every agent at each of those places, or for one drawn at random."""
    same_ends_from: int | None = None
    """Epoch from which a training story comes with the shortest that ends alike, for ``end_penalty``."""
    updates_per_epoch: int = 500
    test_lengths: tuple[int, ...] = ()
    """Lengths of the stories that the network is tested on; T when not given."""
    test_stories: int = 5_000
    """Stories of each length to test on; each asks for all agents."""

    def check(self) -> None:
        self.at_least(1, "length", "updates_per_epoch", "test_stories")


class GridSource:
    """Fresh stories for every update."""

    def __init__(self, world: GridWorld, options: GridOptions, config: TrainConfig) -> None:
        self.world = world
        self.options = options
        self.config = config

    def epoch(self, number: int) -> Epoch:
        options, seed, passed = self.options, self.config.seed, number - 1
        same_ends = options.same_ends_from is not None and number >= options.same_ends_from
        stream = grid_stream(
            self.world,
            [seed, passed],
            self.config.batch_size,
            (options.shortest or options.length, options.length),
            Asking(options.ask_from, options.ask_agents, same_ends),
            chunk=max(options.updates_per_epoch // 4, 1),
        )
        count = options.updates_per_epoch
        return Epoch(islice(stream, count), count, seed * 1_000_003 + passed, complete=False)


class GridTask(ScheduledTask):
    """Errors at several lengths. The last network is kept, or the average of its weights."""

    def __init__(self, world: GridWorld, options: GridOptions, config: TrainConfig) -> None:
        super().__init__(config)
        self.world = world
        self.options = options

    def validate(self, engine: Engine, epoch: int, training: TrainingScore) -> ValidationScore:
        """Fresh stories were asked before each update: their error is one of validation already."""
        percent = {"valid_error": training.error, "train_error": training.error}
        self.progress.record(self.config, epoch, training.errors, training.loss, percent=percent)
        self.progress.best_epoch = epoch
        return ValidationScore(training.loss, training.error, better=True)

    def test(self, engine: Engine) -> dict[str, Any]:
        lengths = self.options.test_lengths or (self.options.length,)
        cells: dict[str, dict[str, float]] = {str(length): {} for length in lengths}
        scores: dict[str, Any] = {}
        for name, stream in STREAMS.items():
            wrong = asked = 0
            for length in lengths:
                errors, questions = self._errors(engine, stream, length)
                cells[str(length)][f"{name}_error"] = round(100 * errors / questions, 6)
                wrong, asked = wrong + errors, asked + questions
            scores |= {f"{name}_error": round(100 * wrong / asked, 6), f"{name}_questions": asked}
        return {**scores, "cells": cells}

    def _errors(self, engine: Engine, stream: int, length: int) -> tuple[int, int]:
        """Questions on stories of a length that were answered wrong, and all of them."""
        rng = np.random.default_rng([stream, length, 7])
        left, wrong, asked = self.options.test_stories, 0, 0
        while left:
            part = min(left, max(1, 20_000 // length))
            batch = grid_batch(self.world, rng, part, length)
            answers, _ = engine.predict(batch)
            wrong += int((answers != batch.answers).sum())
            asked += batch.questions
            left -= part
        return wrong, asked


def grid_trainer(
    directory: Path | str,
    kind: str,
    model_options: dict[str, Any],
    options: GridOptions,
    config: TrainConfig,
    about: dict[str, Any] | None = None,
    world: GridWorld | None = None,
    checkpoint_seconds: float = 10.0,
) -> Trainer:
    """A run on the grid, ready to start."""
    world = world or GridWorld()
    network = model_class(kind)
    size = {"vocabulary": len(world.vocab), "sentence_length": SENTENCE_LENGTH}
    model_config = network.config_class.from_dict({"memory_limit": None, **model_options, **size})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model: StoryModel = network(model_config, world.vocab)
    return Trainer(
        directory,
        model,
        choose_engine(model, config),
        GridSource(world, options, config),
        GridTask(world, options, config),
        config,
        about,
        checkpoint_seconds,
    )


def run(spec: RunSpec, callback: Callback | None) -> dict[str, Any]:
    config = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
    options = GridOptions.from_dict({**spec.source, "length": spec.task})
    about = {**spec.about(), "source": options.to_dict()}
    trainer = grid_trainer(
        spec.directory,
        spec.kind,
        spec.model,
        options,
        config,
        about,
        checkpoint_seconds=spec.checkpoint_seconds,
    )
    return trainer.train(callback)


def settings(kind: str) -> list[type[Config]]:
    return [model_class(kind).config_class, TrainConfig, GridOptions]
