"""Metrics for TensorBoard, and several watchers on one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from entnet.errors import EntNetError
from entnet.training.loop import EpochMetrics, Watcher


class Watchers(Watcher):
    """Passes everything on to several watchers."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self.watchers = watchers

    def begin(self, epochs: int, done: int) -> None:
        for watcher in self.watchers:
            watcher.begin(epochs, done)

    def batch(self, share: float) -> None:
        for watcher in self.watchers:
            watcher.batch(share)

    def epoch(self, metrics: EpochMetrics) -> None:
        for watcher in self.watchers:
            watcher.epoch(metrics)

    def end(self) -> None:
        for watcher in self.watchers:
            watcher.end()


class TensorBoard(Watcher):
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
