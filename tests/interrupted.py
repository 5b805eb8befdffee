"""Runs that end in the middle of an epoch, as a kill would end them."""

from __future__ import annotations

import pytest

from entnet.training.trainer import Callback, Trainer


class InEpoch(Callback):
    """Raises once an epoch has made its first update."""

    def __init__(self, number: int) -> None:
        self.now, self.number = 0, number

    def begin(self, epochs: int, done: int) -> None:
        self.now = done + 1

    def batch(self, share: float) -> None:
        if self.now == self.number:
            raise KeyboardInterrupt
        if share == 1:
            self.now += 1


def interrupt(trainer: Trainer, epoch: int) -> None:
    """Train up to the middle of an epoch."""
    with pytest.raises(KeyboardInterrupt):
        trainer.train(InEpoch(epoch))
