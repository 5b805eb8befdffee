"""Tables 1a and 1b of the paper in the report: the world model task."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from entnet.errors import EntNetError
from entnet.experiments.results import read_results, results_path
from entnet.report.markdown import Page, markdown_table, number, spread
from entnet.tasks.spec import Result

KINDS = ("entnet", "lstm", "memn2n")
LENGTHS = (10, 20, 40)
TEST_LENGTHS = (20, 30, 40, 50, 60, 70, 80, 160, 320)

PAPER_1A: dict[str, dict[int, float]] = {
    "memn2n": {10: 0.09, 20: 0.633, 40: 0.896},
    "lstm": {10: 0.0, 20: 0.157, 40: 0.226},
    "entnet": {10: 0.0, 20: 0.0, 40: 0.0},
}
PAPER_1B: dict[int, float] = {20: 0.0, 30: 0.0, 40: 0.0, 50: 0.01, 60: 0.03, 70: 0.05, 80: 0.08}

LONGER = "table1b-longer"
"""Table 1b trained to hold on longer stories; on the same page, beside the paper's setting."""

TITLE_1A = "The world model: EntNet, LSTM and MemN2N (Table 1a)"
TITLE_1B = "The world model on longer stories than in training (Table 1b)"
TITLES = {"entnet": "EntNet", "lstm": "LSTM", "memn2n": "MemN2N"}


def error_at(line: Result, length: int, part: str = "test") -> float:
    """The share of questions on stories of a length that a run's network got wrong."""
    return round(float(line["best"]["cells"][str(length)][f"{part}_error"]) / 100, 8)


def validation(line: Result) -> float:
    """What runs are chosen by: the error on validation stories of the length that was trained on.

    For Table 1b, which asks how far it generalises, the mean over the lengths 20 to 80.
    """
    lengths = [line["task"]] if line["table"] == "table1a" else list(PAPER_1B)
    return statistics.fmean(error_at(line, length, "valid") for length in lengths)


def _lines(results: Path, table: str) -> list[Result]:
    """A table's runs; those whose settings were changed are no runs of it."""
    lines = read_results(results_path(results, table))
    return [line for line in lines if "+" not in line["variant"]]


def rate_of(line: Result) -> float:
    """A run's learning rate, which its variant is named by: ``entnet-lr-0.01``."""
    return float(line["variant"].partition("-lr-")[2])


def _cell(lines: Sequence[Result], length: int, paper: float | None) -> Result:
    """A figure of a table: the chosen run, and mean and deviation over the seeds at its rate.

    Under "rates" the error of the first seed at each rate that it tried.
    """
    best = min(lines, key=validation)
    rate = rate_of(best)
    errors = [error_at(line, length) for line in lines if rate_of(line) == rate]
    return {
        "error": error_at(best, length),
        "mean": statistics.fmean(errors),
        "sd": statistics.stdev(errors) if len(errors) > 1 else 0.0,
        "seeds": len(errors),
        "rate": rate,
        "rates": {
            f"{rate_of(line):g}": error_at(line, length) for line in lines if line["seed"] == 1
        },
        "seed": best["seed"],
        "paper": paper,
    }


def details(results: Path = Path("results")) -> dict[str, dict[str, dict[str, Result]]]:
    """Every figure of both tables with its mean, deviation, seeds, rate and the paper's figure."""
    table1a: dict[str, dict[str, Result]] = {}
    for kind in KINDS:
        for length in LENGTHS:
            lines = [
                line
                for line in _lines(results, "table1a")
                if line["kind"] == kind and line["task"] == length and "+" not in line["variant"]
            ]
            if lines:
                cell = _cell(lines, length, PAPER_1A[kind][length])
                table1a.setdefault(kind, {})[str(length)] = cell
    lines = _lines(results, "table1b")
    cells = {
        str(length): _cell(lines, length, PAPER_1B.get(length)) for length in TEST_LENGTHS if lines
    }
    found = {"table1a": table1a, "table1b": {"entnet": cells} if lines else {}}
    if drawn := _lines(results, LONGER):
        found[LONGER] = {"entnet": {str(t): _cell(drawn, t, None) for t in TEST_LENGTHS}}
    return found


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


def pages(results: Path = Path("results")) -> list[Page]:
    """A page for each of the two tables that has results."""
    found = details(results)
    made = []
    for table, title, body, images in (
        ("table1a", TITLE_1A, _markdown_1a, {}),
        ("table1b", TITLE_1B, _markdown_1b, {"table1b-lengths.png": plot_generalisation}),
    ):
        if found[table]:
            draw = {name: partial(plot, results=results) for name, plot in images.items()}
            text, runs = body(found[table]), _runs(table, _lines(results, table), found)
            if table == "table1b" and LONGER in found:
                text += _markdown_longer(found[LONGER]["entnet"])
                runs += f"\n`{LONGER}`:\n\n" + _runs(LONGER, _lines(results, LONGER), found)
            made.append(Page(table, title, text, runs, draw))
    return made


