"""BABILong in the report: accuracy by length, beside published figures, which are of other texts and
samples."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from entnet.experiments.preset import load_preset
from entnet.experiments.results import read_results, results_path
from entnet.models.card import read_card
from entnet.report.markdown import Page, markdown_table, number, spread
from entnet.tasks.babilong import validation
from entnet.tasks.spec import Result

AT = 1_000_000
"""Words of books at which networks are compared."""
TABLES = {"babilong": "one network per task", "babilong-joint": "one network for tasks 1 to 10"}

INTRODUCTION = """\
Official test questions, their facts hidden among sentences of the 5 test books (278,000 words, passed again
and again by longer documents), read once as a stream. Networks were trained on documents of a few hundred
words of the training books. The one for all tasks starts from the shipped network of bAbI, those per task
from `long`, which is one of its seeds: seeds are of the last phase of training ([how](../long.md)).

"""
OPENED = "Book sentences that opened a gate, from 100k words on"

# Scored from published predictions, 100 to 1,000 questions each; lengths in tokens of the models.
PUBLISHED_LENGTHS = ("0k", "4k", "16k", "32k", "64k", "128k", "512k", "1M")
PUBLISHED: dict[str, dict[int, tuple[int, ...]]] = {
    "Gemini 3 Flash (preview)": {
        1: (100, 100, 91, 77, 75, 66, 61, 57),
        2: (98, 84, 59, 50, 44, 31, 35, 28),
        3: (87, 70, 45, 30, 27, 21, 21, 30),
        4: (100, 97, 88, 79, 74, 62, 74, 71),
        5: (97, 94, 89, 82, 77, 62, 67, 67),
    },
}
PUBLISHED_PHI = {1: (85, 1), 2: (39, 2), 3: (9, 4), 4: (51, 5), 5: (56, 23)}
"""Phi-3-mini (128k): at 1k and at 128k tokens."""
_TOKENS = {
    "0k": 0,
    "4k": 4e3,
    "16k": 16e3,
    "32k": 32e3,
    "64k": 64e3,
    "128k": 128e3,
    "512k": 512e3,
    "1M": 1e6,
}


def length_name(words: int) -> str:
    """0, 1k, 10M."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if words >= size:
            return f"{words // size}{letter}"
    return str(words)


def details(results: Path, table: str) -> dict[int, dict[int, Result]]:
    """By task and words of books: mean accuracy over the seeds in percent, its deviation, that of the seed
    chosen on validation, and what opened gates."""
    found: dict[int, dict[int, list[Result]]] = {}
    lines = [
        line for line in read_results(results_path(results, table)) if "+" not in line["variant"]
    ]
    # The first of the cells of a task is of the best seed on validation.
    for line in sorted(lines, key=validation):
        for task, cells in line["tasks"].items():
            for words, cell in cells.items():
                found.setdefault(int(task), {}).setdefault(int(words), []).append(cell)
    return {
        task: {words: _mean(cells) for words, cells in sorted(lengths.items())}
        for task, lengths in sorted(found.items())
    }


def _mean(cells: list[Result]) -> Result:
    right = [100 - float(cell["test_error"]) for cell in cells]
    read = sum(int(cell["words"]) for cell in cells)
    opened = sum(float(cell["opened_per_million"]) * int(cell["words"]) / 1e6 for cell in cells)
    return {
        "accuracy": round(statistics.fmean(right), 3),
        "sd": round(statistics.stdev(right), 3) if len(right) > 1 else 0.0,
        "best": round(right[0], 3),
        "seeds": len(right),
        "questions": sum(int(cell["test_questions"]) for cell in cells),
        "opened_per_million": round(opened / read * 1e6, 2) if read else 0.0,
    }


def figures(results: Path) -> dict[str, Any]:
    """The tables for programs."""
    return {
        table: {str(task): {str(w): c for w, c in cells.items()} for task, cells in found.items()}
        for table in TABLES
        if (found := details(results, table))
    }


def pages(results: Path = Path("results")) -> list[Page]:
    """One page for both tables, where there are results."""
    if not (body := _body(results)):
        return []
    draw = {"babilong-lengths.png": partial(plot_lengths, results=results)}
    return [Page("babilong", "A million words: facts hidden in books (BABILong)", body, "", draw)]


