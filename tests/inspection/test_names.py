"""What is said of a network on names and stories that it never saw."""

from __future__ import annotations

from pathlib import Path

import pytest

from entnet.data.story import Question
from entnet.data.world.mixture import mixture
from entnet.errors import EntNetError
from entnet.inspection.names import (
    declined,
    least_probability,
    names_markdown,
    read_unanswerable,
    scores_of,
)
from entnet.inspection.plots import save_reliability
from entnet.tracker import Tracker

FOUND = {
    "official": {1: 0.0, 3: 4.0},
    "renamed": {1: 0.25, 3: 3.5},
    "mixed": 3.04,
    "crowd": 4.0,
    "long": 5.0,
    "calibration_error": 0.5,
    "generated_declined": (96, 100),
    "answerable_declined": (1, 200),
}


def test_the_tables_have_means_the_worst_task_and_shares() -> None:
    text = names_markdown(FOUND)
    assert "| official test files | 0.0 | 4.0 | 2.00 |" in text
    assert "| worst task (3) | 4.0% |" in text
    assert "| largest loss by new names (task 1) | 0.2 points |" in text
    assert "| unanswerable questions declined: generated | 96 of 100 (96.0%) | ≥ 95% |" in text
    assert "| answerable official questions declined | 1 of 200 (0.50%) | ≤ 1% |" in text
    assert "by hand" not in text
    assert "| written by hand | 3 of 4 (75.0%) |" in names_markdown(
        {**FOUND, "hand_written_declined": (3, 4)}
    )


def test_questions_written_by_hand_follow_their_stories(tmp_path: Path) -> None:
    file = tmp_path / "asked.txt"
    file.write_text("# by hand\nAnn went to the garden. Bob slept.\n? Where is Eve?\n-\n? Who?\n")
    first, empty = read_unanswerable(file)
    assert first.sentences == ("Ann went to the garden.", "Bob slept.")
    assert first.questions == (Question(2, "Where is Eve?", "unknown"),)
    assert empty.sentences == ()
    tracker = Tracker.from_pretrained("babi-qa1")
    assert declined(tracker, [first, empty]) == (2, 2)


def test_the_reliability_of_probabilities_is_drawn(tmp_path: Path) -> None:
    bins = [{"questions": 3, "sure": 0.4, "right": 0.3}, {"questions": 90, "sure": 0.9, "right": 1}]
    for name in ("one.svg", "two.svg"):
        save_reliability(bins, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    with pytest.raises(EntNetError, match=r"\.png"):
        save_reliability(bins, tmp_path / "one.txt")


@pytest.mark.parametrize("cost", [0.0, 0.05, 0.2])
def test_few_answerable_questions_are_too_unsure(cost: float) -> None:
    tracker = Tracker.from_pretrained("world")
    stories = mixture(20, 7, "valid", task_share=1.0)
    least = least_probability(tracker.model, stories, 1.3, cost)
    scores, _ = scores_of(tracker.model, stories)
    sure = (scores / 1.3).softmax(-1)[:, 1:].max(-1).values
    declined = int((sure < least).sum())
    assert declined <= cost * len(sure)
    assert declined >= int(cost * len(sure)) - 3
