"""One training run on the grid: fresh stories throughout, checkpoints, and errors at several lengths.

A run goes in rounds of updates. Nothing random is carried from one round to the next: each draws its
stories from the run's seed and its own number, so a run that is started again goes on exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

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
from entnet.training.checkpoint import Checkpoint
from entnet.training.engine import Engine, choose_engine
from entnet.training.result import result_line

ROUND = 500
"""Updates in a round."""
AVERAGE_EVERY = 10
"""Updates between two additions to the average of the weights."""
VALIDATION, TEST = 1, 2
"""Streams of questions that no run ever trains on, told apart by these numbers."""

Tell = Callable[[str], None]
RunKey = tuple[str, str, int, float, int]


@dataclass(frozen=True)
class GridSpec(Config):
    """A run: what is trained, on which stories, for how long, and where it is tested."""

    table: str
    kind: str
    """Which network: entnet, lstm or memn2n."""
    length: int
    """T: sentences of a training story."""
    rate: float
    seed: int
    updates: int
    halve_every: int = 10_000
    """Updates between halvings of the rate."""
    shortest: int | None = None
    """With this, every batch has a length of its own, drawn between this and T."""
    stories: int = 32
    """Stories in a batch."""
    clip: float = 40.0
    """Largest norm of the gradient of a batch's mean loss."""
    ask_from: int | None = None
    """In training, ask after every sentence from this one on; at the end only when not given."""
    ask_agents: Asked = "all"
    """In training, ask for every agent at each of those places, or for one drawn at random."""
    average: float = 0.0
    """Weight of the past in the running average of the weights, taken every ten updates; 0: none."""
    give_up: float = 1.0
    """End at a quarter of the updates if the training error of the last round is above this."""
    test_lengths: tuple[int, ...] = ()
    """Lengths of the stories that the network is tested on."""
    test_stories: int = 5_000
    """Stories of each length to test on; each asks for both agents."""
    model: dict[str, Any] = field(default_factory=dict)
    """Options of the network."""

    def check(self) -> None:
        for name in ("length", "updates", "halve_every", "stories", "test_stories"):
            value = getattr(self, name)
            self.require(value >= 1, f"{name} is {value}, but must be at least 1")
        self.require(self.rate > 0, f"rate is {self.rate}, but must be above 0")
        self.require(0 <= self.average < 1, f"average is {self.average}, but must be in [0, 1)")
        self.require(
            self.updates % ROUND == 0,
            f"updates is {self.updates}, but must be a multiple of {ROUND}",
        )

    @property
    def key(self) -> RunKey:
        return (self.table, self.kind, self.length, self.rate, self.seed)

    @property
    def name(self) -> str:
        return f"{self.table}-{self.kind}-T{self.length}-rate{self.rate:g}-seed{self.seed}"


