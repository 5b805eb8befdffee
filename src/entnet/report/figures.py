"""The numbers of the report: for each table and task the chosen run, and all runs' mean and deviation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from entnet.experiments.preset import Preset, load_preset
from entnet.experiments.results import read_results, results_path
from entnet.experiments.selection import Select, choose
from entnet.report.published import FAILED_ABOVE, PaperColumn, paper_column, paper_columns
from entnet.tasks.spec import Result

TABLES = (
    *("auto-10k", "table2", "auto-1k", "1k", "auto-joint", "joint", "bow", "tied"),
    *("best-10k", "best-bow", "best-1k", "best-joint", "world", "world-start"),
    *("table3", "generated", "varied", "varied-joint"),
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
    planned: int
    """Runs that the table is to rest on; fewer where some are still to be done."""
    paper: float
    chosen: Result


@dataclass(frozen=True)
class TableFigures:
    """One table."""

    name: str
    title: str
    command: str
    """What runs it."""
    preset: Preset
    tasks: dict[int, TaskFigures]
    lines: list[Result]
    trials: list[Result]
    """Runs of the preset's variants that no figure of this table counts."""
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
    def is_search(self) -> bool:
        """Whether it is chosen among the runs of all variants, trials included."""
        return self.name != self.preset.name

    @property
    def errors(self) -> dict[int, list[tuple[int, float]]]:
        """Of all runs: by task, seeds and their test errors."""
        errors: dict[int, list[tuple[int, float]]] = {}
        for line in self.lines:
            by_task = (
                joint_errors(line)
                if self.preset.joint
                else {line["task"]: line["best"]["test_error"]}
            )
            for task, error in by_task.items():
                errors.setdefault(task, []).append((line["seed"], error))
        return errors

    @property
    def mean_over_seeds(self) -> float:
        """Mean over tasks of the mean over all their runs; of the tasks that have runs."""
        return fmean(task.mean for task in self.tasks.values())

    @property
    def sd_over_seeds(self) -> float | None:
        """The deviation of that mean from seed to seed; None where it cannot be known.

        From the means of the seeds where every task was run with the same ones. Else from the tasks' own
        deviations: their seeds are independent, so variances add up, and a task with one run has none.
        """
        seeds = [{seed for seed, _ in runs} for runs in self.errors.values()]
        if (
            len(self.preset.variants) == 1
            and not self.is_search
            and all(s == seeds[0] for s in seeds)
        ):
            means = self.means_by_seed.values()
            return stdev(means) if len(means) > 1 else None
        tasks = self.tasks.values()
        known = all(task.seeds > 1 for task in tasks)
        return math.sqrt(sum(task.sd**2 for task in tasks)) / len(tasks) if known else None

    @property
    def planned(self) -> int:
        """Runs that the table is to rest on."""
        each = planned_runs(self.preset)
        return max(each.values()) if self.preset.joint else sum(each.values())

    @property
    def means_by_seed(self) -> dict[int, float]:
        """Mean over tasks of each seed that every task has been run with."""
        by_task = [dict(runs) for runs in self.errors.values()]
        seeds = sorted(set.intersection(*map(set, by_task))) if self.complete else []
        return {seed: fmean(runs[seed] for runs in by_task) for seed in seeds}

    @property
    def failed_in_mean(self) -> int:
        """Tasks whose mean over all runs is a failure."""
        return sum(task.mean > FAILED_ABOVE for task in self.tasks.values())

    @property
    def runs_above(self) -> int:
        """Runs, of one task each, that failed; of a joint run, each of its tasks counts."""
        return sum(error > FAILED_ABOVE for runs in self.errors.values() for _, error in runs)

    @property
    def core_hours(self) -> float:
        """Of its runs, and of the trials by which their settings were chosen."""
        return float(sum(line["seconds"] for line in [*self.lines, *self.trials])) / 3600

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
            "mean_over_seeds": rounded(self.mean_over_seeds),
            "sd": None if self.sd_over_seeds is None else rounded(self.sd_over_seeds),
            "failed_in_mean": self.failed_in_mean,
            "runs": len(self.lines),
            "planned": self.planned,
            "runs_above_5": self.runs_above,
        }


def all_tables(results: Path) -> dict[str, TableFigures]:
    """Every table that there are results of; after it, where a preset asks for it, the same chosen among
    the runs of all variants, trials included."""
    made = {}
    for preset in map(load_preset, TABLES):
        made[preset.name] = table_figures(preset, results)
        if preset.search_title:
            made[f"{preset.name}.trials"] = table_figures(preset, results, search=True)
    return {name: table for name, table in made.items() if table.tasks}


def table_figures(preset: Preset, results: Path, search: bool = False) -> TableFigures:
    """A table from its lines of results, or from those of its trials too."""
    lines = read_results(results_path(results, preset.name))
    variants = {variant.name for variant in preset.all_variants}
    known = [line for line in lines if line["variant"] in variants]
    kept = [line for line in known if search or in_table(preset, line)]
    numbers = [int(task) for task in preset.tasks]
    paper = paper_column(*preset.paper).of(numbers)
    planned = {} if search else planned_runs(preset)
    make = _joint_tasks if preset.joint else _single_tasks
    command = f"entnet reproduce {preset.name}"
    return TableFigures(
        name=f"{preset.name}.trials" if search else preset.name,
        title=preset.search_title or "" if search else preset.title,
        command=f"{command}; {command} --trials" if search else command,
        preset=preset,
        tasks=make(kept, paper, planned),
        lines=kept,
        trials=[line for line in known if line not in kept],
        left_out=len(lines) - len(known),
        paper=paper,
        columns=[column.of(numbers) for column in paper_columns(preset.paper[0])],
    )


def in_table(preset: Preset, line: Result) -> bool:
    """Whether the table rests on this run: `entnet reproduce` would do it again."""
    for variant in preset.variants:
        if variant.name == line["variant"]:
            meant = preset.joint or line["task"] in preset.tasks_of(variant)
            return meant and line["seed"] <= variant.seeds
    return False


def planned_runs(preset: Preset) -> dict[int, int]:
    """How many runs a table is to rest on, by task; with joint training, all tasks rest on the same."""
    return {
        int(task): sum(
            variant.seeds
            for variant in preset.variants
            if preset.joint or task in preset.tasks_of(variant)
        )
        for task in preset.tasks
    }


def _single_tasks(
    lines: Sequence[Result], paper: PaperColumn, planned: dict[int, int]
) -> dict[int, TaskFigures]:
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
            planned.get(number, len(runs)),
            paper.errors[number],
            chosen,
        )
    return tasks


def _joint_tasks(
    lines: Sequence[Result], paper: PaperColumn, planned: dict[int, int]
) -> dict[int, TaskFigures]:
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
            planned.get(number, len(lines)),
            paper.errors[number],
            chosen,
        )
    return tasks


def joint_errors(line: Result, select: Select = "best") -> dict[int, float]:
    """A jointly trained network's test error on each task."""
    return {int(task): scores[select]["test_error"] for task, scores in line["tasks"].items()}


def errors_by_variant(lines: Sequence[Result]) -> dict[str, dict[int, list[float]]]:
    """Test errors of every run by variant and task."""
    means: dict[str, dict[int, list[float]]] = {}
    for line in lines:
        by_task = means.setdefault(line["variant"], {})
        errors = (
            joint_errors(line) if "tasks" in line else {line["task"]: line["best"]["test_error"]}
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
