"""The numbers of the report: for each table and task the chosen run, and all runs' mean and deviation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from entnet.experiments.choice import Select, choose
from entnet.experiments.paper import FAILED_ABOVE, PaperColumn, paper_column, paper_columns
from entnet.experiments.preset import Preset, load_preset
from entnet.experiments.results import read_results, results_path
from entnet.experiments.running import Line

TABLES = (
    *("table2", "bow", "tied", "1k", "joint", "best-10k", "best-bow", "best-1k", "best-joint"),
    *("table3", "generated"),
)
"""The tables in the order of the report."""


@dataclass(frozen=True)
class TaskFigures:
    """One task: test errors in percent."""

    error: float
    """Of the run that does best on validation, at its best epoch on validation."""
    last_error: float
    """The same with *last-epoch* validation, at the last epoch, as the authors choose."""
    mean: float
    sd: float
    """Over all runs at their best epochs; 0 for a single run."""
    seeds: int
    paper: float
    chosen: Line


@dataclass(frozen=True)
class TableFigures:
    """One table."""

    preset: Preset
    tasks: dict[int, TaskFigures]
    lines: list[Line]
    left_out: int
    """Lines of variants that the preset does not have any more."""
    paper: PaperColumn
    columns: list[PaperColumn]

    @property
    def complete(self) -> bool:
        return set(self.tasks) == set(self.preset.tasks)

    @property
    def mean_error(self) -> float | None:
        """Mean of the chosen runs' errors; None as long as a task is missing."""
        return fmean(task.error for task in self.tasks.values()) if self.complete else None

    @property
    def last_mean_error(self) -> float | None:
        return fmean(task.last_error for task in self.tasks.values()) if self.complete else None

    @property
    def failed(self) -> int:
        return sum(task.error > FAILED_ABOVE for task in self.tasks.values())

    @property
    def worse_than_paper(self) -> list[int]:
        """Tasks with more error than the paper reports."""
        return [number for number, task in self.tasks.items() if task.error > task.paper + 1e-9]

    @property
    def core_hours(self) -> float:
        return float(sum(line["seconds"] for line in self.lines)) / 3600

    @property
    def chosen_variant(self) -> list[Line]:
        """With joint training: all seeds of the variant that the chosen run is of."""
        variant = choose(self.lines)["variant"]
        return [line for line in self.lines if line["variant"] == variant]

    def seed_means(self) -> list[float]:
        """With joint training: the mean error over the tasks of each seed of the chosen variant."""
        return [fmean(joint_errors(line).values()) for line in self.chosen_variant]

    def seed_failures(self) -> list[int]:
        """With joint training: how many tasks each of these seeds fails."""
        return [
            sum(error > FAILED_ABOVE for error in joint_errors(line).values())
            for line in self.chosen_variant
        ]

    def to_dict(self) -> dict[str, Any]:
        """As `entnet report --json` gives it."""
        mean_error = self.mean_error
        return {
            "tasks": {
                str(number): {
                    "error": rounded(task.error),
                    "mean": rounded(task.mean),
                    "sd": rounded(task.sd),
                    "seeds": task.seeds,
                    "paper": float(task.paper),
                }
                for number, task in self.tasks.items()
            },
            "mean_error": None if mean_error is None else rounded(mean_error),
            "failed": self.failed,
        }


def all_tables(results: Path) -> dict[str, TableFigures]:
    """Every table that there are results of."""
    made = {name: table_figures(load_preset(name), results) for name in TABLES}
    return {name: table for name, table in made.items() if table.tasks}


def table_figures(preset: Preset, results: Path) -> TableFigures:
    """A table from its lines of results."""
    lines = read_results(results_path(results, preset.name))
    variants = {variant.name for variant in preset.variants}
    kept = [line for line in lines if line["variant"] in variants]
    paper = paper_column(*preset.paper).of(preset.tasks)
    tasks = _joint_tasks(kept, paper) if preset.joint else _single_tasks(kept, paper)
    columns = [column.of(preset.tasks) for column in paper_columns(preset.paper[0])]
    return TableFigures(preset, tasks, kept, len(lines) - len(kept), paper, columns)


def _single_tasks(lines: Sequence[Line], paper: PaperColumn) -> dict[int, TaskFigures]:
    tasks = {}
    for number in sorted({line["task"] for line in lines}):
        runs = [line for line in lines if line["task"] == number]
        chosen = choose(runs)
        errors = [run["best"]["test_error"] for run in runs]
        tasks[number] = TaskFigures(
            chosen["best"]["test_error"],
            choose(runs, "last")["last"]["test_error"],
            fmean(errors),
            deviation(errors),
            len(runs),
            paper.errors[number],
            chosen,
        )
    return tasks


def _joint_tasks(lines: Sequence[Line], paper: PaperColumn) -> dict[int, TaskFigures]:
    """One seed is chosen for all tasks together."""
    if not lines:
        return {}
    chosen, last = choose(lines), choose(lines, "last")
    tasks = {}
    for number in sorted(joint_errors(chosen)):
        errors = [joint_errors(line)[number] for line in lines]
        tasks[number] = TaskFigures(
            joint_errors(chosen)[number],
            joint_errors(last, "last")[number],
            fmean(errors),
            deviation(errors),
            len(lines),
            paper.errors[number],
            chosen,
        )
    return tasks


def joint_errors(line: Line, select: Select = "best") -> dict[int, float]:
    """A jointly trained network's test error on each task."""
    return {int(task): scores[select]["test_error"] for task, scores in line["tasks"].items()}


def variant_means(table: TableFigures) -> dict[str, dict[int, list[float]]]:
    """Test errors of every run by variant and task."""
    means: dict[str, dict[int, list[float]]] = {}
    for line in table.lines:
        by_task = means.setdefault(line["variant"], {})
        errors = (
            joint_errors(line) if table.preset.joint else {line["task"]: line["best"]["test_error"]}
        )
        for task, error in errors.items():
            by_task.setdefault(task, []).append(error)
    return means


def deviation(values: Iterable[float]) -> float:
    """Sample standard deviation; 0 where there is one value only."""
    values = list(values)
    return stdev(values) if len(values) > 1 else 0.0


def rounded(value: float) -> float:
    return round(float(value), 4)