def _body(results: Path) -> str:
    parts = []
    for table, what in TABLES.items():
        found = details(results, table)
        if not found:
            continue
        lengths = sorted({words for cells in found.values() for words in cells})
        before = open_gates(table)
        rows = [
            [
                str(task),
                str(max(cell["seeds"] for cell in cells.values())),
                *_row(cells, lengths),
                number(cells[AT]["best"]) if AT in cells else "–",
                number(before[task]),
            ]
            for task, cells in found.items()
        ]
        rows.append(["mean", "", *(_over_tasks(found, words) for words in lengths), "", ""])
        opened = [
            cell["opened_per_million"]
            for cells in found.values()
            for words, cell in cells.items()
            if words >= 100_000
        ]
        parts.append(
            f"## {table}: {what}\n\nAccuracy in percent by words of books around the facts, mean ± "
            f"deviation over seeds (`entnet reproduce {table}`).\n"
            "*Best* is the seed chosen on validation, at 1M; *open gates* the shipped network of bAbI, on\n"
            "bAbI as it is: column 0 beside it says what gates that shut cost there.\n\n"
            + markdown_table(
                ["task", "seeds", *map(length_name, lengths), "best", "open gates"], rows, left=1
            )
            + (f"\n{OPENED}: {statistics.fmean(opened):.1f} per million.\n" if opened else "")
        )
    if not parts:
        return ""
    return INTRODUCTION + "\n".join(parts) + "\n" + _published()


def _row(cells: Mapping[int, Result], lengths: Iterable[int]) -> list[str]:
    return [_cell(cells[words]) if words in cells else "–" for words in lengths]


def _over_tasks(found: Mapping[int, Mapping[int, Result]], words: int) -> str:
    """The mean over tasks, where all of them were tested at this length."""
    if any(words not in cells for cells in found.values()):
        return "–"
    return number(statistics.fmean(cells[words]["accuracy"] for cells in found.values()))


def open_gates(table: str) -> dict[int, float]:
    """By task: accuracy on bAbI, as their cards say, of the shipped networks whose gates do not shut."""
    preset, found = load_preset(table), {}
    for task in map(int, preset.tasks):
        name = "babi-joint" if preset.joint else f"babi-qa{task}"
        card = read_card(name)
        error = card["task_test_errors"][str(task)] if preset.joint else card["test_error"]
        found[task] = round(100 - error, 3)
    return found


def _cell(cell: Result) -> str:
    return spread(cell["accuracy"], cell["sd"] if cell["seeds"] > 1 else None)


def _published() -> str:
    text = (
        "## As published\n\nThe benchmark's own texts and samples, lengths in tokens: not the documents "
        "above, so these figures stand beside ours, not against them.\n\n"
    )
    for model, tasks in PUBLISHED.items():
        rows = [[str(task), *map(str, values)] for task, values in tasks.items()]
        text += f"{model}:\n\n" + markdown_table(["task", *PUBLISHED_LENGTHS], rows, left=1) + "\n"
    rows = [[str(task), *map(str, values)] for task, values in PUBLISHED_PHI.items()]
    return text + "Phi-3-mini (128k):\n\n" + markdown_table(["task", "1k", "128k"], rows, left=1)


def summary_rows(results: Path = Path("results")) -> list[list[str]]:
    """For the summary: experiment, mean over seeds, seeds chosen on validation, nothing in the paper."""
    rows = []
    for table, what in TABLES.items():
        found = details(results, table)
        at = [cells[AT] for cells in found.values() if AT in cells]
        if at:
            mean = statistics.fmean(cell["accuracy"] for cell in at)
            best = statistics.fmean(cell["best"] for cell in at)
            title = f"Facts among 1,000,000 words of books, {len(at)} tasks, {what}: accuracy, %"
            name = f"[{title}](babilong.md)"
            rows.append([name, f"{mean:.1f}", f"{best:.1f}", "–"])
    return rows


def plot_lengths(path: Path, results: Path) -> None:
    """Accuracy against length: ours per task, and a published model's for scale."""
    from entnet.report.charts import FAINT, OURS, THEIRS, _figure

    figure, axes = _figure(8, 3.8, 1, 1)
    axis = axes[0]
    for table, colour in (("babilong", FAINT), ("babilong-joint", OURS)):
        for place, cells in enumerate(details(results, table).values()):
            shown: list[float] = [max(words, 100) for words in cells]
            correct = [cell["accuracy"] for cell in cells.values()]
            label = f"ours, {TABLES[table]} (words)" if place == 0 else None
            axis.plot(
                shown, correct, color=colour, marker="o", markersize=3, linewidth=1, label=label
            )
    for model, tasks in PUBLISHED.items():
        for place, (task, values) in enumerate(tasks.items()):
            shown = [max(_TOKENS[name], 100) for name in PUBLISHED_LENGTHS]
            label = f"{model}, published, tasks 1 to 5 (tokens)" if place == 0 else None
            axis.plot(
                shown,
                values,
                color=THEIRS,
                marker="s",
                markersize=3,
                linewidth=1,
                linestyle="--",
                label=label,
            )
            axis.text(
                shown[-1] * 1.15, values[-1], str(task), fontsize=7, color="#777777", va="center"
            )
    axis.set_xscale("log")
    axis.set_xticks([100, 1e3, 1e4, 1e5, 1e6, 1e7], ["0", "1k", "10k", "100k", "1M", "10M"])
    axis.set_ylim(0, 103)
    axis.set_xlabel("length of the document")
    axis.set_ylabel("accuracy, %")
    axis.set_title("Facts hidden in books", fontsize=10, loc="left")
    axis.legend(frameon=False, fontsize=8, loc="lower left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None})
