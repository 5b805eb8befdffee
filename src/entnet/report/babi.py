"""Pages of the bAbI tables: one row per task, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from entnet.data.babi import TASK_NAMES
from entnet.experiments.selection import solved
from entnet.report.charts import curve_chart, error_chart, save_chart
from entnet.report.figures import TableFigures, TaskFigures, deviation, errors_by_variant
from entnet.report.markdown import Page, emphasised, markdown_table, number, spread
from entnet.report.published import FAILED_ABOVE
from entnet.tasks.spec import Result


def babi_page(table: TableFigures) -> Page:
    """A table's page: how to run it, its figures, its charts, and every run."""
    charts: dict[str, Callable[[Path], None]] = {
        f"{table.name}-errors.svg": partial(save_chart, error_chart, table),
        f"{table.name}-curves.png": partial(save_chart, curve_chart, table),
    }
    # A search is made among the runs of its table, which has the page of them.
    runs = "" if table.is_search else _runs_page(table)
    return Page(table.name, table.title, _body(table), runs, charts)


def _body(table: TableFigures) -> str:
    """How to run a table, its figures, and remarks on them."""
    parts = [f"`{table.command}`\n", task_table(table)]
    exact = table.paper.mean_of_tasks
    if exact != table.paper.mean:
        parts.append(
            f"The paper rounds its mean to one digit; the mean of its figures is {exact:.2f}.\n"
        )
    if len(table.preset.variants) == 1 and not table.is_search:
        parts.append(_every_seed(table))
    generated = sorted({line["task"] for line in table.lines if line["train_data"] == "generated"})
    if generated:
        parts.append(f"Trained on generated stories: {_names(generated)}.\n")
    if table.worse_than_paper:
        parts.append(f"Behind the paper's figure: {_names(table.worse_than_paper)}.\n")
    if table.is_search:
        parts.append(
            f"The runs are those of [{table.preset.name}](runs/{table.preset.name}.md), trials included.\n"
        )
    return "\n".join(parts)


def _runs_page(table: TableFigures) -> str:
    """Mean ± deviation of each variant, then every run."""
    parts = []
    if len({line["variant"] for line in table.lines}) > 1:
        parts += ["## Variants\n", variant_table(table.tasks, table.lines)]
    if table.trials:
        parts += [
            "## Trials\n",
            f"{_count(table.trials, 'run')}, which the table does not count:\n",
        ]
        parts.append(variant_table(sorted(table.paper.errors), table.trials))
    if table.left_out:
        parts.append(
            f"{table.left_out} runs of variants that the preset no longer has are left out.\n"
        )
    parts += ["## Every run\n", "Errors in percent; *trial*: not counted by the table.\n"]
    parts.append(_run_table([*table.lines, *table.trials], table.trials))
    return "\n".join(parts)


def _run_table(lines: Sequence[Result], trials: Sequence[Result]) -> str:
    head = ["task", "variant", "seed", "epochs", "best epoch"]
    head += ["validation", "test", "test, last epoch", "minutes", ""]
    rows = [
        [
            "all" if line["task"] == 0 else str(line["task"]),
            line["variant"],
            str(line["seed"]),
            str(line["epochs"]),
            str(line["best_epoch"]),
            number(line["best"]["valid_error"]),
            number(line["best"]["test_error"]),
            number(line["last"]["test_error"]),
            number(line["seconds"] / 60),
            "trial" if line in trials else "",
        ]
        for line in sorted(lines, key=lambda line: (line["task"], line["variant"], line["seed"]))
    ]
    return markdown_table(head, rows, left=2)


def _count(lines: Sequence[Result], what: str) -> str:
    return f"{len(lines)} {what}{'' if len(lines) == 1 else 's'}"


def summary_table(tables: Iterable[TableFigures]) -> str:
    """One row per table."""
    rows = [
        [
            f"[`{table.name}`]({table.name}.md)",
            table.title,
            mean_over_seeds(table),
            best_mean(table),
            f"{table.paper.mean:g}",
            str(table.failed),
            str(table.paper.failed),
            runs_of(table),
            str(len(table.trials)),
            f"{table.core_hours:.1f}",
        ]
        for table in tables
    ]
    head = ["table", "what", "mean ± sd", "best", "paper", "failed", "paper"]
    head += ["runs", "trials", "core-hours"]
    return markdown_table(head, rows, left=2)


def mean_over_seeds(table: TableFigures) -> str:
    """The mean error over all tasks and seeds ± its deviation from seed to seed."""
    if not table.complete:
        return f"– ({len(table.tasks)} of {len(table.preset.tasks)} tasks)"
    return spread(table.mean_over_seeds, table.sd_over_seeds, 2)


