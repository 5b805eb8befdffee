"""``entnet reproduce`` from the command line, on small data with real worker processes."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from entnet.cli import app
from entnet.experiments.results import read_results


def test_reproducing_a_changed_table_keeps_its_results_apart(
    data_root: Path, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    arguments = ["reproduce", "best-10k", "--tasks", "1,4", "--seeds", "1", "--variant", "held"]
    arguments += ["--epochs", "2", "--set", "width=4", "--set", "slots=2", "--jobs", "2"]
    arguments += ["--data", str(data_root), "--runs", str(runs)]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.output
    assert "finished qa1 permute+epochs=2,slots=2,width=4 seed 1: epoch" in outcome.output
    lines = read_results(runs / "results" / "best-10k.jsonl")
    assert sorted(line["task"] for line in lines) == [1, 4]
    assert all(line["model"]["width"] == 4 for line in lines)
    again = CliRunner().invoke(app, arguments)
    assert "2 of 2 runs done" in again.output
    assert "started" not in again.output


def test_missing_data_is_told_once_before_anything_runs(tmp_path: Path) -> None:
    for table in ("table2", "joint", "generated"):
        folders = ["--runs", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
        arguments = ["reproduce", table, "--data", str(tmp_path), *folders]
        outcome = CliRunner().invoke(app, arguments)
        assert outcome.exit_code == 1
        assert "qa1_single-supporting-fact_test.txt is not under" in str(outcome.exception)
    assert not any(tmp_path.iterdir())


def test_trials_are_set_and_texts_are_tasks_in_any_case(tmp_path: Path) -> None:
    """A setting that only the trials' systems have; and what lacks is said before anything runs."""
    arguments = ["reproduce", "propara", "--trials", "--tasks", "Grids", "--set", "both_ways=false"]
    outcome = CliRunner().invoke(app, [*arguments, "--data", str(tmp_path)])
    assert outcome.exit_code == 1
    assert "grids.v1.train.json is not under" in str(outcome.exception)


def test_mistakes_are_told_before_anything_runs(data_root: Path, tmp_path: Path) -> None:
    common = ["--data", str(data_root), "--runs", str(tmp_path / "runs")]
    for arguments, complaint in (
        (["table9"], "no table 'table9'"),
        (["table1b", "--tasks", "3"], "no task 3 in table1b; it has 20"),
        (["table2", "--tasks", "21"], "no task 21"),
        (["table2", "--seeds", "one"], "--seeds"),
        (["table2", "--variant", "fast"], "no variant 'fast'"),
        (["table2", "--set", "widht=3"], "no setting 'widht'"),
        (["1k", "--trials"], "nothing else was tried for 1k"),
        (["table2", "--jobs", "0"], "'--jobs'"),
        (["table2", "--epochs", "0"], "epochs is 0, but must be at least 1"),
    ):
        outcome = CliRunner().invoke(app, ["reproduce", *arguments, *common])
        assert outcome.exit_code != 0
        assert complaint in f"{outcome.exception} {outcome.output}"
    assert not (tmp_path / "runs").exists()
