"""ProPara in the report: both official scores, beside published ones in a column of their own."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from entnet.experiments.results import read_results, results_path
from entnet.report.markdown import Page, markdown_table
from entnet.tasks.spec import Result

TABLE = "propara"
SYSTEMS = {"entnet": "EntNet", "lstm": "LSTM", "qrn": "QRN", "ours": "ours"}
PARTS = {
    "no-pretraining": "no pre-training; 20 epochs on real paragraphs",
    "no-pretraining-12": "no pre-training; 12 epochs on real paragraphs, as ours has",
    "words-alone": "no recurrent encoder: each word is read alone",
    "one-way": "slots read from the first sentence alone, not from the last too",
    "no-others": "slots hear nothing of the other participants",
    "places-by-name": "places scored by their names, not by what stands around them",
    "no-chain": "events taken one by one, without a chain",
    "no-caution": "`decode_caution` 0 and `decode_place_weight` 1",
    "gru-memory": "a GRU in place of slots",
    "exchange-0_5": "participants have one another's names in half of the paragraphs read",
}
"""The trials: ours with one part left out or changed."""
FIGURES: dict[str, Callable[[Result], float]] = {
    "precision": lambda scores: float(scores["document"]["precision"]),
    "recall": lambda scores: float(scores["document"]["recall"]),
    "f1": lambda scores: float(scores["document"]["f1"]),
    **{
        name: (lambda scores, name=name: float(scores["sentence"][name]))  # type: ignore[misc]
        for name in ("cat1", "cat2", "cat3", "macro", "micro")
    },
}

BOTH = {"F1": lambda scores: 100 * FIGURES["f1"](scores), "macro": FIGURES["macro"]}
"""What networks are chosen by, in percent."""

PUBLISHED: dict[str, tuple[str, str, str, str]] = {
    "EntNet": ("54.7", "30.7", "39.4", "26.07"),
    "QRN": ("60.9", "31.1", "41.1", "–"),
    "ProLocal": ("81.7", "36.8", "50.7", "–"),
    "ProGlobal": ("61.7", "44.8", "51.9", "–"),
    "ProStruct": ("74.3", "43.0", "54.5", "–"),
}
"""Precision, recall and F1 by document and the macro mean by sentence, in percent, as papers print them."""


def details(results: Path = Path("results")) -> dict[str, Result]:
    """For each system its seeds, and mean and deviation of every figure on test and development."""
    found: dict[str, Result] = {}
    for system in SYSTEMS:
        lines = [
            line
            for line in read_results(results_path(results, TABLE))
            if line["variant"] == system and "test" in line["best"]
        ]
        if lines:
            parts = {
                part: {
                    name: _spread([figure(line["best"][part]) for line in lines])
                    for name, figure in FIGURES.items()
                }
                for part in ("test", "valid")
            }
            seconds = statistics.fmean(float(line["cpu_seconds"]) for line in lines)
            found[system] = {"seeds": len(lines), "cpu_seconds": round(seconds, 1), **parts}
    return found


def _spread(values: list[float]) -> dict[str, float]:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return {"mean": round(statistics.fmean(values), 4), "sd": round(deviation, 4)}


def figures(results: Path = Path("results")) -> dict[str, Any]:
    """``{"propara": {"entnet": {"f1": …, "macro": …}, …}}``: means over seeds, on test."""
    found = details(results)
    if not found:
        return {}
    table: dict[str, Any] = {
        system: {name: line["test"][name]["mean"] for name in ("f1", "macro")}
        for system, line in found.items()
    }
    return {TABLE: {**table, "detail": found}}


def ablation(results: Path = Path("results")) -> list[list[str]]:
    """What each part of ours brings on development: F1, macro, and the difference to ours, same seeds."""
    lines = list(read_results(results_path(results, TABLE)))
    scores = {
        (line["variant"], line["seed"]): {
            name: percent(line["best"]["valid"]) for name, percent in BOTH.items()
        }
        for line in lines
    }
    rows = []
    for variant, what in {"ours": "ours", **PARTS}.items():
        seeds = [seed for name, seed in scores if name == variant]
        if not seeds:
            continue
        row = [what]
        for name in BOTH:
            values = [scores[variant, seed][name] for seed in seeds]
            row.append(_shown(_spread(values)))
            gaps = [
                scores[variant, s][name] - scores["ours", s][name]
                for s in seeds
                if ("ours", s) in scores
            ]
            row.append(f"{statistics.fmean(gaps):+.1f}" if gaps and variant != "ours" else "–")
        rows.append([*row, str(len(seeds))])
    return rows if len(rows) > 1 else []


TITLE = "ProPara: what exists, and where"
NOTE = """\
`entnet reproduce propara` · [about the data and the systems](../propara.md)

