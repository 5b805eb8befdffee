"""Table 4 of the paper in the report: the Children's Book Test.

Accuracies are shares of questions, 0 to 1, as in the paper.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from entnet.data.cbt.format import Kind
from entnet.data.cbt.stats import COUNTS, read_stats, stats_markdown
from entnet.errors import EntNetError
from entnet.experiments.results import read_results, results_path
from entnet.report.markdown import Page, markdown_table
from entnet.tasks.cbt import TABLE, TABLE_KINDS, Part, accuracy_of
from entnet.tasks.spec import Result

TITLE = "The Children's Book Test (Table 4)"
COUNTS_TITLE = "The Children's Book Test: rebuilt and official questions"

PAPER: dict[str, dict[Kind, float]] = {
    "corpus-frequency": {"NE": 0.120, "CN": 0.158},
    "context-frequency": {"NE": 0.299, "CN": 0.281},
    "kneser-ney-cache": {"NE": 0.439, "CN": 0.577},
    "lstm": {"NE": 0.418, "CN": 0.560},
    "window-lstm": {"NE": 0.436, "CN": 0.582},
    "entnet-general": {"NE": 0.484, "CN": 0.540},
    "entnet-simple": {"NE": 0.616, "CN": 0.588},
    "memnn": {"NE": 0.493, "CN": 0.554},
    "memnn-self": {"NE": 0.666, "CN": 0.630},
    "as": {"NE": 0.686, "CN": 0.634},
    "ga": {"NE": 0.690, "CN": 0.639},
    "epireader": {"NE": 0.697, "CN": 0.674},
    "aoa": {"NE": 0.720, "CN": 0.694},
    "nse": {"NE": 0.732, "CN": 0.714},
}
"""Published test accuracies, on the official questions; the frequencies are those of the test's makers."""


@dataclass(frozen=True)
class System:
    """A row of the table; the preset says how it is run."""

    title: str
    single_pass: bool = True
    """Whether it reads the story once, before it knows the question."""


SYSTEMS: dict[str, System] = {
    "corpus-frequency": System("most frequent in the training books"),
    "context-frequency": System("most frequent in the 20 sentences"),
    "word-distance": System("frequency and the query's neighbours", single_pass=False),
    "kneser-ney": System("Kneser-Ney, 5-grams"),
    "kneser-ney-cache": System("Kneser-Ney and cache"),
    "lstm": System("LSTM, context and query"),
    "window-lstm": System("LSTM and windows"),
    "entnet-general": System("EntNet, general"),
    "entnet-simple": System("EntNet, simple"),
    "entnet-simple-ensemble": System("EntNet, simple, 3 together"),
    "entnet-simple-mixture": System("EntNet, simple, 3 together, and Kneser-Ney and cache"),
    "entnet-recurrent": System("EntNet, recurrent encoder"),
    "entnet-recurrent-mixture": System("EntNet, recurrent encoder, and Kneser-Ney and cache"),
    "memnn": System("MemNN, windows", single_pass=False),
    "memnn-self": System("MemNN, windows, self-supervised", single_pass=False),
    "as": System("AS Reader", single_pass=False),
    "ga": System("GA Reader", single_pass=False),
    "epireader": System("EpiReader", single_pass=False),
    "aoa": System("AoA Reader", single_pass=False),
    "nse": System("NSE", single_pass=False),
}


def half_width(accuracy: float, questions: int) -> float:
    """Half of the 95% interval of a share, by the normal approximation."""
    return 1.96 * math.sqrt(accuracy * (1 - accuracy) / questions)


COLUMNS: dict[str, str] = {"NE": "NE", "NE_rebuilt": "rebuilt NE", "CN": "CN"}
"""Official and rebuilt questions for named entities are never in one column. For common nouns there are no
official ones at hand, unless a user has them."""


def columns_of(line: Result) -> dict[str, Part]:
    """The columns that a run has a figure in, and which of its errors that is."""
    kind = line["task"]
    if kind == "NE" and line["questions"] == "rebuilt":
        return {"NE_rebuilt": "test"}
    if kind == "NE" and "rebuilt_test_error" in line["best"]:
        return {"NE": "test", "NE_rebuilt": "rebuilt_test"}
    return {kind: "test"}


def details(results: Path = Path("results")) -> dict[str, dict[str, Result]]:
    """Every figure of the table: the run chosen on validation, its interval, all seeds, the paper's."""
    lines = [line for line in read_results(results_path(results, TABLE)) if line["table"] == TABLE]
    found: dict[str, dict[str, Result]] = {}
    for name in SYSTEMS:
        for column in COLUMNS:
            mine = [
                (line, part)
                for line in lines
                if line["variant"] == name
                for where, part in columns_of(line).items()
                if where == column
            ]
            if not mine:
                continue
            best, part = max(mine, key=lambda run: accuracy_of(run[0], "valid"))
            tests = [accuracy_of(line, where) for line, where in mine]
            reached = accuracy_of(best, part)
            found.setdefault(name, {})[column] = {
                "accuracy": reached,
                "valid": accuracy_of(best, "valid"),
                "interval": half_width(reached, best["best"][f"{part}_questions"]),
                "mean": statistics.fmean(tests),
                "sd": statistics.stdev(tests) if len(tests) > 1 else 0.0,
                "seeds": len(tests),
                "questions": "rebuilt" if column == "NE_rebuilt" else best["questions"],
                "epochs": best.get("passes"),
                "paper": None if column == "NE_rebuilt" else PAPER.get(name, {}).get(best["task"]),
            }
    return found


