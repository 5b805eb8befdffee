"""What our recipes change, and its effect: the tables of docs/recipes.md."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from statistics import fmean
from typing import Any

from entnet.data.babi import TASK_NAMES
from entnet.experiments.results import read_results, results_path
from entnet.report.figures import deviation
from entnet.report.markdown import markdown_table, put_between_markers, spread

Change = dict[str, Any]


def with_changes(text: str, results: Path) -> str:
    """The page of recipes with its tables filled in, as far as there are results."""
    for name, changes in read_changes().items():
        done = [
            change for change in changes if all(_errors(v, change, results) for v in _both(change))
        ]
        if done:
            text = put_between_markers(text, name, changes_table(done, results)) or text
    return text


def read_changes() -> dict[str, list[Change]]:
    """The rows of every table, from changes.toml."""
    file = resources.files("entnet.report") / "changes.toml"
    return tomllib.loads(file.read_text("utf-8"))


def changes_table(changes: list[Change], results: Path) -> str:
    """One row per change: where, and test error without and with it."""
    rows = []
    for change in changes:
        effects = [f"{_effect(_errors(v, change, results))} {_link(v)}" for v in _both(change)]
        task = f"{change['task']} {TASK_NAMES[change['task']]}"
        rows.append([change["change"], change["setting"], task, *effects])
    return markdown_table(["change", "setting", "task", "without", "with"], rows, left=3)


def _both(change: Change) -> tuple[str, str]:
    """What is compared: TABLE/VARIANT without the change, and with it."""
    return change["without"], change["with"]


def _errors(name: str, change: Change, results: Path) -> list[float]:
    """Test errors of a variant's runs on the change's task."""
    table, _, variant = name.partition("/")
    lines = read_results(results_path(results, table))
    wanted = (change["task"], variant)
    return [
        line["best"]["test_error"] for line in lines if (line["task"], line["variant"]) == wanted
    ]


def _effect(errors: list[float]) -> str:
    """Mean ± deviation, and the number of runs."""
    known = deviation(errors) if len(errors) > 1 else None
    return f"{spread(fmean(errors), known)} ({len(errors)})"


def _link(name: str) -> str:
    table, _, variant = name.partition("/")
    return f"[{variant}](results/runs/{table}.md)"
