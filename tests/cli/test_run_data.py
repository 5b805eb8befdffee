"""A run directory knows its data: nothing else is passed off as it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from entnet import EntNetError, write_babi, write_jsonl
from entnet.cli import app
from small_networks import make_stories


def train(folder: Path, *options: str, data: str = "train.txt") -> Result:
    command = [
        "train",
        "--train",
        str(folder / data),
        "--out",
        str(folder / "run"),
        "--epochs",
        "2",
    ]
    return CliRunner().invoke(app, [*command, "--set", "width=8", "--set", "slots=3", *options])


def result(done: Result) -> dict[str, Any]:
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Training stories, others, test stories, and a finished run without a test."""
    for name, seed in (("train.txt", 1), ("other.txt", 2), ("test.txt", 3), ("test2.txt", 4)):
        write_babi(tmp_path / name, make_stories(40, seed))
    result(train(tmp_path, "--json"))
    return tmp_path


def test_a_finished_run_of_other_data_is_refused(folder: Path) -> None:
    done = train(folder, data="other.txt")
    assert isinstance(done.exception, EntNetError)
    assert "other data (--train was train.txt, not other.txt)" in str(done.exception)


def test_the_content_decides_and_not_the_name(folder: Path) -> None:
    write_jsonl(folder / "same.jsonl", make_stories(40, 1))
    assert result(train(folder, "--json", data="same.jsonl"))["epochs"] == 2
    write_babi(folder / "train.txt", make_stories(40, 5))
    done = train(folder)
    assert isinstance(done.exception, EntNetError)
    assert "train.txt with other content" in str(done.exception)


def test_validation_given_later_is_refused(folder: Path) -> None:
    done = train(folder, "--valid", str(folder / "other.txt"))
    assert "--valid was none, not other.txt" in str(done.exception)


def test_a_test_given_later_is_scored_and_said(folder: Path) -> None:
    done = train(folder, "--test", str(folder / "test.txt"), "--json")
    assert "not scored on test.txt when it ended" in " ".join(done.stderr.split())
    got = result(done)
    evaluated = CliRunner().invoke(
        app, ["evaluate", str(folder / "run"), str(folder / "test.txt"), "--json"]
    )
    assert got["best"]["test_error"] == json.loads(evaluated.stdout)["error_percent"]
    assert got["best"]["test_questions"] == 200
    assert "test_error" not in got["last"]  # only the chosen network is scored


def test_another_test_replaces_the_scores_of_the_first(tmp_path: Path) -> None:
    for name, seed in (("train.txt", 1), ("test.txt", 3)):
        write_babi(tmp_path / name, make_stories(40, seed))
    write_babi(tmp_path / "short.txt", make_stories(3, 9))
    first = result(train(tmp_path, "--test", str(tmp_path / "test.txt"), "--json"))
    assert first["last"]["test_questions"] == 200
    again = train(tmp_path, "--test", str(tmp_path / "test.txt"), "--json")
    assert result(again) == first
    assert "nothing was trained" in again.stderr
    other = result(train(tmp_path, "--test", str(tmp_path / "short.txt"), "--json"))
    assert other["best"]["test_questions"] == 15
    assert "test_questions" not in other["last"]


def test_stories_in_training_and_test_are_pointed_out(tmp_path: Path) -> None:
    stories = make_stories(40, 1)
    write_babi(tmp_path / "train.txt", stories)
    write_babi(tmp_path / "test.txt", [*stories[:3], *make_stories(5, 2)])
    done = train(tmp_path, "--test", str(tmp_path / "test.txt"))
    assert "3 of the 8 stories of test.txt are in train.txt too" in " ".join(done.stderr.split())


def test_a_run_that_did_not_record_its_data_says_so(folder: Path) -> None:
    for name in ("run.json", "result.json"):
        path = folder / "run" / name
        path.write_text(path.read_text().replace('"data"', '"data_of_old"'))
    assert "does not record its data" in train(folder).stderr
