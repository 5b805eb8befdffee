"""``entnet compare``: several systems on the same stories, each with the same time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from entnet.cli import app
from entnet.data.jsonl import write_jsonl
from entnet.experiments.sweep import Sweep
from entnet.experiments.workers import LocalWorkers
from entnet.models import kinds, model_class
from entnet.report.comparison import comparison, standings, system_names, table_rows
from small_networks import make_stories

run = CliRunner().invoke


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    train, test = tmp_path / "mine.jsonl", tmp_path / "held-out.jsonl"
    write_jsonl(train, make_stories(60, 1, 3))
    write_jsonl(test, make_stories(20, 2, 3))
    return train, test


@pytest.mark.slow
def test_own_stories_side_by_side(files: tuple[Path, Path], tmp_path: Path) -> None:
    train, test = files
    out = tmp_path / "out"
    command = ["compare", "--systems", "qrn,dnc", "--train", str(train), "--test", str(test)]
    command += ["--minutes", "0.01", "--seeds", "1", "--jobs", "2", "--out", str(out)]
    result = run(app, command)
    assert result.exit_code == 0, result.output
    figures = json.loads((out / "compare.json").read_text())["systems"]
    assert set(figures) == {"qrn", "dnc"}
    for system in figures.values():
        assert 0 <= system["tasks"]["mine"]["mean"] <= 100
        assert system["parameters"] > 1000
        assert system["seconds_per_epoch"] > 0
    assert (out / "compare.png").stat().st_size > 1000
    assert "| qrn |" in (out / "compare.md").read_text()
    # Again: nothing is left to do, and the same comes out.
    lines = (out / "compare.jsonl").read_text()
    again = run(app, [*command, "--json", "--no-chart"])
    assert again.exit_code == 0, again.output
    assert (out / "compare.jsonl").read_text() == lines
    # With more time, or other stories, it is another comparison.
    more = [*command, "--minutes", "0.02"]
    assert "give another --out" in str(run(app, more).exception)
    write_jsonl(train, make_stories(61, 1, 3))
    refused = run(app, command)
    assert refused.exit_code == 1
    assert "give another --out" in str(refused.exception)


def test_every_network_for_stories_has_a_recipe_and_the_same_time(tmp_path: Path) -> None:
    specs = comparison(tmp_path, [], 2.0, 3, [1, 3])
    of_stories = {
        kind
        for kind in kinds()
        if model_class(kind).__module__.rpartition(".")[0] == "entnet.models"
    }
    assert {spec.kind for spec in specs} == of_stories
    assert {spec.train["max_seconds"] for spec in specs} == {120.0}
    assert len(specs) == len(system_names()) * 2 * 3
    assert len({spec.directory for spec in specs}) == len(specs)


def test_the_best_comes_first_and_means_are_over_seeds(tmp_path: Path) -> None:
    line = {"table": "compare", "seconds": 60.0, "epochs": 30, "parameters": 10, "task": 1}
    line["train"] = {"max_seconds": 60.0}
    lines = [
        {**line, "variant": system, "seed": seed, "best": {"test_error": error}}
        for system, errors in {"one": (4.0, 8.0), "two": (5.0, 5.0)}.items()
        for seed, error in enumerate(errors, start=1)
    ]
    path = tmp_path / "compare.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = standings(path)
    assert [one.system for one in found] == ["two", "one"]
    assert found[1].mean == 6.0
    assert found[0].seconds_per_epoch == 2.0
    head, rows = table_rows(found)
    assert len(head) == len(rows[0])
    assert rows[1][1] == "6.0 ± 2.8"
    assert dict(zip(head, rows[1], strict=True))["runs"] == "2 (2 cut)"


def test_no_more_time_is_said_to_be_left_than_the_runs_have(tmp_path: Path) -> None:
    sweep = Sweep(comparison(tmp_path, ["ntm"], 2.0, 3, [1]), tmp_path / "r", LocalWorkers(1))
    sweep.waiting = list(sweep.specs)
    assert sweep.seconds_left() == 3 * 120.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--systems", "abacus"], "no system 'abacus'"),
        (["--test", "x.jsonl"], "--train is missing"),
        (["--train", "x.jsonl"], "--train needs --test"),
        (["--train", "x.jsonl", "--test", "y.jsonl"], "no such file"),
        (["--minutes", "0"], "--minutes must be above 0"),
        (["--tasks", "one"], "--tasks"),
    ],
)
def test_impossible_comparisons_are_refused(
    arguments: list[str], said: str, tmp_path: Path
) -> None:
    result = run(app, ["compare", "--out", str(tmp_path), *arguments])
    assert result.exit_code != 0
    assert said in result.output + str(result.exception)