def report(results: Path = Path("results")) -> dict[str, dict[str, float]]:
    """Test accuracies: ``{"entnet-simple": {"NE": …, "CN": …}, …}``."""
    return {
        name: {kind: cell["accuracy"] for kind, cell in kinds.items()}
        for name, kinds in details(results).items()
    }


def figures(results: Path = Path("results")) -> dict[str, Any]:
    """The table for programs, by its name; under "detail" all that ``details`` gives."""
    found = details(results)
    return {TABLE: {**report(results), "detail": found}} if found else {}


def pages(results: Path = Path("results")) -> list[Page]:
    """The table's page, and one on what the rebuilt questions hold."""
    found = details(results)
    if not found:
        return []
    draw = {"table4.png": partial(plot_table4, results=results)}
    made = [Page(TABLE, TITLE, _body(found), _runs(results, found), draw)]
    if (counts := results / COUNTS).is_file():
        text = (
            "Our rebuilt questions ([how they are made](../cbt.md)) beside the official ones.\n\n"
        )
        made.append(Page("cbt-questions", COUNTS_TITLE, text + stats_markdown(*read_stats(counts))))
    return made


def _body(found: dict[str, dict[str, Result]]) -> str:
    """The table beside the published figures."""
    rows = [
        f"`entnet reproduce {TABLE}`",
        "",
        _told(found) + "Test accuracy of the run chosen on validation, ± half of the 95% interval "
        "(2,500 questions); in brackets mean ± deviation over seeds. Systems that were not run here have "
        "their published figures alone.",
        "",
        "| system | NE, official | NE, published | NE, rebuilt | "
        f"{'CN, rebuilt' if _is_rebuilt(found, 'CN') else 'CN, official'} | CN, published |",
        "|---|---|---|---|---|---|",
    ]
    for title, single in (("*read once*", True), ("*read again for the question*", False)):
        names = [
            name
            for name, system in SYSTEMS.items()
            if system.single_pass == single and (name in found or name in PAPER)
        ]
        rows.append(f"| {title} | | | | | |")
        rows += [
            f"| {SYSTEMS[name].title} | {_cells(found.get(name, {}), name)} |" for name in names
        ]
    return "\n".join(rows) + "\n"


def _runs(results: Path, found: dict[str, dict[str, Result]]) -> str:
    """How long networks were trained, every run, and the settings that were tried."""
    parts = []
    if read := _epochs(found):
        parts.append(f"Epochs of training, NE and CN: {read}.\n")
    lines = [line for line in read_results(results_path(results, TABLE)) if line["table"] == TABLE]
    rows = [
        [
            line["variant"],
            line["task"],
            str(line["seed"]),
            _share(accuracy_of(line, "valid")),
            _share(accuracy_of(line)),
            *_cost(line),
        ]
        for line in sorted(lines, key=lambda line: (line["variant"], line["task"], line["seed"]))
    ]
    parts.append("## Every run\n")
    head = ["system", "kind", "seed", "validation", "test"]
    head += ["passes", "core-minutes", "parameters", "width", "units"]
    parts.append(markdown_table(head, rows, left=2))
    if trials := render_trials(results / "trials"):
        parts += [
            "## Trials\n",
            "Settings that were tried, by validation accuracy alone:\n",
            trials,
        ]
    return "\n".join(parts)


def _cost(line: Result) -> list[str]:
    """How often a run read its questions, what that took, and how large its network is."""
    passes, seconds, parameters = (line.get(k) for k in ("passes", "cpu_seconds", "parameters"))
    sizes = (line.get("model", {}).get(name) for name in ("width", "units"))
    return [
        "–" if passes is None else f"{passes:.2g}",
        "–" if seconds is None else f"{seconds / 60:.1f}",
        "–" if parameters is None else f"{parameters:,}",
        *("–" if size is None else str(size) for size in sizes),
    ]


def render_trials(results: Path) -> str:
    """Runs with other settings than the table's, best first; nothing where there are none."""
    tried = [line for line in read_results(results_path(results, TABLE)) if "+" in line["variant"]]
    if not tried:
        return ""
    rows = ["| system | kind | changed | epochs | validation |", "|---|---|---|---|---|"]
    for line in sorted(tried, key=_trial_order):
        name, changes = _system(line)
        told = changes.replace(",", ", ")
        rows.append(
            f"| {name} | {line['task']} | {told} | {line['passes']:.2g} | "
            f"{_share(accuracy_of(line, 'valid'))} |"
        )
    return "\n".join(rows) + "\n"


def _trial_order(line: Result) -> tuple[str, str, float]:
    return _system(line)[0], line["task"], -accuracy_of(line, "valid")


