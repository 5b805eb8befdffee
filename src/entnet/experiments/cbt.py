"""Table 4 of the paper: the Children's Book Test, run, reported and drawn.

A finished run is a line of results/table4.jsonl and is never done again. Accuracies are shares of
questions, 0 to 1, as in the paper.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entnet.data.cbt import SPLITS, Kind, cbt_file_name
from entnet.data.cbt_build import default_directory
from entnet.data.cbt_stats import COUNTS, read_stats, stats_markdown
from entnet.data.sources import data_root
from entnet.errors import EntNetError
from entnet.experiments.cbt_systems import SYSTEMS, CbtData, Job, Options, System, run_system
from entnet.experiments.results import add_result, read_results, results_path
from entnet.experiments.spec import changed_name

Line = dict[str, Any]

TABLE = "table4"
TABLE_KINDS: tuple[Kind, ...] = ("NE", "CN")
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
}
"""Published test accuracies, on the official questions; the frequencies are those of the test's makers."""
PAPER_ONLY: dict[str, dict[Kind, float]] = {
    "AS Reader": {"NE": 0.686, "CN": 0.634},
    "GA Reader": {"NE": 0.690, "CN": 0.639},
    "EpiReader": {"NE": 0.697, "CN": 0.674},
    "AoA Reader": {"NE": 0.720, "CN": 0.694},
    "NSE": {"NE": 0.732, "CN": 0.714},
}
"""Systems that read a story many times, which are not run here."""


def find_questions(directory: Path | str | None = None) -> Path:
    """Where questions are: as given, else the official ones, else those that were built."""
    if directory is not None:
        return Path(directory)
    official = data_root() / "cbt" / "data"
    for place in (official, default_directory()):
        if (place / cbt_file_name("NE", "train")).is_file():
            return place
    raise EntNetError(
        "no questions of the Children's Book Test; `entnet data build-cbt` builds them from tagged "
        "books, `entnet data download cbt` fetches the official ones"
    )


def reproduce_table4(
    results: Path = Path("results"),
    runs: Path = Path("runs/cbt"),
    seeds: Sequence[int] | None = None,
    systems: Sequence[str] | None = None,
    kinds: Sequence[Kind] = TABLE_KINDS,
    directory: Path | None = None,
    tell: Any = print,
    changes: Options | None = None,
) -> list[Line]:
    """Run every system on named entities and common nouns, and return the lines of all runs.

    ``seeds`` replaces the seeds of those systems that have several, or, with ``changes``, of any.
    ``changes`` are settings of the systems; runs with other settings are other runs.
    """
    place = find_questions(directory)
    for kind in kinds:
        for split in SPLITS:
            if not (place / cbt_file_name(kind, split)).is_file():
                raise EntNetError(f"{place / cbt_file_name(kind, split)}: no such file")
    path = results_path(results, TABLE)
    changes = changes or {}
    lines: list[Line] = []
    for kind in kinds:
        data = CbtData(place, kind)
        for system in _chosen(systems):
            for seed in _seeds(system, seeds, bool(changes)):
                lines.append(_run(system, Job(data, seed, runs, tell, changes), path))
    return lines


def _chosen(names: Sequence[str] | None) -> list[System]:
    for name in names or ():
        if name not in SYSTEMS:
            raise EntNetError(f"no system {name!r}; there are {', '.join(SYSTEMS)}")
    return [SYSTEMS[name] for name in names or SYSTEMS]


def _seeds(system: System, seeds: Sequence[int] | None, any_seed: bool) -> Sequence[int]:
    if any_seed:
        return seeds or (1,)
    return seeds if seeds and len(system.seeds) > 1 else system.seeds


def _run(system: System, job: Job, path: Path) -> Line:
    variant = changed_name(system.name, job.changes)
    about = {"table": TABLE, "task": job.data.kind, "variant": variant, "seed": job.seed}
    for line in read_results(path):
        if about.items() <= line.items():
            return line
    line = about | run_system(system, job)
    add_result(path, line)
    job.tell(
        f"{job.data.kind} {variant} {job.seed}: "
        f"validation {line['valid']:.4f}, test {line['test']:.4f}"
    )
    return line


# The report.


def half_width(accuracy: float, questions: int) -> float:
    """Half of the 95% interval of a share, by the normal approximation."""
    return 1.96 * math.sqrt(accuracy * (1 - accuracy) / questions)


