"""``entnet train`` as it comes: what it finds, what it says of bad input, and what it advises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from entnet import Question, Story, write_babi
from entnet.cli import app
from entnet.cli.train import advice
from symmetries.depots import PARCELS, depot_stories


def train(folder: Path, stories: list[Story], *options: str) -> Result:
    write_babi(folder / "train.txt", stories)
    command = ["train", "--train", str(folder / "train.txt"), "--out", str(folder / "run")]
    small = ["--epochs", "1", "--set", "width=8", "--set", "slots=3"]
    return CliRunner().invoke(app, [*command, *small, *options], env={"COLUMNS": "200"})


def test_found_words_are_shown_and_the_cost_is_said(tmp_path: Path) -> None:
    done = train(tmp_path, depot_stories(100))
    assert done.exit_code == 0, (done.output, done.exception)
    assert ", ".join(PARCELS) in done.output
    assert "updates in" in done.output


def test_the_card_has_the_symmetries(tmp_path: Path) -> None:
    assert train(tmp_path, depot_stories(100), "--json").exit_code == 0
    card = json.loads((tmp_path / "run" / "model" / "card.json").read_text())
    assert "symmetries" in card
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert PARCELS in result["proposed"]["groups"]


@pytest.mark.parametrize(
    ("stories", "said"),
    [
        pytest.param(depot_stories(20), "18 stories are too few to tell", id="few"),
        pytest.param(
            [Story(("The cat sleeps.",), (Question(1, "Who sleeps?", "cat"),))] * 60,
            "no words are found to be interchangeable",
            id="words that never vary",
        ),
    ],
)
def test_bad_input_is_said_in_a_line_and_training_goes_on(
    tmp_path: Path, stories: list[Story], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    done = train(tmp_path, stories)
    assert done.exit_code == 0, (done.output, done.exception)
    lines = [record.getMessage() for record in caplog.records if said in record.getMessage()]
    assert len(lines) == 1
    assert "\n" not in lines[0]
    assert (tmp_path / "run" / "model").is_dir()


def test_a_file_without_questions_is_refused_in_a_line(tmp_path: Path) -> None:
    done = train(tmp_path, [Story(story.sentences, ()) for story in depot_stories(50)])
    assert done.exit_code != 0
    assert "no question" in str(done.exception)
    assert not (tmp_path / "run").exists()


def test_no_augment_looks_for_no_words(tmp_path: Path) -> None:
    done = train(tmp_path, depot_stories(100), "--no-augment", "--json")
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["proposed"] is None


def test_networks_that_need_candidates_are_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    write_babi(tmp_path / "train.txt", depot_stories(40))
    command = ["train", "--train", str(tmp_path / "train.txt"), "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(app, [*command, "--model", "window-memory"])
    assert "window-memory needs 10 candidates with every question" in str(done.exception)
    assert not (tmp_path / "run").exists()


def ended(valid_error: float, limit: int = 9, schedule: str = "auto") -> dict[str, Any]:
    """What a run of two epochs came to."""
    train = {"epochs": limit, "schedule": schedule}
    return {"epochs": 2, "best": {"valid_error": valid_error}, "train": train}


def metrics(folder: Path, *training_errors: float) -> Path:
    path = folder / "metrics.jsonl"
    path.write_text("".join(json.dumps({"train_error": error}) + "\n" for error in training_errors))
    return path


def test_memorised_stories_are_said_to_be(tmp_path: Path) -> None:
    (said,) = advice(metrics(tmp_path, 60.0, 0.5), ended(40.0))
    assert "memorises" in said
    assert "0.5%" in said
    assert "40.0%" in said


def test_stories_that_are_not_learnt_are_said_to_be(tmp_path: Path) -> None:
    (said,) = advice(metrics(tmp_path, 60.0, 50.0), ended(52.0))
    assert "does not learn" in said


def test_a_solved_task_needs_no_advice(tmp_path: Path) -> None:
    assert advice(metrics(tmp_path, 60.0, 0.0), ended(0.4)) == []


def test_a_run_that_its_limit_ended_says_nothing_of_the_network(tmp_path: Path) -> None:
    (said,) = advice(metrics(tmp_path, 60.0, 50.0), ended(52.0, limit=2))
    assert "ended by its limit of 2 epochs" in said
    (said,) = advice(metrics(tmp_path, 60.0, 50.0), ended(52.0, limit=2, schedule="halving"))
    assert "still falling (50.0%) when its 2 epochs ended" in said
    (said,) = advice(metrics(tmp_path, 50.0, 60.0), ended(52.0, limit=2, schedule="halving"))
    assert "does not learn" in said