def _system(line: Result) -> tuple[str, str]:
    """A trial's system, and what was changed in it."""
    name, _, changes = line["variant"].partition("+")
    return name, changes


def summary_rows(results: Path = Path("results")) -> list[list[str]]:
    """For the summary: experiment, mean ± deviation over seeds, best on validation, the paper's."""
    rows = []
    for name, kinds in details(results).items():
        if not (name.startswith("entnet") and name in PAPER):
            continue
        cells = list(kinds.values())
        columns = ", ".join(_titled(column, cell) for column, cell in kinds.items())
        means = (
            _share(c["mean"]) + (f" ± {_share(c['sd'])}" if c["seeds"] > 1 else "") for c in cells
        )
        rows.append(
            [
                f"[Children's Book Test, {SYSTEMS[name].title}: accuracy ({columns})]({TABLE}.md)",
                ", ".join(means),
                ", ".join(_share(cell["accuracy"]) for cell in cells),
                ", ".join("–" if c["paper"] is None else _share(c["paper"]) for c in cells),
            ]
        )
    return rows


def _titled(column: str, cell: Result) -> str:
    rebuilt = column == "CN" and cell["questions"] == "rebuilt"
    return ("rebuilt " if rebuilt else "") + COLUMNS[column]


def _told(found: dict[str, dict[str, Result]]) -> str:
    """What a reader must know of the questions."""
    if not _is_rebuilt(found):
        return ""
    return (
        "**Rebuilt questions** are made from the benchmark's books by rules read off official ones; "
        "published figures are on official questions, and so compare with official columns alone. All "
        "systems here were trained on rebuilt questions. "
    )


def _epochs(found: dict[str, dict[str, Result]]) -> str:
    """How long each network was trained; some only briefly, which a reader should know."""
    parts = []
    for name, kinds in found.items():
        epochs = [f"{cell['epochs']:.2g}" for cell in kinds.values() if cell["epochs"]]
        if epochs:
            parts.append(f"{SYSTEMS[name].title} {' and '.join(epochs)}")
    return "; ".join(parts)


def _is_rebuilt(found: dict[str, dict[str, Result]], column: str | None = None) -> bool:
    """Whether a figure (of this column) is on questions that our builder made."""
    return any(
        cell["questions"] == "rebuilt"
        for cells in found.values()
        for name, cell in cells.items()
        if column in (None, name)
    )


def _cells(cells: dict[str, Result], name: str) -> str:
    official, rebuilt, nouns = (
        _cell(cells[column]) if column in cells else "–" for column in COLUMNS
    )
    paper = PAPER.get(name, {})
    entities, common = (_share(paper[k]) if k in paper else "–" for k in TABLE_KINDS)
    return " | ".join([official, entities, rebuilt, nouns, common])


def _cell(cell: Result) -> str:
    text = f"**{_share(cell['accuracy'])}** ± {_share(cell['interval'])}"
    if cell["seeds"] > 1:
        text += f" ({_share(cell['mean'])} ± {_share(cell['sd'])}, {cell['seeds']} seeds)"
    return text


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def plot_table4(path: Path, results: Path = Path("results")) -> None:
    """Draw the table: a bar a system and kind with its interval, the published figure as a line."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EntNetError("plots need matplotlib: pip install 'entnet[plots]'") from error
    found = details(results)
    if not found:
        raise EntNetError(f"{results}: no runs of {TABLE} to draw")
    names = list(found)[::-1]
    figure = Figure(figsize=(8.5, 0.6 * len(names) + 1.5), layout="constrained")
    axes = figure.add_subplot()
    bars = (("NE", 0.27, "#1b7f5c"), ("NE_rebuilt", 0.0, "#74b49b"), ("CN", -0.27, "#9fb8ae"))
    for kind, shift, colour in bars:
        cells = [(n, found[name][kind]) for n, name in enumerate(names) if kind in found[name]]
        axes.barh(
            [n + shift for n, _ in cells],
            [cell["accuracy"] for _, cell in cells],
            0.25,
            xerr=[cell["interval"] for _, cell in cells],
            color=colour,
            ecolor="#222222",
            capsize=2,
            label=f"{COLUMNS[kind]}, ours",
        )
        if kind == "NE_rebuilt":
            continue  # published figures are on official questions
        published = [(n + shift, cell["paper"]) for n, cell in cells if cell["paper"] is not None]
        axes.plot(
            [x for _, x in published],
            [y for y, _ in published],
            "|",
            color="#c0392b",
            markersize=11,
            markeredgewidth=2,
            label="published, official questions" if kind == "NE" else None,
        )
    axes.set_yticks(range(len(names)), [SYSTEMS[name].title for name in names])
    axes.set_xlabel("test accuracy, with 95% intervals")
    axes.set_xlim(0, 1)
    if _is_rebuilt(found, "CN"):
        axes.set_title("CN, ours: rebuilt questions", fontsize="medium")
    figure.legend(frameon=False, fontsize="small", loc="outside lower center", ncols=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None} if path.suffix == ".png" else None)
