"""One recipe for any stories: phases that end by what is measured, found symmetries from the second on.

    plain      a small learning rate, stories as they are: the network learns what a question is about
    held       a middle one, interchangeable words permuted: what it knows of some it learns of all
    large      a large one, if the network is still on a plateau, or from where it began to memorise
    decay      the learning rate is halved step by step

Budgets are in updates, not epochs, so that small and large files are treated alike. Before words are
permuted, the network of the first phase, which never saw the validation stories, is asked whether it finds
their permuted forms as easy: a false symmetry is harder, and is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from entnet.config import TrainConfig
from entnet.data.story import Corpus, Story
from entnet.models.base import StoryModel, encode_stories
from entnet.symmetries import Symmetries, confirmed
from entnet.training.auto_source import Augmentation, AutoSource
from entnet.training.engine import Engine
from entnet.training.evaluate import score
from entnet.training.trainer import TrainingScore, ValidationScore

Phase = Literal["plain", "held", "large", "decay"]

RATES: dict[Phase, float] = {"plain": 0.001, "held": 0.003, "large": 0.01}
BUDGETS: dict[Phase, int] = {"plain": 20_000, "held": 20_000, "large": 40_000}
"""The most updates of each phase; it ends sooner by what is measured."""
PATIENCE, SHORT_PATIENCE = 8_000, 3_000
"""Updates without a gain that end a phase; the shorter one where little is left to gain."""
LEARNT_ERROR = 0.5
"""Training error, in percent, from which on the first phase has nothing to learn."""
MEMORISED = 1.5
"""Validation loss, as a multiple of its lowest, from which on a phase only memorises."""
PLATEAU_ERROR = 5.0
"""Validation error, in percent, above which a network is still on a plateau: a larger rate may leave it."""
GAIN = 0.98
"""A loss counts as lower from this share of the lowest so far."""
SOLVED_UPDATES = 1_000
"""After so many updates without an error on validation, only the decay is left."""
HALVINGS = 6
DECAY_SHARE = 0.3
"""How long the decay is, of the updates before it; and at least SHORTEST_DECAY."""
SHORTEST_DECAY = 1_500
MOST_UPDATES = int(sum(BUDGETS.values()) * (1 + DECAY_SHARE))
LARGE_FILE = 750
"""Updates for one pass over the stories, from which on budgets grow with the file."""
MOST_HELD_OUT = 2_000
"""Validation stories with which symmetries are confirmed: enough to tell."""


@dataclass
class Progress:
    """Where a run stands in its phases."""

    phase: Phase = "plain"
    updates: int = 0
    """Of the run so far."""
    phase_began: int = 0
    gained: int = 0
    """At which update the phase last got better."""
    lowest_loss: float = float("inf")
    """On validation stories, in this phase."""
    lowest_training_loss: float = float("inf")
    """In this phase. Permuted stories are ever new, so that a lower loss on them is a gain too."""
    solved_since: int | None = None
    """The update from which on validation was without error."""
    best_epoch: int = 0
    best_errors: int = 0
    best_loss: float = 0.0
    last_error: float = 100.0
    """Validation error of the last epoch, in percent."""
    rewinds: bool = False
    """Whether the next epoch begins from the best network so far, as what came after it is memorised."""
    held_rate: float = RATES["plain"]
    """The learning rate before the decay."""
    scale: float = 1.0
    """How many times longer everything may take, as the file is so large."""

    def learning_rate(self) -> float:
        if self.phase == "decay":
            done = (self.updates - self.phase_began) / self._decay()
            return self.held_rate * 0.5 ** (1 + int(done * HALVINGS))
        return RATES[self.phase]

    def record(
        self,
        epoch: int,
        updates: int,
        training: TrainingScore,
        valid: Validation,
        permuted: bool = True,
    ) -> bool:
        """Take in an epoch of so many updates; true if its network is the best so far.

        ``permuted``: whether words of the training stories were.
        """
        self.updates += updates
        self.last_error = valid.error
        if valid.loss < GAIN * self.lowest_loss:
            self.lowest_loss, self.gained = valid.loss, self.updates
        if permuted and training.loss < GAIN * self.lowest_training_loss:
            self.lowest_training_loss, self.gained = training.loss, self.updates
        if valid.errors:
            self.solved_since = None
        elif self.solved_since is None:
            self.solved_since = self.updates
        better = self.best_epoch == 0 or (valid.errors, valid.loss) < (
            self.best_errors,
            self.best_loss,
        )
        if better:
            self.best_epoch, self.best_errors, self.best_loss = epoch, valid.errors, valid.loss
        self._move_on(training, valid)
        return better

    def _move_on(self, training: TrainingScore, valid: Validation) -> None:
        """Enter the next phase if this one has done its part."""
        self.rewinds = False
        if self.phase == "decay":
            return
        memorised = valid.loss > MEMORISED * self.lowest_loss
        if self.phase == "plain":
            if training.error <= LEARNT_ERROR or not valid.errors or memorised or self._spent():
                self._enter("held")
        elif self._solved():
            self._enter("decay")
        elif self.phase == "held" and valid.error > PLATEAU_ERROR and (memorised or self._spent()):
            self.rewinds = memorised
            self._enter("large")
        elif self._spent():
            self._enter("decay")

    def _solved(self) -> bool:
        """Whether validation has been without error for long enough, words permuted."""
        if self.solved_since is None:
            return False
        since = max(self.solved_since, self.phase_began)
        return self.updates - since >= SOLVED_UPDATES * self.scale

    def finished(self) -> bool:
        return self.phase == "decay" and self.updates - self.phase_began >= self._decay()

    def _decay(self) -> float:
        """Updates of the last phase."""
        return max(SHORTEST_DECAY * self.scale, DECAY_SHARE * self.phase_began)

    def _spent(self) -> bool:
        """Whether a phase has had its budget, or gained nothing for too long."""
        patience = PATIENCE if self.last_error > PLATEAU_ERROR else SHORT_PATIENCE
        return (
            self.updates - self.phase_began >= BUDGETS[self.phase] * self.scale
            or self.updates - max(self.gained, self.phase_began) >= patience * self.scale
        )

    def _enter(self, phase: Phase) -> None:
        if phase == "decay":
            self.held_rate = self.learning_rate()
        self.phase, self.phase_began = phase, self.updates
        self.lowest_loss = self.lowest_training_loss = float("inf")


@dataclass(frozen=True)
class Validation:
    """What validation gave after an epoch."""

    errors: int
    error: float
    """In percent."""
    loss: float


@torch.no_grad()
def losses(model: StoryModel, stories: Sequence[Story]) -> list[float]:
    """The loss of each question; of one whose answer the vocabulary lacks, the mean of the others."""
    config = model.config
    corpus = encode_stories(stories, model.vocab, config)
    entries = corpus.entries("story", config.memory_limit)
    groups = entries.groups(256)
    found = np.zeros(corpus.questions)
    model.eval()
    for group, batch in zip(groups, entries.batches(groups), strict=True):
        each = nn.functional.cross_entropy(model(batch), batch.answers, reduction="none")
        found[entries.questions_of(group)] = each.numpy()
    known = ~corpus.unknown_answers
    found[~known] = found[known].mean() if known.any() else 0.0
    return [float(loss) for loss in found]


class AutoTask:
    """The recipe as a task of the trainer: measures, moves on from phase to phase, stops."""

    def __init__(
        self,
        valid: Corpus,
        test: Corpus | None,
        config: TrainConfig,
        memory_limit: int | None,
        augmentation: Augmentation,
        source: AutoSource,
        proposed: Symmetries | None = None,
        held_out: Sequence[Story] = (),
    ) -> None:
        self.config = config
        self.augmentation = augmentation
        self.proposed = proposed
        asked = [story for story in held_out if story.questions]
        self.held_out = asked[:: -(-len(asked) // MOST_HELD_OUT) or 1]
        self.updates_per_epoch = source.updates
        self.progress = Progress(scale=max(1.0, source.updates / LARGE_FILE))
        self.valid = valid.entries("story", memory_limit)
        self._test = test.entries("story", memory_limit) if test is not None else None

    def learning_rate(self, epoch: int, done: float = 0.0) -> float:
        return self.progress.learning_rate()

    def validate(self, engine: Engine, epoch: int, training: TrainingScore) -> ValidationScore:
        got = score(engine, self.valid)
        before = self.progress.phase
        valid = Validation(got.errors, got.error_percent, got.loss)
        permuted = self.augmentation.exchange is not None
        better = self.progress.record(epoch, self.updates_per_epoch, training, valid, permuted)
        if before == "plain" and self.progress.phase != "plain":
            self._confirm()
        return ValidationScore(got.loss, got.error_percent, better, self.progress.rewinds)

    def _confirm(self) -> None:
        """Keep of the proposed symmetries what the network of now finds to be true."""
        if self.proposed is not None:
            model = self.augmentation.model
            self.augmentation.use(
                confirmed(self.proposed, self.held_out, lambda stories: losses(model, stories))
            )

    def finished(self, epoch: int) -> bool:
        return epoch >= self.config.epochs or self.progress.finished()

    def test(self, engine: Engine) -> dict[str, float | int]:
        scores: dict[str, float | int] = {}
        for name, entries in (("valid", self.valid), ("test", self._test)):
            if entries is not None:
                got = score(engine, entries)
                scores[f"{name}_error"] = round(got.error_percent, 4)
                scores[f"{name}_loss"] = round(got.loss, 6)
                scores[f"{name}_questions"] = got.questions
        return scores

    def summary(self) -> dict[str, Any]:
        """What a run's result says of the recipe: its cost, and the symmetries that were permuted."""
        found, proposed = self.augmentation.symmetries, self.proposed
        return {
            "updates": self.progress.updates,
            "symmetries": found.to_json() if found else None,
            "proposed": proposed.to_json() if proposed else None,
        }

    def state(self) -> dict[str, Any]:
        found = self.augmentation.symmetries
        return {**asdict(self.progress), "symmetries": found.to_json() if found else None}

    def load_state(self, state: dict[str, Any]) -> None:
        state = dict(state)
        found = state.pop("symmetries")
        self.progress = replace(Progress(), **state)
        self.augmentation.use(Symmetries.from_json(found) if found else None)