def details(results: Path = Path("results")) -> dict[str, dict[str, Line]]:
    """Every figure of the table: the run chosen on validation, its interval, all seeds, the paper's."""
    lines = [line for line in read_results(results_path(results, TABLE)) if line["table"] == TABLE]
    found: dict[str, dict[str, Line]] = {}
    for name in SYSTEMS:
        for kind in TABLE_KINDS:
            mine = [line for line in lines if (line["variant"], line["task"]) == (name, kind)]
            if not mine:
                continue
            best = max(mine, key=lambda line: line["valid"])
            tests = [line["test"] for line in mine]
            found.setdefault(name, {})[kind] = {
                "accuracy": best["test"],
                "valid": best["valid"],
                "interval": half_width(best["test"], best["test_questions"]),
                "mean": statistics.fmean(tests),
                "sd": statistics.stdev(tests) if len(tests) > 1 else 0.0,
                "seeds": len(tests),
                "questions": best["questions"],
                "epochs": best.get("epochs"),
                "paper": PAPER.get(name, {}).get(kind),
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


def render_markdown(results: Path = Path("results")) -> str:
    """The table beside the published figures, or nothing where there are no results."""
    found = details(results)
    if not found:
        return ""
    told = (
        "**The questions are rebuilt** from the benchmark's books by its published procedure; published "
        "figures are on the official questions. "
        if _is_rebuilt(found)
        else ""
    )
    rows = [
        f"{told}Test accuracy of the run chosen on validation, ± half of the 95% interval "
        "(2,500 questions); in brackets mean ± deviation over seeds.",
        "",
        "| system | NE | published | CN | published |",
        "|---|---|---|---|---|",
    ]
    for title, single in (("*read once*", True), ("*read again for the question*", False)):
        names = [name for name in found if SYSTEMS[name].single_pass == single]
        if names:
            rows.append(f"| {title} | | | | |")
        rows += [f"| {SYSTEMS[name].title} | {_cells(found[name], name)} |" for name in names]
    for name, paper in PAPER_ONLY.items():
        rows.append(f"| {name} | – | {_share(paper['NE'])} | – | {_share(paper['CN'])} |")
    if read := _epochs(found):
        rows += ["", f"Times that networks read their training data, NE and CN: {read}."]
    if (counts := results / COUNTS).is_file():
        rows += ["", "What the questions hold, beside the official ones:", ""]
        rows.append(stats_markdown(*read_stats(counts)).rstrip())
    if trials := render_trials(results / "trials"):
        rows += ["", "Settings that were tried, by validation accuracy alone:", "", trials.rstrip()]
    return "\n".join(rows) + "\n"


def render_trials(results: Path) -> str:
    """Runs with other settings than the table's, best first; nothing where there are none."""
    tried = [line for line in read_results(results_path(results, TABLE)) if "+" in line["variant"]]
    if not tried:
        return ""
    rows = ["| system | kind | changed | passes | validation |", "|---|---|---|---|---|"]
    for line in sorted(tried, key=lambda line: (_system(line)[0], line["task"], -line["valid"])):
        name, changes = _system(line)
        told = changes.replace(",", ", ")
        rows.append(
            f"| {name} | {line['task']} | {told} | {line['epochs']:.2g} | {_share(line['valid'])} |"
        )
    return "\n".join(rows) + "\n"


def _system(line: Line) -> tuple[str, str]:
    """A trial's system, and what was changed in it."""
    name, _, changes = line["variant"].partition("+")
    return name, changes


def summary_rows(results: Path = Path("results")) -> list[list[str]]:
    """For the summary: table, what it is, our accuracies, the paper's, for the networks of the paper."""
    found = details(results)
    test = "Children's Book Test" + (", rebuilt questions" if _is_rebuilt(found) else "")
    return [
        [
            f"`{TABLE}`",
            f"{test}, {SYSTEMS[name].title}: accuracy, {' and '.join(kinds)}",
            ", ".join(_share(cell["accuracy"]) for cell in kinds.values()),
            ", ".join(_share(cell["paper"]) for cell in kinds.values()),
        ]
        for name, kinds in found.items()
        if name.startswith("entnet") and name in PAPER
    ]


def _epochs(found: dict[str, dict[str, Line]]) -> str:
    """How long each network was trained; some only briefly, which a reader should know."""
    parts = []
    for name, kinds in found.items():
        epochs = [f"{cell['epochs']:.2g}" for cell in kinds.values() if cell["epochs"]]
        if epochs:
            parts.append(f"{SYSTEMS[name].title} {' and '.join(epochs)}")
    return "; ".join(parts)


def _is_rebuilt(found: dict[str, dict[str, Line]]) -> bool:
    """Whether any figure is on questions that our builder made."""
    return any(
        cell["questions"] == "rebuilt" for kinds in found.values() for cell in kinds.values()
    )


def _cells(kinds: dict[str, Line], name: str) -> str:
    parts = []
    for kind in TABLE_KINDS:
        cell = kinds.get(kind)
        paper = PAPER.get(name, {}).get(kind)
        parts += ["–" if cell is None else _cell(cell), "–" if paper is None else _share(paper)]
    return " | ".join(parts)


def _cell(cell: Line) -> str:
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
    figure = Figure(figsize=(8.5, 0.5 * len(names) + 1.5), layout="constrained")
    axes = figure.add_subplot()
    for kind, shift, colour in (("NE", 0.2, "#1b7f5c"), ("CN", -0.2, "#9fb8ae")):
        cells = [(n, found[name][kind]) for n, name in enumerate(names) if kind in found[name]]
        axes.barh(
            [n + shift for n, _ in cells],
            [cell["accuracy"] for _, cell in cells],
            0.36,
            xerr=[cell["interval"] for _, cell in cells],
            color=colour,
            ecolor="#222222",
            capsize=2,
            label=f"{kind}, ours",
        )
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
    if _is_rebuilt(found):
        axes.set_title("our figures: rebuilt questions", fontsize="medium")
    figure.legend(frameon=False, fontsize="small", loc="outside lower center", ncols=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None} if path.suffix == ".png" else None)
