"""The learning rate, epoch by epoch, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from entnet.config import ConfigError, TrainConfig


def halvings(config: TrainConfig, epoch: int) -> int:
    """How often the rate has been halved in this epoch, counted from 1.

    The authors halve at the start of epochs 25, 50, …, so that the full rate lasts 24 epochs.
    """
    hold = config.halve_every if config.hold_epochs is None else config.hold_epochs
    passed = epoch if config.halving_rule == "authors" else epoch - 1
    return 0 if passed < hold else 1 + (passed - hold) // config.halve_every


@dataclass
class Progress:
    """What a run remembers of its validation results."""

    best_epoch: int = 0
    best_errors: float = 0
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
        errors: float,
        loss: float,
        learnt: bool = False,
        percent: Mapping[str, float] | None = None,
    ) -> bool:
        """Take in an epoch's validation result, and whether all of training went without an error.

        ``percent`` has the errors in percent, "valid_error" and "train_error", by which a run may be
        pruned. True if it is the best so far.
        """
        better = self.best_epoch == 0 or (errors, loss) < (self.best_errors, self.best_loss)
        if better:
            self.best_epoch, self.best_errors, self.best_loss = epoch, errors, loss
            self.waited_since = epoch
        elif epoch - self.waited_since >= config.lr_patience:
            self.plateau_halvings += 1
            self.waited_since = epoch
        self.zero_epochs = self.zero_epochs + 1 if errors == 0 else 0
        self.learnt_epochs = self.learnt_epochs + 1 if learnt else 0
        for rule in config.prune:
            if rule.epoch == epoch:
                if rule.metric not in (percent or {}):
                    raise ConfigError(f"prune: this task does not measure {rule.metric}")
                self.given_up |= (percent or {})[rule.metric] > rule.above
        return better

    def rate(self, config: TrainConfig, epoch: int, done: float = 0.0) -> float:
        """The learning rate in an epoch, counted from 1, of which this fraction is done."""
        if epoch <= config.warmup_epochs:
            return config.warmup_learning_rate
        if config.schedule == "constant":
            return config.learning_rate
        if config.schedule == "exponential":
            return config.learning_rate * config.decay ** (epoch - 1 - config.warmup_epochs)
        if config.schedule == "linear":
            return config.learning_rate * (1 - (epoch - 1 + done) / config.epochs)
        if config.schedule == "plateau":
            return config.learning_rate * 0.5**self.plateau_halvings
        return config.learning_rate * 0.5 ** halvings(config, epoch - config.warmup_epochs)

    def finished(self, config: TrainConfig, epoch: int) -> bool:
        """No epoch after this one: all done, errors 0 for long enough, no gain for too long, given up."""
        solved = 0 < config.stop_after_zero <= self.zero_epochs
        learnt = 0 < config.stop_after_learnt <= self.learnt_epochs
        stuck = 0 < config.early_stopping <= epoch - self.best_epoch
        return epoch >= config.epochs or solved or learnt or stuck or self.given_up

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class ScheduledTask:
    """Learning rate, early stopping and what a run remembers, as the settings say.

    Tasks of the trainer add what is measured: ``validate`` and ``test``.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.progress = Progress()

    def learning_rate(self, epoch: int, done: float) -> float:
        return self.progress.rate(self.config, epoch, done)

    def finished(self, epoch: int) -> bool:
        return self.progress.finished(self.config, epoch)

    def state(self) -> dict[str, Any]:
        return self.progress.to_dict()

    def load_state(self, state: dict[str, Any]) -> None:
        self.progress = Progress(**state)