Test, mean ± standard deviation over seeds, in percent; settings were chosen on development. P, R and F1 are
by document, the others by sentence.
"""
ABLATION = """
## What each part of ours brings

Development, mean ± standard deviation over seeds, in percent; beside it the difference to ours with the
same seeds. Test was not scored (`entnet reproduce propara --trials`).
"""
PRINTED = """
As papers print them, in percent. The published questions by sentence come from a file of their own, so
macro means compare in scale only.
"""


def pages(results: Path = Path("results")) -> list[Page]:
    """The table of systems run here, and the published one; none without results."""
    found = details(results)
    if not found:
        return []
    document = ("precision", "recall", "f1")
    sentence = ("cat1", "cat2", "cat3", "macro", "micro")
    rows = [
        [
            SYSTEMS[system],
            *(_shown(line["test"][name], 100) for name in document),
            *(_shown(line["test"][name]) for name in sentence),
            str(line["seeds"]),
            f"{line['cpu_seconds']:.0f}",
        ]
        for system, line in found.items()
    ]
    headings = ["system", "P", "R", "F1", "Cat-1", "Cat-2", "Cat-3", "macro", "micro"]
    published = markdown_table(
        ["published", "P", "R", "F1", "macro"], [[name, *row] for name, row in PUBLISHED.items()]
    )
    table = markdown_table([*headings, "runs", "seconds"], rows)
    body = f"{NOTE}\n{table}{PRINTED}\n{published}"
    if parts := ablation(results):
        head = ["ours, but", "F1", "difference", "macro", "difference", "runs"]
        body += f"{ABLATION}\n{markdown_table(head, parts)}"
    return [Page(TABLE, TITLE, body, _runs(results))]


def _runs(results: Path) -> str:
    """Every run, on development and on test."""
    rows: list[list[str]] = [
        [
            SYSTEMS.get(line["variant"], str(line["variant"])),
            str(line["seed"]),
            *(
                f"{percent(line['best'][part]):.1f}" if part in line["best"] else "–"
                for part in ("valid", "test")
                for percent in BOTH.values()
            ),
            f"{line['cpu_seconds']:.0f}",
        ]
        for line in read_results(results_path(results, TABLE))
    ]
    head = ["system", "seed", "F1, development", "macro, development", "F1, test", "macro, test"]
    return markdown_table([*head, "seconds"], rows)


def _shown(spread: dict[str, float], scale: float = 1) -> str:
    return f"{scale * spread['mean']:.1f} ± {scale * spread['sd']:.1f}"


def summary_rows(results: Path = Path("results")) -> list[list[str]]:
    """For the summary: experiment, mean ± deviation over seeds, best on validation, the paper's."""
    rows = []
    for system, line in details(results).items():
        paper = PUBLISHED[SYSTEMS[system]][2] if SYSTEMS[system] in PUBLISHED else "–"
        what = f"[ProPara, {SYSTEMS[system]}: F1 by document, %](propara.md)"
        rows.append([what, _shown(line["test"]["f1"], 100), "–", paper])
    return rows
