"""The learning rate, epoch by epoch, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from entnet.config import TrainConfig


def halvings(config: TrainConfig, epoch: int) -> int:
    """How often the rate has been halved in this epoch, counted from 1.

    The authors halve at the start of epochs 25, 50, …, so that the full rate lasts 24 epochs.
    """
    hold = config.halve_every if config.hold is None else config.hold
    passed = epoch if config.halving_rule == "authors" else epoch - 1
    return 0 if passed < hold else 1 + (passed - hold) // config.halve_every


@dataclass
class Progress:
    """What a run remembers of its validation results."""

    best_epoch: int = 0
    best_errors: int = 0
    best_loss: float = 0.0
    zero_epochs: int = 0
    """Epochs in a row, up to now, with validation error 0."""
    learnt_epochs: int = 0
    """Epochs in a row, up to now, without an error in training."""
    given_up: bool = False
    plateau_halvings: int = 0
    waited_since: int = 0
    """The epoch from which a plateau is measured."""

    def record(
        self,
        config: TrainConfig,
        epoch: int,
        errors: int,
        loss: float,
        learnt: bool = False,
        percent: Mapping[str, float] | None = None,
    ) -> bool:
        """Take in an epoch's validation result, and whether all of training went without an error.

        ``percent`` has the errors in percent, of "validation" and "training", by which a run may be given
        up. True if it is the best so far.
        """
        better = self.best_epoch == 0 or (errors, loss) < (self.best_errors, self.best_loss)
        if better:
            self.best_epoch, self.best_errors, self.best_loss = epoch, errors, loss
            self.waited_since = epoch
        elif epoch - self.waited_since >= config.patience:
            self.plateau_halvings += 1
            self.waited_since = epoch
        self.zero_epochs = self.zero_epochs + 1 if errors == 0 else 0
        self.learnt_epochs = self.learnt_epochs + 1 if learnt else 0
        bounds = config.give_up_bounds()
        for kind, error in (percent or {}).items():
            self.given_up |= error > bounds.get((epoch, kind), 100.0)
        return better

    def rate(self, config: TrainConfig, epoch: int) -> float:
        """The learning rate of an epoch, counted from 1."""
        if epoch <= config.warmup:
            return config.warmup_rate
        if config.schedule == "constant":
            return config.rate
        if config.schedule == "plateau":
            return config.rate * 0.5**self.plateau_halvings
        return config.rate * 0.5 ** halvings(config, epoch - config.warmup)

    def finished(self, config: TrainConfig, epoch: int) -> bool:
        """No epoch after this one: all done, errors 0 for long enough, no gain for too long, given up."""
        solved = 0 < config.stop_after_zero <= self.zero_epochs
        learnt = 0 < config.stop_after_learnt <= self.learnt_epochs
        stuck = 0 < config.stop_after_best <= epoch - self.best_epoch
        return epoch >= config.epochs or solved or learnt or stuck or self.given_up

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
