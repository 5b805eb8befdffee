"""Every committed result still belongs to its preset: renaming a setting must not orphan a number."""

from __future__ import annotations

from pathlib import Path

import pytest

from entnet.experiments.preset import load_preset, preset_names
from entnet.experiments.results import read_results, results_path
from entnet.experiments.spec import specs_of

RESULTS = Path(__file__).parents[2] / "results"

LINES = {
    "1k": 20,
    "best-10k": 48,
    "best-1k": 134,
    "best-bow": 61,
    "best-joint": 5,
    "bow": 201,
    "generated": 6,
    "joint": 7,
    "table2": 166,
    "table3": 7,
    "tied": 49,
}
"""Committed lines per table. More may be added; none may go missing unnoticed."""


@pytest.mark.parametrize("table", preset_names())
def test_committed_results_have_their_presets_recipe(table: str) -> None:
    preset = load_preset(table)
    lines = read_results(results_path(RESULTS, table))
    assert len(lines) >= LINES[table]
    for line in lines:
        tasks = None if preset.joint else [line["task"]]
        (spec,) = specs_of(preset, Path("runs"), tasks, [line["seed"]], [line["variant"]])
        assert line["recipe"] == spec.recipe, f"{spec.name} of {table}"
