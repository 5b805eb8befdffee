"""The stories of a run: official files, and generated ones where an official file is not to be had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from entnet.data.babi import read_babi, split_validation
from entnet.data.babi_tasks import generate
from entnet.data.babi_tasks.varied import TIMELESS, VARIATIONS, vary
from entnet.data.sources import find_babi, require_babi
from entnet.data.story import Story
from entnet.errors import EntNetError

PARTIAL_SET = "en-10k-qa3-partial"
"""Official stories of task 3, fewer than the official training file had; used for validation."""

GENERATED_QUESTIONS = 9_000
"""As many as the other tasks train on, once a tenth is set aside for validation."""

GENERATED_SEED = 1

GENERATED_SET = "generated"
"""Training and validation on generated stories, test on the official 10k file."""

VARIED_SET = "varied"
"""The official 10k stories, those before the test told otherwise, too (`babi_tasks.varied`)."""


@dataclass(frozen=True)
class TaskStories:
    """What a task is trained on, chosen by and tested on."""

    train: list[Story]
    valid: list[Story]
    test: list[Story]
    train_data: str
    """"official" or "generated"."""


def require_task(data_set: str, task: int, data_root: Path | str | None = None) -> None:
    """An error if a file of a task's that cannot be replaced is not here."""
    generated = data_set == GENERATED_SET
    official = "en-10k" if data_set in (GENERATED_SET, VARIED_SET) else data_set
    require_babi(official, task, "test", data_root)
    if not generated and (official, task) != ("en-10k", 3):
        require_babi(official, task, "train", data_root)


def task_stories(
    data_set: str, task: int, validation: float, data_root: Path | str | None = None
) -> TaskStories:
    """A task's official stories, the last of the training file set aside for validation.

    Where the 10k training file of task 3 is missing, training is on generated stories and validation on
    the official ones that there are.
    """
    require_task(data_set, task, data_root)
    if data_set == GENERATED_SET:
        return TaskStories(
            generate(task, GENERATED_QUESTIONS, GENERATED_SEED),
            generate(task, GENERATED_QUESTIONS // 9, GENERATED_SEED, split="valid"),
            read_babi(require_babi("en-10k", task, "test", data_root)),
            GENERATED_SET,
        )
    if data_set == VARIED_SET:
        plain = task_stories("en-10k", task, validation, data_root)
        return TaskStories(
            [*plain.train, *told_otherwise(task, plain.train, "train")],
            [*plain.valid, *told_otherwise(task, plain.valid, "valid")],
            plain.test,
            plain.train_data,
        )
    test = read_babi(require_babi(data_set, task, "test", data_root))
    official = find_babi(data_set, task, "train", data_root)
    if official is not None:
        train, valid = split_validation(read_babi(official), validation)
        return TaskStories(train, valid, test, "official")
    return TaskStories(
        generate(task, GENERATED_QUESTIONS, GENERATED_SEED), _partial(data_root), test, "generated"
    )


def told_otherwise(task: int, stories: Sequence[Story], name: str) -> list[Story]:
    """Each question once more in another order and, of stories of facts, at another length too. Stories of
    what happens in time are solved at any length as it is."""
    ways = VARIATIONS if task in TIMELESS else ("reordered",)
    return [story for how in ways for story in vary(task, stories, how, name)]


def _partial(data_root: Path | str | None) -> list[Story]:
    path = find_babi(PARTIAL_SET, 3, "train", data_root) or find_babi("en", 3, "train", data_root)
    if path is None:
        raise EntNetError(
            "neither the 10k nor the 1k training file of task 3 is here to validate with; "
            "`entnet data download babi` fetches both"
        )
    return read_babi(path)


def joint_stories(parts: Sequence[TaskStories]) -> TaskStories:
    """All tasks' stories together."""
    return TaskStories(
        [story for part in parts for story in part.train],
        [story for part in parts for story in part.valid],
        [story for part in parts for story in part.test],
        "generated" if any(part.train_data == "generated" for part in parts) else "official",
    )
