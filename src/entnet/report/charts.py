"""Charts: error per task against the paper, and learning curves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from entnet.errors import EntNetError
from entnet.report.figures import TableFigures
from entnet.tasks.spec import task_label

OURS, THEIRS, FAINT = "#1b7f5c", "#b9b4a7", "#9fb8ae"


def save_chart(draw: Callable[[TableFigures], Any], table: TableFigures, path: Path) -> None:
    """Draw a chart of a table into a file: the same figures give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    draw(table).savefig(path, dpi=90, metadata=about)


def error_chart(table: TableFigures) -> Any:
    """Two bars per task: the chosen run beside the paper's figure."""
    figure, axes = _figure(10, 3.4, 1, 1)
    axis = axes[0]
    tasks = list(table.tasks)
    places = range(len(tasks))
    ours = [table.tasks[task].error for task in tasks]
    theirs = [table.tasks[task].paper for task in tasks]
    axis.bar(
        [p - 0.2 for p in places], theirs, 0.38, color=THEIRS, label="paper's " + table.paper.name
    )
    axis.bar([p + 0.2 for p in places], ours, 0.38, color=OURS, label="ours, chosen on validation")
    top = max([5.0, *ours, *theirs])
    axis.axhline(5, color="#888888", linewidth=0.8, linestyle=":")
    axis.text(len(tasks) - 0.4, 5, " failed above", va="bottom", fontsize=8, color="#666666")
    for place, own, paper in zip(places, ours, theirs, strict=True):
        for x, value in ((place - 0.2, paper), (place + 0.2, own)):
            axis.text(
                x, value + top * 0.01, f"{value:.1f}".removesuffix(".0"), ha="center", fontsize=6
            )
    axis.set_xticks(list(places), [str(task) for task in tasks])
    axis.set_xlim(-0.6, len(tasks) + 1.0)
    axis.set_xlabel("task")
    axis.set_ylabel("test error, %")
    axis.set_title(table.title, fontsize=10, loc="left")
    axis.legend(frameon=False, fontsize=8)
    return figure


def curve_chart(table: TableFigures) -> Any:
    """Validation error by epoch: every run faint, the chosen one strong, one panel per task."""
    groups = sorted({line["task"] for line in table.lines})
    columns = min(5, len(groups))
    rows = -(-len(groups) // columns)
    figure, axes = _figure(10, max(2.0 * rows, 2.6), rows, columns)
    chosen = [figures.chosen for figures in table.tasks.values()]
    for axis, task in zip(axes, groups, strict=False):
        for line in sorted(
            (x for x in table.lines if x["task"] == task), key=lambda x: x in chosen
        ):
            curve, strong = line["curve"], line in chosen
            axis.plot(
                curve["epoch"],
                curve["valid_error"],
                color=OURS if strong else FAINT,
                linewidth=1.3 if strong else 0.7,
            )
        axis.set_title(task_label(task), fontsize=8, loc="left", pad=2)
        axis.set_ylim(bottom=-2)
        axis.set_xlim(left=0)
    for axis in axes[len(groups) :]:
        axis.set_axis_off()
    figure.supxlabel("epoch", fontsize=9)
    figure.supylabel("validation error, %", fontsize=9)
    return figure


def _figure(width: float, height: float, rows: int, columns: int) -> tuple[Any, list[Any]]:
    """A figure with a grid of axes, drawn without a screen and without global state."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EntNetError(
            'charts need matplotlib: pip install "entnet[plots]", or give --no-charts'
        ) from error
    matplotlib.rcParams |= {"svg.hashsalt": "entnet", "svg.fonttype": "none"}
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = [axis for row in grid for axis in row]
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
    return figure, axes
