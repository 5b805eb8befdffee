"""Tables 1a and 1b of the paper in the report: the world model task."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from entnet.errors import EntNetError
from entnet.experiments.gridworld import (
    KINDS,
    LENGTHS,
    PAPER_1A,
    PAPER_1B,
    TEST_LENGTHS,
    Line,
    validation,
)
from entnet.experiments.report.markdown import markdown_table
from entnet.experiments.results import read_results, results_path

TITLES = {"entnet": "EntNet", "lstm": "LSTM", "memn2n": "MemN2N"}


def _cell(lines: Sequence[Line], length: int, paper: float | None) -> Line:
    """A figure of a table: the chosen run, and mean and deviation over the seeds at its rate.

    Under "rates" the error of the first seed at each rate that it tried.
    """
    best = min(lines, key=validation)
    errors = [line["test"][str(length)] for line in lines if line["rate"] == best["rate"]]
    return {
        "error": best["test"][str(length)],
        "mean": statistics.fmean(errors),
        "sd": statistics.stdev(errors) if len(errors) > 1 else 0.0,
        "seeds": len(errors),
        "rate": best["rate"],
        "rates": {
            f"{line['rate']:g}": line["test"][str(length)] for line in lines if line["seed"] == 1
        },
        "seed": best["seed"],
        "paper": paper,
    }


def details(results: Path = Path("results")) -> dict[str, dict[str, dict[str, Line]]]:
    """Every figure of both tables with its mean, deviation, seeds, rate and the paper's figure."""
    table1a: dict[str, dict[str, Line]] = {}
    for kind in KINDS:
        for length in LENGTHS:
            lines = [
                line
                for line in read_results(results_path(results, "table1a"))
                if line["kind"] == kind and line["length"] == length
            ]
            if lines:
                cell = _cell(lines, length, PAPER_1A[kind][length])
                table1a.setdefault(kind, {})[str(length)] = cell
    lines = read_results(results_path(results, "table1b"))
    cells = {
        str(length): _cell(lines, length, PAPER_1B.get(length)) for length in TEST_LENGTHS if lines
    }
    return {"table1a": table1a, "table1b": {"entnet": cells} if lines else {}}


def figures(results: Path = Path("results")) -> dict[str, Any]:
    """The figures for programs: ``{"table1a": {"entnet": {"10": error, …}, …}, "table1b": …}``.

    Under "detail" each table has the same keys with all that ``details`` gives.
    """
    out: dict[str, Any] = {}
    for table, kinds in details(results).items():
        if kinds:
            out[table] = {
                kind: {length: cell["error"] for length, cell in cells.items()}
                for kind, cells in kinds.items()
            }
            out[table]["detail"] = kinds
    return out


def render_markdown(results: Path = Path("results")) -> str:
    """Both tables beside the paper's figures, as far as there are results."""
    found = details(results)
    parts = []
    if found["table1a"]:
        parts.append(_markdown_1a(found["table1a"]))
    if found["table1b"]:
        parts.append(_markdown_1b(found["table1b"]["entnet"]))
    return "\n".join(parts)


def summary_rows(results: Path = Path("results")) -> list[list[str]]:
    """For the summary: table, what it is, our errors, the paper's."""
    found = details(results)
    rows = []
    for kind, cells in found["table1a"].items():
        what = f"world model, {TITLES[kind]}: error at T = {', '.join(cells)}"
        rows.append(["`table1a`", what, *_errors(cells.values())])
    if found["table1b"]:
        cells = {
            t: cell for t, cell in found["table1b"]["entnet"].items() if int(t) in (20, 40, 80)
        }
        what = f"world model, EntNet trained on T up to 20: error at T = {', '.join(cells)}"
        rows.append(["`table1b`", what, *_errors(cells.values())])
    return rows


def _errors(cells: Iterable[Line]) -> tuple[str, str]:
    cells = list(cells)
    return (
        ", ".join(f"{cell['error']:.4f}" for cell in cells),
        ", ".join(f"{cell['paper']:g}" for cell in cells),
    )


def _markdown_1a(kinds: dict[str, dict[str, Line]]) -> str:
    cells = [
        (TITLES[kind], length, cell)
        for kind, by_length in kinds.items()
        for length, cell in by_length.items()
    ]
    chosen = [
        [
            *(title, length, f"{cell['paper']:g}", f"**{cell['error']:.4f}**", _spread(cell)),
            *(str(cell["seeds"]), f"{cell['rate']:g}"),
        ]
        for title, length, cell in cells
    ]
    rates = sorted({rate for *_, cell in cells for rate in cell["rates"]}, key=float, reverse=True)
    tried = [
        [title, length, *(_error(cell["rates"].get(rate)) for rate in rates)]
        for title, length, cell in cells
    ]
    headings = ["network", "T", "paper", "error", "mean ± sd", "seeds", "rate"]
    return "\n".join(
        [
            "Trained and tested on stories of T sentences. Error: the run chosen on validation.",
            "",
            markdown_table(headings, chosen),
            "The first seed at every rate.",
            "",
            markdown_table(["network", "T", *rates], tried),
        ]
    )


def _markdown_1b(cells: dict[str, Line]) -> str:
    rows = [
        [
            *(length, "–" if cell["paper"] is None else f"{cell['paper']:g}"),
            *(f"**{cell['error']:.4f}**", _spread(cell), str(cell["seeds"])),
        ]
        for length, cell in cells.items()
    ]
    table = markdown_table(["T", "paper", "error", "mean ± sd", "seeds"], rows)
    return f"EntNet trained on lengths up to 20, tested on longer stories.\n\n{table}"


def _error(error: float | None) -> str:
    return "–" if error is None else f"{error:.4f}"


def _spread(cell: Line) -> str:
    return f"{cell['mean']:.4f} ± {cell['sd']:.4f}"


def plot_generalisation(path: Path, results: Path = Path("results")) -> None:
    """Draw the error against the length of the story: every seed, the chosen one, the paper's."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EntNetError("plots need matplotlib: pip install 'entnet[plots]'") from error
    lines = read_results(results_path(results, "table1b"))
    if not lines:
        raise EntNetError(f"{results}: no runs of table1b to draw")
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    chosen = min(lines, key=validation)
    for line in lines:
        if line is not chosen:
            axes.plot(*_curve(line["test"]), color="0.75", linewidth=1)
    axes.plot([], [], color="0.75", linewidth=1, label="other seeds")
    axes.plot(*_curve(chosen["test"]), "o-", color="C0", label="chosen on validation")
    axes.plot(list(PAPER_1B), list(PAPER_1B.values()), "s--", color="C1", label="paper")
    axes.axvline(20, color="0.5", linestyle=":", linewidth=1)
    axes.text(20, axes.get_ylim()[1], " longest in training", va="top", fontsize="small")
    axes.set_xscale("log", base=2)
    axes.set_xticks(TEST_LENGTHS, [str(length) for length in TEST_LENGTHS])
    axes.minorticks_off()
    axes.set_xlabel("sentences in the story")
    axes.set_ylabel("error")
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _curve(errors: dict[str, float]) -> tuple[list[int], list[float]]:
    return [int(length) for length in errors], list(errors.values())
