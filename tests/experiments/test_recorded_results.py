"""The committed results: every line is of the recipe its preset gives, and the report is made from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from entnet.experiments.preset import load_preset, preset_names
from entnet.experiments.report.write import write_report
from entnet.experiments.results import read_results, results_path
from entnet.experiments.spec import specs_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"


def recorded_lines() -> Iterator[dict[str, Any]]:
    for name in preset_names():
        yield from read_results(results_path(RESULTS, name))


def test_no_line_is_missing() -> None:
    assert sum(1 for _ in recorded_lines()) >= 704


@pytest.mark.parametrize("name", preset_names())
def test_every_line_has_the_recipe_of_its_preset(name: str) -> None:
    preset = load_preset(name)
    other = []
    for line in read_results(results_path(RESULTS, name)):
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
    monkeypatch.setattr(Figure, "savefig", lambda self, path, **_: Path(path).touch())
    readme = tmp_path / "README.md"
    readme.write_bytes((ROOT / "README.md").read_bytes())
    docs = tmp_path / "docs"
    (docs / "images").mkdir(parents=True)
    written = write_report(RESULTS, docs, readme)
    assert readme in written
    assert readme.read_bytes() == (ROOT / "README.md").read_bytes()
    assert (docs / "RESULTS.md").read_bytes() == (ROOT / "docs" / "RESULTS.md").read_bytes()
    for path in written:
        if path.parent.name == "images":
            assert (ROOT / "docs" / "images" / path.name).is_file()