def summary_rows(results: Path = Path("results")) -> list[list[str]]:
    """For the summary: experiment, mean ± deviation over seeds, best on validation, the paper's."""
    found = details(results)
    rows = []
    for kind, cells in found["table1a"].items():
        what = f"World model, {TITLES[kind]}: error, % (T = {', '.join(cells)})"
        rows.append([f"[{what}](table1a.md)", *_errors(cells.values())])
    if found["table1b"]:
        cells = {
            t: cell for t, cell in found["table1b"]["entnet"].items() if int(t) in (20, 40, 80)
        }
        what = f"World model, EntNet trained on T up to 20: error, % (T = {', '.join(cells)})"
        rows.append([f"[{what}](table1b.md)", *_errors(cells.values())])
    return rows


def _errors(cells: Iterable[Result]) -> tuple[str, str, str]:
    """Mean ± deviation, the chosen run's and the paper's error in percent."""
    cells = list(cells)
    return (
        ", ".join(
            spread(100 * cell["mean"], 100 * cell["sd"] if cell["seeds"] > 1 else None, 2)
            for cell in cells
        ),
        ", ".join(number(100 * cell["error"], 2) for cell in cells),
        ", ".join(f"{100 * cell['paper']:.4g}" for cell in cells),
    )


def _markdown_1a(kinds: dict[str, dict[str, Result]]) -> str:
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
    headings = ["network", "T", "paper", "best", "mean ± sd", "seeds", "learning rate"]
    return (
        "`entnet reproduce table1a`\n\nShare of wrong answers on stories of T sentences, after training on "
        "stories of T sentences. *Best*: the run chosen on validation.\n\n"
        + markdown_table(headings, chosen)
    )


def _markdown_1b(kinds: dict[str, dict[str, Result]]) -> str:
    rows = [
        [
            *(length, "–" if cell["paper"] is None else f"{cell['paper']:g}"),
            *(f"**{cell['error']:.4f}**", _spread(cell), str(cell["seeds"])),
        ]
        for length, cell in kinds["entnet"].items()
    ]
    return (
        "`entnet reproduce table1b`\n\nShare of wrong answers of EntNet, trained on stories of up to 20 "
        "sentences and tested on longer ones. *Best*: the run chosen on validation.\n\n"
        + markdown_table(["T", "paper", "best", "mean ± sd", "seeds"], rows)
    )


def _markdown_longer(cells: dict[str, Result]) -> str:
    rows = [
        [length, f"**{cell['error']:.4f}**", _spread(cell), str(cell["seeds"])]
        for length, cell in cells.items()
    ]
    return (
        f"\n## Trained to hold on longer stories\n\n`entnet reproduce {LONGER}`\n\nThe same, with more "
        "units, and with the memory after a story drawn to that after the shortest story which "
        "ends alike ([how](../gridworld.md#trained-to-hold-on-longer-stories)). In training it never reads "
        "more than 20 sentences, either.\n\n"
        + markdown_table(["T", "best", "mean ± sd", "seeds"], rows)
    )


def _runs(
    table: str, lines: Sequence[Result], found: dict[str, dict[str, dict[str, Result]]]
) -> str:
    """The first seed at every learning rate, and every run."""
    parts = []
    cells = [
        (TITLES[kind], length, cell)
        for kind, by_length in found[table].items()
        for length, cell in by_length.items()
    ]
    rates = sorted({rate for *_, cell in cells for rate in cell["rates"]}, key=float, reverse=True)
    if len(rates) > 1:
        tried = [
            [title, length, *(_error(cell["rates"].get(rate)) for rate in rates)]
            for title, length, cell in cells
        ]
        parts += ["## The first seed at every learning rate\n"]
        parts.append(markdown_table(["network", "T", *rates], tried))
    rows = [
        [
            str(line["task"]),
            line["variant"],
            str(line["seed"]),
            f"{validation(line):.4f}",
            ", ".join(
                f"{length}: {error_at(line, int(length)):.4f}" for length in line["best"]["cells"]
            ),
        ]
        for line in sorted(lines, key=lambda line: (line["task"], line["variant"], line["seed"]))
    ]
    parts += [
        "## Every run\n",
        "Shares of wrong answers; of the test by the length of its stories.\n",
    ]
    parts.append(markdown_table(["T", "variant", "seed", "validation", "test"], rows, left=2))
    return "\n".join(parts)


def _error(error: float | None) -> str:
    return "–" if error is None else f"{error:.4f}"


def _spread(cell: Result) -> str:
    return f"{cell['mean']:.4f} ± {cell['sd']:.4f}"


def plot_generalisation(path: Path, results: Path = Path("results")) -> None:
    """Draw the error against the length of the story: every seed, the chosen one, the paper's."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EntNetError("plots need matplotlib: pip install 'entnet[plots]'") from error
    lines = _lines(results, "table1b")
    if not lines:
        raise EntNetError(f"{results}: no runs of table1b to draw")
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    chosen = min(lines, key=validation)
    for line in lines:
        if line is not chosen:
            axes.plot(*_curve(line), color="0.75", linewidth=1)
    axes.plot([], [], color="0.75", linewidth=1, label="other seeds")
    axes.plot(*_curve(chosen), "o-", color="C0", label="chosen on validation")
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


def _curve(line: Result) -> tuple[list[int], list[float]]:
    lengths = [int(length) for length in line["best"]["cells"]]
    return lengths, [error_at(line, length) for length in lengths]