class GridRun:
    """A run under way."""

    def __init__(self, spec: GridSpec, world: GridWorld | None = None) -> None:
        self.spec = spec
        self.world = world or GridWorld()
        torch.set_num_threads(1)
        torch.manual_seed(spec.seed)
        self.train_config = TrainConfig(seed=spec.seed, rate=spec.rate, clip=spec.clip, loss="mean")
        network = model_class(spec.kind)
        vocab = self.world.vocab
        config = network.config_class.from_dict(
            {
                "memory_limit": None,
                **spec.model,
                "vocabulary": len(vocab),
                "sentence_length": SENTENCE_LENGTH,
            }
        )
        self.model: StoryModel = network(config, vocab)
        self.engine: Engine = choose_engine(self.model, self.train_config)
        self.parameters = [p.detach() for p in self.model.parameters()]
        self.average = [p.clone() for p in self.parameters]
        self.rounds = 0
        self.seconds = 0.0
        """Of processor time."""
        self.curve: list[list[float]] = []
        """Updates done, and the training error around them."""

    def train(self, directory: Path, tell: Tell = print, save_every: float = 20.0) -> None:
        """Train to the end, from wherever the run stands."""
        checkpoint = directory / f"{self.spec.name}.safetensors"
        if checkpoint.is_file():
            self._load(checkpoint)
        saved = time.monotonic()
        while not self.finished:
            error = self._round()
            if self.rounds % 10 == 0 or self.finished:
                self.curve.append([self.rounds * ROUND, round(error, 5)])
                tell(f"{self.spec.name}: {self.rounds * ROUND} updates, training error {error:.4f}")
            if time.monotonic() - saved > save_every:
                self._save(checkpoint)
                saved = time.monotonic()
        self._save(checkpoint)

    @property
    def finished(self) -> bool:
        done = self.rounds * ROUND
        hopeless = (
            done >= self.spec.updates / 4
            and bool(self.curve)
            and self.curve[-1][1] > self.spec.give_up
        )
        return done >= self.spec.updates or hopeless

    def _round(self) -> float:
        """A round of updates; returns the share of its questions that were answered wrong."""
        spec, started = self.spec, time.process_time()
        rate = spec.rate * 0.5 ** (self.rounds * ROUND // spec.halve_every)
        torch.manual_seed(spec.seed * 1_000_003 + self.rounds)
        stream = grid_stream(
            self.world,
            [spec.seed, self.rounds],
            spec.stories,
            (spec.shortest or spec.length, spec.length),
            Asking(spec.ask_from, spec.ask_agents),
            chunk=ROUND // 4,
        )
        errors = questions = 0
        for number, batch in enumerate(islice(stream, ROUND), start=1):
            seen = self.engine.step(batch, rate)
            errors += seen.errors
            questions += seen.questions
            if spec.average and number % AVERAGE_EVERY == 0:
                torch._foreach_lerp_(self.average, self.parameters, 1 - spec.average)
        self.rounds += 1
        self.seconds += time.process_time() - started
        return errors / questions

    def result(self) -> dict[str, Any]:
        """The run's line: the better of last and averaged weights on validation, and its test errors.

        The network is left with the weights that were chosen.
        """
        choices = {"last": [p.clone() for p in self.parameters]}
        if self.spec.average:
            choices["average"] = self.average
        valid: dict[str, dict[str, float]] = {}
        for name, weights in choices.items():
            self._take(weights)
            valid[name] = self.errors(VALIDATION)
        chosen = min(valid, key=lambda name: sum(valid[name].values()))
        self._take(choices[chosen])
        about = {"table": self.spec.table, "length": self.spec.length, "rate": self.spec.rate}
        return {
            **result_line(about, self.model, self.train_config, self.engine.name),
            "spec": self.spec.to_dict(),
            "updates": self.rounds * ROUND,
            "chosen": chosen,
            "valid": valid[chosen],
            "test": self.errors(TEST),
            "questions": 2 * self.spec.test_stories,
            "curve": self.curve,
            "processor_seconds": round(self.seconds, 1),
        }

    def errors(self, stream: int) -> dict[str, float]:
        """The share of questions answered wrong, by the length of the story."""
        lengths = self.spec.test_lengths or (self.spec.length,)
        return {str(length): self._error(stream, length) for length in lengths}

    def _error(self, stream: int, length: int) -> float:
        rng = np.random.default_rng([stream, length, 7])
        left, wrong, asked = self.spec.test_stories, 0, 0
        while left:
            part = min(left, max(1, 20_000 // length))
            batch = grid_batch(self.world, rng, part, length)
            answers, _ = self.engine.predict(batch)
            wrong += int((answers != batch.answers).sum())
            asked += batch.questions
            left -= part
        return wrong / asked

    def _take(self, weights: list[Tensor]) -> None:
        for parameter, value in zip(self.parameters, weights, strict=True):
            parameter.copy_(value)

    def _save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        Checkpoint(
            self.rounds,
            {"curve": self.curve, "spec": self.spec.to_dict()},
            self.seconds,
            dict(self.model.state_dict()),
            self.engine.state(),
            {str(i): tensor for i, tensor in enumerate(self.average)},
        ).write(path)

    def _load(self, path: Path) -> None:
        """Go on where a checkpoint stands; one of other settings under the same name is passed over."""
        checkpoint = Checkpoint.read(path)
        if GridSpec.from_dict(checkpoint.progress["spec"]) != self.spec:
            return
        self.model.load_state_dict(checkpoint.weights)
        self.engine.load_state(checkpoint.optimiser)
        for i, tensor in enumerate(self.average):
            tensor.copy_(checkpoint.best[str(i)])
        self.rounds = checkpoint.epoch
        self.seconds = checkpoint.seconds
        self.curve = checkpoint.progress["curve"]
