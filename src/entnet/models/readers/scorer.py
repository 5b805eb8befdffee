"""What every system on the Children's Book Test does: it scores the ten candidates of a question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from entnet.data.cbt.format import BLANK, CANDIDATES, CbtQuestion, iterate_cbt

Floats = NDArray[np.float32]
MISSING = -np.inf
"""Score of a candidate that a question lacks."""


class Scorer(Protocol):
    """Reads questions and says how good each candidate is; higher is better."""

    def scores(self, questions: Sequence[CbtQuestion]) -> Floats:
        """(Q, 10), with MISSING where a question has fewer candidates."""
        ...


def table(rows: Iterable[Sequence[float]]) -> Floats:
    """Rows of scores as one array, filled up with MISSING."""
    return np.array(
        [[*row, *[MISSING] * (CANDIDATES - len(row))] for row in rows], dtype=np.float32
    )


def answers_of(questions: Sequence[CbtQuestion]) -> NDArray[np.int64]:
    return np.array([question.answer_index for question in questions], dtype=np.int64)


def accuracy(scores: Floats, answers: NDArray[np.integer]) -> float:
    """Share of questions answered rightly; where candidates tie, the share that a draw would give."""
    if not len(answers):
        return 0.0
    best = scores.max(1, keepdims=True)
    top = scores == best
    right = top[np.arange(len(answers)), answers]
    return float((right / top.sum(1)).mean())


def tokens(text: str) -> list[str]:
    """Words of a sentence or query, in lower case."""
    return text.lower().split(" ")


def split_query(question: CbtQuestion) -> tuple[list[str], list[str]]:
    """The query's words before and after the blank."""
    words = tokens(question.query)
    blank = words.index(BLANK.lower())
    return words[:blank], words[blank + 1 :]


def training_sentences(path: Path | str) -> Iterator[list[str]]:
    """The books' sentences behind a training file, each distinct one once, in order.

    Questions overlap: a sentence stands in many of them.
    """
    seen: set[int] = set()
    for question in iterate_cbt(path):
        answered = question.query.replace(BLANK, question.answer, 1)
        for text in (*question.sentences, answered):
            identity = hash(text)
            if identity not in seen:
                seen.add(identity)
                yield tokens(text)
