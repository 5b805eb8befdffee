"""Which run stands for a task: chosen on validation, never on test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from entnet.config import TrainConfig
from entnet.tasks.spec import Result

Select = Literal["best", "last"]


def validation(line: Result, select: Select = "best") -> tuple[float, float]:
    """What runs are chosen by: validation error, then validation loss, at the best or the last epoch."""
    scores = line[select]
    return scores["valid_error"], scores.get("valid_loss", 0.0)


def choose(lines: Sequence[Result], select: Select = "best") -> Result:
    """The run that does best on validation; among equals the one with the smallest seed."""
    return min(lines, key=lambda line: (*validation(line, select), line["seed"], line["variant"]))


def solved(line: Result) -> bool:
    """Whether the network that a run kept makes no error on validation."""
    return validation(line, kept(line))[0] == 0


def kept(line: Result) -> Select:
    """Which epoch's network a run kept."""
    select: Select = TrainConfig.renamed(line.get("train", {})).get("checkpoint", "best")
    return select