def best_mean(table: TableFigures) -> str:
    """The mean error of the runs that validation chose."""
    mean = table.mean_error
    return "–" if mean is None else emphasised(mean, table.paper.mean, 2)


def task_table(table: TableFigures) -> str:
    """One row per task, ours and all of the paper's columns."""
    own = table.paper.name
    others = [column for column in table.columns if column.name != own]
    head = ["task", "ours", "paper: " + own, "last epoch", "mean ± sd", "runs", "chosen"]
    head += [column.name for column in others]
    rows = [
        [
            f"{task} {TASK_NAMES[task]}",
            emphasised(got.error, got.paper),
            number(got.paper),
            number(got.last_error),
            spread(got.mean, got.sd if got.seeds > 1 else None),
            _runs(table, got),
            f"{got.chosen['variant']} {got.chosen['seed']}",
            *(number(column.errors[task]) for column in others),
        ]
        for task, got in table.tasks.items()
    ]
    mean, last = table.mean_error, table.last_mean_error
    rows.append(
        [
            "mean",
            "–" if mean is None else emphasised(mean, table.paper.mean, 2),
            f"{table.paper.mean:g}",
            "–" if last is None else number(last, 2),
            number(fmean(got.mean for got in table.tasks.values()), 2),
            runs_of(table),
            "",
            *(f"{column.mean:g}" for column in others),
        ]
    )
    failed = emphasised(table.failed, table.paper.failed, 0)
    rows.append(
        [
            "failed",
            failed,
            str(table.paper.failed),
            "",
            "",
            "",
            "",
            *(str(c.failed) for c in others),
        ]
    )
    return markdown_table(head, rows)


def _every_seed(table: TableFigures) -> str:
    """What a user may expect of one run."""
    runs = [(error, task, seed) for task, all_ in table.errors.items() for seed, error in all_]
    worst, task, seed = max(runs)
    of = f" of {table.planned}" if len(table.lines) < table.planned else ""
    lines = [f"Mean error over all {len(table.lines)}{of} runs: **{table.mean_over_seeds:.2f}**"]
    if len(table.tasks) < len(table.preset.tasks):
        lines[0] += f" (of the {len(table.tasks)} tasks that have runs)"
    means = table.means_by_seed
    if len(means) > 1:
        low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
        lines.append(
            f"{len(means)} seeds have every task: {fmean(means.values()):.2f} ± "
            f"{deviation(means.values()):.2f}, from {means[low]:.2f} (seed {low}) to "
            f"{means[high]:.2f} (seed {high})"
        )
    share = 100 * table.runs_above / len(runs)
    lines.append(
        f"Above {FAILED_ABOVE:g}%: {table.runs_above} of {len(runs)} ({share:.1f}%), and in the mean "
        f"over seeds {table.failed_in_mean} of {len(table.tasks)} tasks; the worst is task {task} with "
        f"seed {seed}, {number(worst)}"
    )
    return "".join(f"- {line}.\n" for line in lines)


def _runs(table: TableFigures, task: TaskFigures) -> str:
    """How many runs a task's figures rest on, and how many it is to be, if some are missing."""
    enough = table.preset.stop_at_zero and solved(task.chosen)
    return (
        str(task.seeds)
        if enough or task.seeds >= task.planned
        else f"{task.seeds} of {task.planned}"
    )


def runs_of(table: TableFigures) -> str:
    """The same for a whole table."""
    planned = sum(
        got.seeds if table.preset.stop_at_zero and solved(got.chosen) else got.planned
        for got in table.tasks.values()
    )
    done = sum(got.seeds for got in table.tasks.values())
    if table.preset.joint:
        planned, done = planned // len(table.tasks), len(table.lines)
    return str(done) if done >= planned else f"{done} of {planned}"


def variant_table(tasks: Iterable[int], lines: Sequence[Result]) -> str:
    """Mean ± deviation over the runs of each variant."""
    means = errors_by_variant(lines)
    rows = [
        [
            f"{task} {TASK_NAMES[task]}",
            *(_spread_of(errors[task]) if task in errors else "–" for errors in means.values()),
        ]
        for task in tasks
        if any(task in errors for errors in means.values())
    ]
    head = ["task", *(f"{name}: mean ± sd (runs)" for name in means)]
    return markdown_table(head, rows)


def _spread_of(errors: Sequence[float]) -> str:
    """Mean ± deviation of some runs, and how many they are."""
    known = deviation(errors) if len(errors) > 1 else None
    return f"{spread(fmean(errors), known)} ({len(errors)})"


def _names(tasks: Sequence[int]) -> str:
    return ", ".join("all tasks together" if task == 0 else f"task {task}" for task in tasks)
