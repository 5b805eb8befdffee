"""The paper's figures, and those of later work."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from importlib import resources
from math import nan
from statistics import fmean
from typing import Any

from entnet.errors import EntNetError

FAILED_ABOVE = 5.0
"""A task with more test error than this, in percent, counts as failed."""


@dataclass(frozen=True)
class PaperColumn:
    """A method's test errors, in percent, as the paper gives them."""

    name: str
    errors: dict[int, float]
    mean: float
    failed: int
    deviations: dict[int, float] | None = None
    mean_deviation: float | None = None
    failed_deviation: float | None = None

    @property
    def mean_of_tasks(self) -> float:
        """The mean of the tasks' errors, which the paper gives to a tenth."""
        return round(fmean(self.errors.values()), 2)

    def of(self, tasks: Collection[int]) -> PaperColumn:
        """The same for some of the tasks, so that means and failures count those alone."""
        if set(tasks) == set(self.errors):
            return self
        errors = {task: self.errors[task] for task in tasks}
        failed = sum(error > FAILED_ABOVE for error in errors.values())
        return PaperColumn(self.name, errors, round(fmean(errors.values()), 2), failed)


def paper_columns(table: str) -> list[PaperColumn]:
    """The columns of one of the paper's tables, in its order, or of the rivals' own papers."""
    tables = {**_read("paper.toml"), **_read("rivals.toml")}
    if table not in tables:
        raise EntNetError(f"the paper has no table {table!r}; it has {', '.join(tables)}")
    return [_column(name, values) for name, values in tables[table].items()]


def paper_column(table: str, name: str) -> PaperColumn:
    """One column of one of the paper's tables."""
    columns = {column.name: column for column in paper_columns(table)}
    if name not in columns:
        raise EntNetError(
            f"the paper's {table} has no column {name!r}; it has {', '.join(columns)}"
        )
    return columns[name]


def later_means(preset: str) -> dict[str, float]:
    """Mean errors of later systems on a preset's data, as published."""
    found: dict[str, float] = _read("later.toml").get(preset, {})
    return found


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(
        (resources.files("entnet.report") / "literature" / name).read_text("utf-8")
    )


def _column(name: str, values: dict[str, Any]) -> PaperColumn:
    """Where only the mean was published, a task's figure is not a number."""
    errors = dict(enumerate(values.get("tasks", [nan] * 20), start=1))
    return PaperColumn(
        name,
        errors,
        values.get("mean", round(fmean(errors.values()), 1)),
        values.get("failed", sum(error > FAILED_ABOVE for error in errors.values())),
        dict(enumerate(values["sd"], start=1)) if "sd" in values else None,
        values.get("mean_sd"),
        values.get("failed_sd"),
    )
