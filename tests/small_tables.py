"""Small data, small networks, and lines of results as a sweep writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entnet.data.babi import file_name, write_babi
from entnet.data.story import Question, Story
from entnet.experiments.preset import Preset, parse_preset

PEOPLE, PLACES = ("Mary", "John", "Daniel"), ("kitchen", "garden")


def moving_stories(count: int, first: int = 0) -> list[Story]:
    """Two people go somewhere, and one of them is asked for."""
    stories = []
    for number in range(first, first + count):
        person, other = PEOPLE[number % 3], PEOPLE[(number + 1) % 3]
        place, elsewhere = PLACES[number // 3 % 2], PLACES[number // 6 % 2]
        sentences = (f"{person} went to the {place}.", f"{other} went to the {elsewhere}.")
        stories.append(Story(sentences, (Question(2, f"Where is {person}?", place, (0,)),)))
    return stories


@pytest.fixture
def data_root(tmp_path: Path) -> Path:
    """A data directory in the official layout with tiny files for tasks 1, 2 and 4."""
    folder = tmp_path / "data" / "babi" / "en-10k"
    for task in (1, 2, 4):
        write_babi(folder / file_name(task, "train"), moving_stories(60, task))
        write_babi(folder / file_name(task, "test"), moving_stories(10, 200))
    return tmp_path / "data"


PRESET = """
title = "small"
seeds = 2
tasks = [1, 2, 4]
paper = ["table2", "EntNet"]
[model]
width = 4
slots = 2
[train]
epochs = 3
engine = "reference"
[task.2.train]
epochs = 4
"""


@pytest.fixture
def small() -> Preset:
    return parse_preset("small", PRESET)


MakeLine = Callable[..., dict[str, Any]]


@pytest.fixture
def make_line() -> MakeLine:
    """A line of results with given errors."""

    def make(
        task: int,
        seed: int = 1,
        valid: float = 0.0,
        test: float = 0.0,
        table: str = "table2",
        variant: str = "paper",
        last: tuple[float, float] | None = None,
        tasks: dict[int, float] | None = None,
    ) -> dict[str, Any]:
        at_end = last or (valid, test)
        line: dict[str, Any] = {
            "table": table,
            "task": task,
            "variant": variant,
            "seed": seed,
            "data": "en-10k",
            "train_data": "official",
            "recipe": "0",
            "train": {"select": "best"},
            "parameters": 1,
            "epochs": 3,
            "best_epoch": 2,
            "seconds": 36.0,
            "best": _scores(valid, test),
            "last": _scores(*at_end),
            "curve": {"epoch": [1, 3], "train_error": [50.0, 1.0], "valid_error": [60.0, valid]},
        }
        if tasks:
            line["tasks"] = {
                str(t): {"best": _scores(valid, e), "last": _scores(valid, e)}
                for t, e in tasks.items()
            }
        return line

    return make


def _scores(valid: float, test: float) -> dict[str, float]:
    return {
        "valid_error": valid,
        "valid_loss": valid / 10,
        "valid_questions": 1000,
        "test_error": test,
        "test_loss": test / 10,
        "test_questions": 1000,
    }
