"""How near generated stories come to the official ones: the measures, task by task."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from entnet.data.babi import file_name, read_babi
from entnet.data.babi_solvers import solve_story
from entnet.data.babi_tasks import TASKS, generate
from entnet.data.babi_tasks.language import plural
from entnet.data.sources import data_root, find_babi, require_babi
from entnet.data.story import Question, Story, story_words

QUESTIONS = 10_000
SEED = 1


@dataclass(frozen=True)
class Comparison:
    """Official stories against generated ones. Distances are between 0 (same) and 1."""

    task: int
    official_questions: int
    words: int
    """Words of the official stories."""
    other_words: tuple[str, ...]
    """Words that only one side has."""
    templates: int
    """Templates of the official sentences and questions."""
    other_templates: tuple[str, ...]
    """Templates that only one side has."""
    questions_per_story: float
    """Total variation distance."""
    answers: float
    """Total variation distance."""
    official_answers: float
    """The same between official training and test questions: what chance alone does."""
    lengths: float
    """Kolmogorov–Smirnov distance (largest difference of the cumulative shares) of the numbers
    of sentences in a story."""
    asked_after: float
    """The same of the numbers of sentences before a question."""
    supports: float
    """Total variation distance of the numbers of supporting facts."""
    mean_lengths: tuple[float, float]
    """Sentences a story: official, generated."""
    generated_unsolved: int
    """Generated questions (of 10,000) whose answer the symbolic solver does not find."""
    test_unsolved: int
    """The same of the 1,000 official test questions."""


def compare(task: int, directory: Path | str | None = None) -> Comparison:
    """Compare 10,000 generated questions of a task with its official files."""
    training = official_training(task, directory)
    test = read_babi(require_babi("en-10k", task, "test", directory))
    # Where part of the training file is all there is, the test questions help out.
    official = training + test if count(training) < QUESTIONS else training
    made = generate(task, QUESTIONS, SEED)
    own, others = templates(task, made), templates(task, official)
    own_words, other_words = story_words(made), story_words(official)
    return Comparison(
        task=task,
        official_questions=count(official),
        words=len(other_words),
        other_words=tuple(sorted(own_words ^ other_words)),
        templates=len(others),
        other_templates=tuple(sorted(own ^ others)),
        questions_per_story=total_variation(*(map(_asked, side) for side in (official, made))),
        answers=total_variation(_answers(official), _answers(made)),
        official_answers=total_variation(_answers(training), _answers(test)),
        lengths=kolmogorov_smirnov(*(map(_length, side) for side in (official, made))),
        asked_after=kolmogorov_smirnov(_after(official), _after(made)),
        supports=total_variation(_supports(official), _supports(made)),
        mean_lengths=(mean_length(official), mean_length(made)),
        generated_unsolved=unsolved(task, made),
        test_unsolved=unsolved(task, test),
    )


def official_training(task: int, directory: Path | str | None = None) -> list[Story]:
    """The official 10k training stories; of task 3, as many as are at hand."""
    path = find_babi("en-10k", task, "train", directory)
    if path is None:
        part = data_root(directory) / "babi" / f"en-10k-qa{task}-partial" / file_name(task, "train")
        path = part if part.is_file() else require_babi("en-10k", task, "train", directory)
    return read_babi(path)


def templates(task: int, stories: Sequence[Story]) -> set[str]:
    """Sentences and questions with the names of people, places and objects left out."""
    setting = TASKS[task].setting
    names = {*setting.people, *setting.places, *setting.objects, *map(plural, setting.objects)}
    # The longest first: "box of chocolates" is no box.
    ordered = sorted(names, key=lambda name: (-len(name), name))
    blank = re.compile(rf"\b(?:{'|'.join(map(re.escape, ordered))})\b", re.IGNORECASE)
    texts = {sentence for story in stories for sentence in story.sentences}
    texts |= {question.text for question in _questions(stories)}
    return {blank.sub("_", text) for text in texts}


def unsolved(task: int, stories: Sequence[Story]) -> int:
    """Questions to which the symbolic solver gives another answer."""
    return sum(
        solution.answer != question.answer
        for story in stories
        for solution, question in zip(solve_story(task, story), story.questions, strict=True)
    )


def total_variation(one: Iterable[object], other: Iterable[object]) -> float:
    """Half the summed differences of the shares: what part of the one must change to become the other."""
    a, b = Counter(one), Counter(other)
    total_a, total_b = a.total(), b.total()
    return sum(abs(a[key] / total_a - b[key] / total_b) for key in a.keys() | b.keys()) / 2


def kolmogorov_smirnov(one: Iterable[int], other: Iterable[int]) -> float:
    """The largest difference between the shares of the values up to some number."""
    a, b = Counter(one), Counter(other)
    largest = up_to_a = up_to_b = 0.0
    for value in sorted(a.keys() | b.keys()):
        up_to_a += a[value] / a.total()
        up_to_b += b[value] / b.total()
        largest = max(largest, abs(up_to_a - up_to_b))
    return largest


def count(stories: Sequence[Story]) -> int:
    return sum(map(_asked, stories))


def mean_length(stories: Sequence[Story]) -> float:
    return sum(map(_length, stories)) / len(stories)


def _asked(story: Story) -> int:
    return len(story.questions)


def _length(story: Story) -> int:
    return len(story.sentences)


def _questions(stories: Sequence[Story]) -> Iterator[Question]:
    return (question for story in stories for question in story.questions)


def _answers(stories: Sequence[Story]) -> Iterator[str]:
    return (question.answer for question in _questions(stories))


def _after(stories: Sequence[Story]) -> Iterator[int]:
    return (question.after for question in _questions(stories))


def _supports(stories: Sequence[Story]) -> Iterator[int]:
    return (len(question.supports) for question in _questions(stories))


HEADER = """\
| task | official questions | words | templates | questions a story | answers (chance) \
| story length | sentences a story | question position | facts | unsolved: generated, official test |
|---|---|---|---|---|---|---|---|---|---|---|
"""


def table(comparisons: Iterable[Comparison]) -> str:
    """The comparisons as a Markdown table."""
    return HEADER + "".join(map(_row, comparisons))


def _row(found: Comparison) -> str:
    cells = (
        f"{found.task} {TASKS[found.task].name}",
        f"{found.official_questions:,}",
        _same(found.words, found.other_words),
        _same(found.templates, found.other_templates),
        f"{found.questions_per_story:.3f}",
        f"{found.answers:.3f} ({found.official_answers:.3f})",
        f"{found.lengths:.3f}",
        "{:.1f}, {:.1f}".format(*found.mean_lengths),
        f"{found.asked_after:.3f}",
        f"{found.supports:.3f}",
        f"{found.generated_unsolved}, {found.test_unsolved}",
    )
    return f"| {' | '.join(cells)} |\n"


def _same(number: int, others: tuple[str, ...]) -> str:
    return f"{number}, same" if not others else f"{number}, {len(others)} differ"
