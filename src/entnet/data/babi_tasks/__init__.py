"""The bAbI tasks, generated: ``generate(task=3, questions=10_000, seed=1)``.

A task's module (``task03.py``) says what happens in its stories and what is asked; ``world.py``
holds what can happen, ``language.py`` how it is said, ``knobs.py`` what can be changed.
"""

from __future__ import annotations

from dataclasses import replace

from entnet.data.babi_tasks import (
    task01,
    task02,
    task03,
    task04,
    task05,
    task06,
    task07,
    task08,
    task09,
    task10,
    task11,
    task12,
    task13,
    task14,
    task15,
    task16,
    task17,
    task18,
    task19,
    task20,
)
from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Knobs, Setting
from entnet.data.babi_tasks.task import Task
from entnet.data.story import Story
from entnet.errors import EntNetError

TASKS: dict[int, Task] = {
    module.TASK.number: module.TASK
    for module in (
        task01,
        task02,
        task03,
        task04,
        task05,
        task06,
        task07,
        task08,
        task09,
        task10,
        task11,
        task12,
        task13,
        task14,
        task15,
        task16,
        task17,
        task18,
        task19,
        task20,
    )
}

SPLITS = ("train", "valid", "test")

__all__ = ["SPLITS", "TASKS", "Dice", "Knobs", "Setting", "Task", "generate", "generate_split"]


def generate(
    task: int, questions: int, seed: int, knobs: Knobs | None = None, split: str = "train"
) -> list[Story]:
    """Stories of a task with exactly so many questions.

    The last story may be cut short, as in official files. Equal arguments give equal stories;
    another seed or split gives unrelated ones.
    """
    if task not in TASKS:
        raise EntNetError(f"no task {task}; there are {', '.join(map(str, TASKS))}")
    if questions < 1:
        raise EntNetError(f"{questions} questions; at least 1 is needed")
    if split not in SPLITS:
        raise EntNetError(f"no split {split!r}; there are {', '.join(SPLITS)}")
    setting = TASKS[task].setting.turned(knobs or Knobs(), task)
    dice = Dice.of("bAbI task", task, "seed", seed, split)
    stories: list[Story] = []
    while questions > 0:
        story = TASKS[task].story(dice, setting)
        if story.questions:
            stories.append(_cut(story, questions))
        questions -= len(story.questions)
    return stories


def generate_split(
    task: int, questions: dict[str, int], seed: int, knobs: Knobs | None = None
) -> dict[str, list[Story]]:
    """Training, validation and test stories, each from a random sequence of its own."""
    return {split: generate(task, n, seed, knobs, split) for split, n in questions.items()}


def _cut(story: Story, questions: int) -> Story:
    """The beginning of a story, up to so many questions."""
    if len(story.questions) <= questions:
        return story
    kept = story.questions[:questions]
    return replace(story, sentences=story.sentences[: kept[-1].after], questions=kept)
