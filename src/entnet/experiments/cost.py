"""How long runs are expected to take, to begin with the longest and to tell the time left."""

from __future__ import annotations

from entnet.tasks.spec import RunSpec

SENTENCES: dict[int, tuple[int, int]] = {
    1: (18000, 54000),
    2: (39608, 140366),
    3: (162912, 462536),
    4: (18000, 18000),
    5: (51344, 179138),
    6: (18546, 56486),
    7: (23398, 77824),
    8: (23988, 78792),
    9: (18000, 54000),
    10: (18000, 54000),
    11: (18000, 54000),
    12: (18000, 54000),
    13: (18000, 54000),
    14: (21062, 69310),
    15: (18000, 72000),
    16: (81000, 81000),
    17: (2250, 18000),
    18: (11195, 56880),
    19: (45000, 45000),
    20: (8990, 52828),
}
"""Sentences read in an epoch of the 10k set, drawing whole stories and drawing single questions."""

SENTENCES_A_SECOND = 25_000.0
"""A first guess; a sweep corrects it by what it sees."""

QUESTION_SENTENCES = 4
"""What a question costs besides reading, in sentences: the read-out, the update, validation."""

_QUESTIONS = 9_000


_GRID_QUESTIONS = 32 * 500
"""Asked per epoch on the grid, at the least."""
_BOOK_QUESTIONS = 100_000
"""Of the Children's Book Test: some of their windows are read for a sentence's work."""
_PARAGRAPH_SENTENCES = 50_000
"""Of ProPara there are 2,639 in training; each is read for all participants and places."""


def epoch_cost(spec: RunSpec) -> float:
    """The work in an epoch, counted in sentences."""
    if spec.benchmark == "gridworld":
        return float(int(spec.task) * _GRID_QUESTIONS)
    if spec.benchmark == "cbt":
        return float(_BOOK_QUESTIONS if spec.train else 1)
    if spec.benchmark == "copying":
        return float(int(spec.task) * 16 * 100)
    if spec.benchmark == "propara":
        return float(_PARAGRAPH_SENTENCES)
    if spec.benchmark == "stories":
        return float(_QUESTIONS)  # as many for every system, which is all that counts
    by_question = spec.train.get("example", "story") == "question"
    read = sum(
        SENTENCES.get(int(task), (20_000, 60_000))[by_question] + QUESTION_SENTENCES * _QUESTIONS
        for task in spec.tasks
    )
    return read / (10 if spec.data == "en" else 1)


def run_cost(spec: RunSpec, done: int = 0) -> float:
    """The work left in a run of which so many epochs are done."""
    return epoch_cost(spec) * max(spec.epochs - done, 0)
