"""Copy and repeat-copy in the report: wrong bits on sequences shorter and longer than in training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from entnet.experiments.preset import load_preset
from entnet.experiments.results import read_results, results_path
from entnet.report.figures import deviation
from entnet.report.markdown import Page, markdown_table, spread
from entnet.tasks.spec import Result

PRESETS = ("copy", "repeat-copy")
TITLE = "Memory machines that copy"
NOTE = """Bits are shown, step by step, and must then be said again from memory alone; in repeat-copy, as
often as was asked for. Figures are wrong bits in percent, on 256 sequences never seen, mean ± standard
deviation over seeds; guessing gives 50. A run keeps the epoch that does best on sequences of the longest
length in training.
"""


def _runs(preset: str, results: Path) -> dict[str, list[Result]]:
    """By machine."""
    found: dict[str, list[Result]] = {}
    for line in read_results(results_path(results, preset)):
        if "+" not in line["variant"]:
            found.setdefault(line["variant"], []).append(line)
    return found


def _errors(lines: Sequence[Result], cell: str) -> list[float]:
    return [float(line["best"]["cells"][cell]["test_error"]) for line in lines]


def figures(results: Path) -> dict[str, Any]:
    """By preset, machine and length: mean, deviation, seeds."""
    found: dict[str, Any] = {}
    for preset in PRESETS:
        for machine, lines in _runs(preset, results).items():
            cells = {
                cell: {
                    "mean": round(fmean(errors), 4),
                    "sd": round(deviation(errors), 4),
                    "seeds": len(errors),
                }
                for cell in lines[0]["best"]["cells"]
                for errors in [_errors(lines, cell)]
            }
            found.setdefault(preset, {})[machine] = cells
    return found


def pages(results: Path) -> list[Page]:
    parts = []
    for name in PRESETS:
        runs = _runs(name, results)
        if not runs:
            continue
        preset = load_preset(name)
        (longest,) = preset.tasks
        repeats = preset.model.get("most_repeats", 1)
        said = f", said up to {repeats} times (length × times)" if repeats > 1 else ""
        parts += [f"## {name}\n", f"`entnet reproduce {name}`\n"]
        parts.append(f"Trained on sequences of 1 to {longest} steps{said}.\n")
        cells = list(next(iter(runs.values()))[0]["best"]["cells"])
        rows = [
            [machine, *(_cell(_errors(lines, cell)) for cell in cells), str(len(lines))]
            for machine, lines in runs.items()
        ]
        parts.append(markdown_table(["", *cells, "seeds"], rows))
    return [Page("copy", TITLE, "\n".join([NOTE, *parts]))] if parts else []


def _cell(errors: Sequence[float]) -> str:
    return spread(fmean(errors), deviation(errors) if len(errors) > 1 else None, 2)


def summary_rows(results: Path) -> list[list[str]]:
    """None: nothing was published to stand beside."""
    return []
