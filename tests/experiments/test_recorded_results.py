"""The committed results: every line is of the recipe its preset gives, and the report is made from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from entnet.experiments.plan import specs_of
from entnet.experiments.preset import load_preset, preset_names
from entnet.experiments.results import read_results, results_path
from entnet.report.write import write_report

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"


LINES = {
    "1k": 20,
    "auto-10k": 23,
    "auto-1k": 20,
    "babilong": 50,
    "babilong-joint": 5,
    "best-10k": 48,
    "best-1k": 134,
    "best-bow": 61,
    "best-joint": 5,
    "bow": 201,
    "generated": 6,
    "joint": 7,
    "memn2n": 6,
    "memn2n-1k": 40,
    "propara": 20,
    "table1a": 70,
    "table1b": 5,
    "table2": 229,
    "table3": 7,
    "table4": 22,
    "tied": 49,
    "world": 1,
    "world-start": 1,
}
"""Committed lines per table. More may be added; none may go missing unnoticed."""


@pytest.mark.parametrize("name", preset_names())
def test_every_line_has_the_recipe_of_its_preset(name: str) -> None:
    """Renaming a setting or a variant must not orphan a number."""
    preset = load_preset(name)
    lines = read_results(results_path(RESULTS, name))
    assert len(lines) >= LINES.get(name, 0)
    other = []
    for line in lines:
        if "recipe" not in line:  # older lines of the grid and of CBT; their own tests know them
            assert preset.benchmark != "babi"
            continue
        tasks = None if preset.joint else [line["task"]]
        (spec,) = specs_of(preset, Path("runs"), tasks, [line["seed"]], [line["variant"]])
        if spec.recipe != line["recipe"]:
            other.append((line["task"], line["variant"], line["seed"]))
    assert not other


def test_the_report_on_the_committed_results_is_the_committed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    # Pictures differ with the version of Matplotlib; their names are enough here.
    monkeypatch.setattr(Figure, "savefig", lambda self, path, **_: None)
    readme = tmp_path / "README.md"
    readme.write_bytes((ROOT / "README.md").read_bytes())
    (tmp_path / "docs").mkdir()
    recipes = (ROOT / "docs" / "recipes.md").read_bytes()
    (tmp_path / "docs" / "recipes.md").write_bytes(recipes)
    written = write_report(RESULTS, tmp_path / "docs", readme)
    assert readme in written
    for path in written:
        committed = ROOT / path.relative_to(tmp_path)
        if path.parent.name == "images":
            assert committed.is_file()
        else:
            assert path.read_bytes() == committed.read_bytes(), committed
    kept = {path.relative_to(ROOT) for path in (ROOT / "docs" / "results").rglob("*")}
    made = {path.relative_to(tmp_path) for path in (tmp_path / "docs" / "results").rglob("*")}
    assert kept == made  # no page is left over from a table that is no more
