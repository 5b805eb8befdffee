"""Generated stories against the official files, by the measures of the docs' table."""

from __future__ import annotations

from pathlib import Path

import pytest

from entnet.data.babi import TASK_NAMES
from entnet.data.babi_tasks.compare import (
    Comparison,
    compare,
    kolmogorov_smirnov,
    table,
    templates,
    total_variation,
)
from entnet.data.story import Question, Story

pytestmark = pytest.mark.slow

ANSWERS = {3: 0.06}
"""Of task 3 there are but 2,925 official questions, whose two parts differ by 0.05 themselves."""

UNSOLVED = {5: 2}
"""Two questions of task 5 ask what one gave another where another thing was given since."""


@pytest.mark.parametrize("task", TASK_NAMES)
def test_generated_stories_are_like_the_official_ones(official_data: Path, task: int) -> None:
    found = compare(task, official_data)
    assert not found.other_words
    assert not found.other_templates
    assert found.questions_per_story <= 0.02
    assert found.answers <= ANSWERS.get(task, 0.03)
    assert found.lengths <= 0.04
    assert found.asked_after <= 0.03
    assert found.supports <= 0.02
    assert found.generated_unsolved == 0
    assert found.test_unsolved == UNSOLVED.get(task, 0)


def test_distances_of_known_samples() -> None:
    assert total_variation("aabb", "aabb") == 0
    assert total_variation("aa", "bb") == 1
    assert total_variation("aaab", "abbb") == pytest.approx(0.5)
    assert kolmogorov_smirnov([1, 2, 3], [1, 2, 3]) == 0
    assert kolmogorov_smirnov([1, 1, 1, 5], [5, 5, 5, 5]) == pytest.approx(0.75)


def test_templates_leave_names_out() -> None:
    story = Story(
        ("The box of chocolates fits inside the box.",),
        (Question(1, "Is the chest bigger than the chocolate?", "yes", (0,)),),
    )
    assert templates(18, [story]) == {"The _ fits inside the _.", "Is the _ bigger than the _?"}


def test_the_table_has_a_row_for_each_task() -> None:
    found = Comparison(1, 10_000, 19, (), 6, ("Who?",), 0.0, 0.01, 0.02, 0, 0, 0, (10, 10), 0, 0)
    row = table([found]).splitlines()[-1]
    assert row.startswith("| 1 single-supporting-fact | 10,000 | 19, same | 6, 1 differ |")
