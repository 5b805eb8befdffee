"""docs/RESULTS.md and the summary in the README, as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from entnet.data.babi import TASK_NAMES
from entnet.experiments.paper import later_means
from entnet.experiments.report.figures import TableFigures, deviation, variant_means

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"

HEADER = """\
# Results

Written by `entnet report` from the files in [results](../results), one line a run; nothing here is typed by
hand. Every figure is test error in percent on all questions of the official test file, unless it says
otherwise.

- **ours**: the run with the lowest validation error (then loss) of all runs of the task, at its best
  validation epoch. The test file plays no part in the choice.
- **last epoch**: the same, but runs are compared and scored at their last epoch, as the authors do.
- **mean ± sd**: over all runs, at their best validation epochs; runs that were given up early count too.
- **failed**: tasks with more than 5% error.
- **bold**: better than the paper's EntNet, or equal to it.
- Task 3 of the 10k set: where a line of results says `"train_data": "generated"`, training was on 9,000
  questions of our generator, validation on official stories, and the test on the official file.
"""

LATER_WORK = """\
## Beside later work

Mean test errors in percent, as published. Ours have been told which words are of a kind
([recipes](recipes.md)), which the others have not: the figures are for scale.
"""


def results_page(
    tables: dict[str, TableFigures],
    summary: str,
    charts: dict[str, list[str]],
    more: Sequence[str] = (),
) -> str:
    """The whole page; ``charts`` names each table's images, ``more`` are sections of other experiments."""
    parts = [HEADER, "## Summary\n\n" + summary]
    if later := later_work(tables.values()):
        parts.append(later)
    parts += [section(table, charts.get(name, [])) for name, table in tables.items()]
    return "\n".join([*parts, *more])


def summary_table(tables: Iterable[TableFigures]) -> str:
    """A row a table."""
    rows = [
        [
            f"`{table.preset.name}`",
            table.preset.title,
            _mean(table),
            f"{table.paper.mean:g}",
            str(table.failed),
            str(table.paper.failed),
            str(len(table.lines)),
            f"{table.core_hours:.1f}",
        ]
        for table in tables
    ]
    head = ["table", "what", "mean error", "paper", "failed", "paper", "runs", "core-hours"]
    return markdown_table(head, rows, left=2)


def later_work(tables: Iterable[TableFigures]) -> str:
    """Our recipes beside later systems; empty where none of the tables is complete."""
    rows = []
    for table in tables:
        published = later_means(table.preset.name)
        if published and table.mean_error is not None:
            means = {**published, "**EntNet, ours**": table.mean_error}
            ranked = sorted(means, key=means.__getitem__)
            told = ", ".join(f"{name} {means[name]:.2f}" for name in ranked)
            rows.append([f"`{table.preset.name}`", table.preset.title, told])
    if not rows:
        return ""
    return LATER_WORK + "\n" + markdown_table(["table", "what", "mean error"], rows, left=3)


def _mean(table: TableFigures) -> str:
    mean = table.mean_error
    if mean is None:
        return f"– ({len(table.tasks)} of {len(table.preset.tasks)} tasks)"
    return emphasised(mean, table.paper.mean, 2)


def section(table: TableFigures, images: Sequence[str]) -> str:
    """A table's heading, how to run it, its figures and its charts."""
    preset = table.preset
    parts = [
        f"## {preset.name}: {preset.title}\n",
        f"`entnet reproduce {preset.name}`\n",
        task_table(table),
    ]
    exact = table.paper.mean_of_tasks
    if exact != table.paper.mean:
        parts.append(f"The paper gives its mean to a tenth; that of its figures is {exact:.2f}.\n")
    if preset.joint:
        parts.append(_over_seeds(table))
    generated = sorted({line["task"] for line in table.lines if line["train_data"] == "generated"})
    if generated:
        parts.append(f"Trained on generated stories: {_names(generated)}.\n")
    if table.worse_than_paper:
        parts.append(f"Behind the paper's figure: {_names(table.worse_than_paper)}.\n")
    if len({line["variant"] for line in table.lines}) > 1:
        parts.append(variant_table(table))
    if table.left_out:
        parts.append(
            f"{table.left_out} runs of variants that the preset no longer has are left out.\n"
        )
    parts += map(image_line, images)
    return "\n".join(parts)


def image_line(name: str) -> str:
    """An image of the images folder, on a line of its own."""
    return f"![{Path(name).stem}](images/{name})\n"


def task_table(table: TableFigures) -> str:
    """A row a task, ours and all of the paper's columns."""
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
            f"{number(got.mean)} ± {number(got.sd)}",
            str(got.seeds),
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
            str(len(table.lines)),
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


def _over_seeds(table: TableFigures) -> str:
    means, failures = table.seed_means(), table.seed_failures()
    seeds = f"{len(means)} seed{'s' if len(means) > 1 else ''}"
    return (
        f"Over {seeds} of `{table.chosen_variant[0]['variant']}`: "
        f"mean error {fmean(means):.2f} ± {deviation(means):.2f}, "
        f"failed tasks {fmean(failures):.1f} ± {deviation(failures):.1f}.\n"
    )


def variant_table(table: TableFigures) -> str:
    """Mean ± deviation over the runs of each variant."""
    means = variant_means(table)
    rows = [
        [
            f"{task} {TASK_NAMES[task]}",
            *(
                f"{number(fmean(errors[task]))} ± {number(deviation(errors[task]))} ({len(errors[task])})"
                if task in errors
                else "–"
                for errors in means.values()
            ),
        ]
        for task in table.tasks
    ]
    head = ["task", *(f"{name}: mean ± sd (runs)" for name in means)]
    return markdown_table(head, rows)


def _names(tasks: Sequence[int]) -> str:
    return ", ".join("all tasks together" if task == 0 else f"task {task}" for task in tasks)


def number(value: float, digits: int = 1) -> str:
    """As the paper writes figures, but a small error never looks like none."""
    text = f"{value:.{digits}f}"
    return f"{value:.2g}" if value and not float(text) else text


def emphasised(value: float, paper: float, digits: int = 1) -> str:
    text = number(value, digits)
    return f"**{text}**" if value <= paper + 1e-9 else text


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first columns are flush left, the others flush right."""
    marks = ["---"] * left + ["---:"] * (len(head) - left)
    lines = [head, marks, *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def put_between_markers(text: str, summary: str) -> str | None:
    """The README's text with a new summary, or None if it has no place for one."""
    if BEGIN not in text or END not in text:
        return None
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{summary}{END}{after}"
