"""Metrics for TensorBoard, and several callbacks on one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from entnet.errors import EntNetError
from entnet.training.loop import Callback, EpochMetrics


class Callbacks(Callback):
    """Passes everything on to several callbacks."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.callbacks = callbacks

    def begin(self, epochs: int, done: int) -> None:
        for callback in self.callbacks:
            callback.begin(epochs, done)

    def batch(self, share: float) -> None:
        for callback in self.callbacks:
            callback.batch(share)

    def epoch(self, metrics: EpochMetrics) -> None:
        for callback in self.callbacks:
            callback.epoch(metrics)

    def end(self) -> None:
        for callback in self.callbacks:
            callback.end()


class TensorBoard(Callback):
    """Writes event files into the run's directory."""

    def __init__(self, directory: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise EntNetError(
                "TensorBoard is not installed: pip install 'entnet[tensorboard]'"
            ) from error
        self.writer = SummaryWriter(str(directory / "tensorboard"))

    def epoch(self, metrics: EpochMetrics) -> None:
        for name, value in metrics.__dict__.items():
            if name != "epoch":
                self.writer.add_scalar(name, value, metrics.epoch)

    def end(self) -> None:
        self.writer.close()
