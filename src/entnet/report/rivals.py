"""The systems that the paper compares with, run here: figures beside published ones, never mixed."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from statistics import fmean
from typing import Any

from entnet.experiments.preset import load_preset
from entnet.report.figures import TableFigures, rounded, table_figures
from entnet.report.markdown import Page, markdown_table, number, spread

SYSTEMS: dict[str, dict[str, str]] = {
    "memn2n": {
        "10k": "memn2n",
        "bow": "memn2n-bow",
        "1k": "memn2n-1k",
        "joint": "memn2n-joint",
    },
    "dmn": {"10k": "dmn"},
    "qrn": {"10k": "qrn", "1k": "qrn-1k"},
    "ntm": {"joint": "ntm-joint"},
    "dnc": {"joint": "dnc-joint"},
    "dnc-md": {"joint": "dnc-md-joint"},
    "adnc": {"joint": "adnc-joint"},
    "dntm": {"10k": "dntm"},
    "lstm": {"joint": "lstm-joint"},
}
"""The preset of each system in each setting."""

TITLE = "The systems that the paper compares with, run here"
NOTE = """Every system below was trained and tested by this package on the same stories; *published* is what
its own paper or the paper of the comparison reports. *Best* is the run chosen on validation, *mean* is over
all runs; ▼ marks a best above the published figure. Where tasks are missing, the published figure is the
mean of the same tasks. Task 3 of the 10k set is trained on generated stories, for all systems alike, as the
official file is not to be had.
"""


def figures(results: Path) -> dict[str, Any]:
    """As `entnet report --json` gives them, under ``rivals``."""
    found: dict[str, dict[str, Any]] = {}
    for system, settings in SYSTEMS.items():
        for setting, table in _tables(settings, results).items():
            found.setdefault(system, {})[setting] = _to_dict(table)
    return {"rivals": found} if found else {}


def _tables(settings: dict[str, str], results: Path) -> dict[str, TableFigures]:
    made = {
        setting: table_figures(load_preset(preset), results) for setting, preset in settings.items()
    }
    return {setting: table for setting, table in made.items() if table.tasks}


def _to_dict(table: TableFigures) -> dict[str, Any]:
    means = [task.mean for task in table.tasks.values()]
    return {
        "best": None if table.mean_error is None else rounded(table.mean_error),
        "mean": rounded(fmean(means)) if table.complete else None,
        "failed": table.failed,
        "seeds": max(task.seeds for task in table.tasks.values()),
        "published": table.paper.mean,
        "core_hours": round(table.core_hours, 2),
        "tasks": {
            str(task_number): {
                "best": rounded(task.error),
                "mean": rounded(task.mean),
                "sd": rounded(task.sd),
                "seeds": task.seeds,
                "planned": task.planned,
                "published": None if isnan(task.paper) else float(task.paper),
            }
            for task_number, task in table.tasks.items()
        },
    }


def pages(results: Path) -> list[Page]:
    """A table of means, one row per system and setting; every task's figures on the page of runs."""
    rows, details = [], []
    for system, settings in SYSTEMS.items():
        for setting, table in _tables(settings, results).items():
            rows.append(_row(system, setting, table))
            details.append(_details(system, setting, table))
    if not rows:
        return []
    head = ["system", "setting", "best", "mean ± sd", "runs per task", "failed", "published"]
    body = "\n".join([NOTE, markdown_table(head, rows, left=2)])
    return [Page("rivals", TITLE, body, "\n".join(details))]


def _row(system: str, setting: str, table: TableFigures) -> list[str]:
    done = len(table.tasks)
    few = "" if table.complete else f" ({done} of {len(table.preset.tasks)} tasks)"
    best = fmean(task.error for task in table.tasks.values())
    seeds = sorted({task.seeds for task in table.tasks.values()})
    runs = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}–{seeds[-1]}"
    known = [task.paper for task in table.tasks.values() if not isnan(task.paper)]
    whole = table.complete or len(known) < done
    published = table.paper.mean if whole else fmean(known)
    short = " ▼" if best > published and (table.complete or not whole) else ""
    return [
        system,
        setting + few,
        f"{best:.1f}{short}",
        spread(table.mean_over_seeds, table.sd_over_seeds),
        runs,
        str(table.failed),
        f"{published:.1f}" + ("" if table.complete else " (of all)" if whole else " (of these)"),
    ]


def _details(system: str, setting: str, table: TableFigures) -> str:
    rows = [
        [
            str(task_number),
            f"{task.error:.1f}",
            f"{task.mean:.1f} ± {task.sd:.1f}",
            f"{task.seeds}" + ("" if task.seeds >= task.planned else f" of {task.planned}"),
            "–" if isnan(task.paper) else f"{task.paper:.1f}",
        ]
        for task_number, task in table.tasks.items()
    ]
    head = ["task", "best, here", "mean ± sd, here", "runs", f"published ({table.paper.name})"]
    worse = [task for task in table.worse_than_paper if not isnan(table.tasks[task].paper)]
    lines = [f"## {system}, {setting}: {table.title}\n", f"`{table.command}`\n"]
    lines.append(markdown_table(head, rows))
    if worse:
        lines.append(f"\nAbove the published figure: task {', '.join(map(str, worse))}.\n")
    return "\n".join(lines)


def summary_rows(results: Path) -> list[list[str]]:
    """For the summary, a row per complete setting: mean ± deviation, best on validation, published."""
    rows = []
    for system, settings in SYSTEMS.items():
        for setting, table in _tables(settings, results).items():
            if table.mean_error is not None:
                mean = spread(table.mean_over_seeds, table.sd_over_seeds, 2)
                best = f"{number(table.mean_error, 2)}, {table.failed} failed"
                paper = f"{table.paper.mean:g}, {table.paper.failed} failed"
                rows.append([f"[bAbI, {system}, {setting}](rivals.md)", mean, best, paper])
    return rows
