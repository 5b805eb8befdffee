"""Every task: right by its solver, as many questions as wished, the same for the same seed, quick."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from entnet.data.babi import TASK_NAMES, format_babi, read_babi, write_babi
from entnet.data.babi_solvers import SOLVERS, solve_story
from entnet.data.babi_tasks import SPLITS, TASKS, generate, generate_split
from entnet.data.story import Story
from entnet.errors import EntNetError

pytestmark = pytest.mark.slow

EVERY_TASK = pytest.mark.parametrize("task", TASKS)

PRINT_CHECKSUMS = """
import hashlib
from entnet.data.babi import format_babi
from entnet.data.babi_tasks import TASKS, generate
for task in TASKS:
    print(hashlib.sha256(format_babi(generate(task, 60, seed=7)).encode()).hexdigest())
"""


def checksum(task: int) -> str:
    return hashlib.sha256(format_babi(generate(task, 60, seed=7)).encode()).hexdigest()


def test_the_official_tasks_are_there_and_each_task_has_a_solver() -> None:
    names = {number: task.name for number, task in TASKS.items()}
    assert TASK_NAMES.items() <= names.items()
    assert set(SOLVERS) == set(TASKS)


@EVERY_TASK
def test_the_solver_finds_every_answer_and_its_facts(task: int, many_stories: list[Story]) -> None:
    for story in many_stories:
        for solution, question in zip(solve_story(task, story), story.questions, strict=True):
            assert solution.answer == question.answer
            if task != 18:
                assert solution.supports == question.supports


def test_the_facts_of_task_18_suffice() -> None:
    """Several chains may lead to an answer; the one cited is one of them."""
    for story in generate(18, 2_000, seed=1):
        for question in story.questions:
            cited = tuple(story.sentences[fact] for fact in sorted(question.supports))
            assert SOLVERS[18](cited, question.text).answer == question.answer


@EVERY_TASK
def test_facts_stand_before_their_question(task: int) -> None:
    for story in generate(task, 300, seed=2):
        assert story.questions[-1].after <= len(story.sentences)
        for question in story.questions:
            assert question.supports
            assert len(set(question.supports)) == len(question.supports)
            assert all(0 <= fact < question.after for fact in question.supports)


@EVERY_TASK
@pytest.mark.parametrize("questions", [1, 7, 100])
def test_exactly_so_many_questions(task: int, questions: int) -> None:
    stories = generate(task, questions, seed=3)
    assert sum(len(story.questions) for story in stories) == questions
    # A story that was cut short ends with its last question.
    assert stories[-1].questions[-1].after == len(stories[-1].sentences)


@EVERY_TASK
def test_more_questions_go_on_where_fewer_ended(task: int) -> None:
    few, many = generate(task, 40, seed=4), generate(task, 80, seed=4)
    assert many[: len(few) - 1] == few[:-1]


def test_another_process_makes_the_same_stories() -> None:
    """Though Python orders sets and hashes words differently in every process."""
    made = subprocess.run(
        [sys.executable, "-c", PRINT_CHECKSUMS],
        env=os.environ | {"PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout.split() == [checksum(task) for task in TASKS]


@EVERY_TASK
def test_seeds_and_splits_give_different_stories(task: int) -> None:
    made = {
        (seed, split): generate(task, 50, seed, split=split) for seed in (1, 2) for split in SPLITS
    }
    texts = {format_babi(stories) for stories in made.values()}
    assert len(texts) == len(made)
    parts = generate_split(task, {"train": 50, "valid": 50, "test": 50}, seed=1)
    assert parts == {split: made[1, split] for split in SPLITS}


@pytest.mark.parametrize("task", [2, 3, 5])
def test_long_stories_are_not_shared_between_splits(task: int) -> None:
    train = set(generate(task, 5_000, seed=1))
    assert not train & set(generate(task, 1_000, seed=1, split="test"))


@EVERY_TASK
def test_files_in_the_official_format_read_back(
    task: int, many_stories: list[Story], tmp_path: Path
) -> None:
    write_babi(tmp_path / "stories.txt", many_stories[:100])
    assert read_babi(tmp_path / "stories.txt") == many_stories[:100]


def test_either_place_may_be_the_same_place_twice() -> None:
    """An oddity of the official data that a reader must cope with."""
    twice = [
        sentence
        for story in generate(10, 3_000, seed=1)
        for sentence in story.sentences
        if "either" in sentence and len(set(sentence.rstrip(".").split()[-4::3])) == 1
    ]
    assert twice


def test_induction_never_rests_on_two_others() -> None:
    """An oddity of the official data: one, three or four others of the kind, never two."""
    others: Counter[int] = Counter()
    for story in generate(16, 3_000, seed=1):
        kinds = [s.split()[-1] for s in story.sentences if " a " in s]
        asked = story.sentences[story.questions[0].supports[0]].split()[-1]
        others[kinds.count(asked) - 1] += 1
    assert set(others) == {1, 3, 4}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"task": 21, "questions": 5, "seed": 1}, "no task 21"),
        ({"task": 1, "questions": 0, "seed": 1}, "at least 1"),
        ({"task": 1, "questions": 5, "seed": 1, "split": "dev"}, "no split 'dev'"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, object], complaint: str) -> None:
    with pytest.raises(EntNetError, match=complaint):
        generate(**arguments)  # type: ignore[arg-type]
