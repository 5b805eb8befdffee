"""Scoring a network on stories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entnet.data.story import Corpus, Entries, Ints
from entnet.training.engine import Engine

_QUESTIONS_A_BATCH = 256


@dataclass(frozen=True)
class Score:
    """How a network did on all questions of a corpus."""

    questions: int
    errors: int
    loss: float
    """Mean cross-entropy a question."""
    predictions: Ints
    """Answers in the corpus's order."""

    @property
    def error_percent(self) -> float:
        return 100 * self.errors / self.questions if self.questions else 0.0


def score(engine: Engine, entries: Entries, whole_batches_of: int | None = None) -> Score:
    """Ask every question. With ``whole_batches_of``, count only as many as fill whole batches."""
    corpus: Corpus = entries.corpus
    predictions = np.zeros(corpus.questions, dtype=np.int64)
    loss = 0.0
    groups = entries.groups(_QUESTIONS_A_BATCH)
    for group, batch in zip(groups, entries.batches(groups), strict=True):
        answers, batch_loss = engine.predict(batch)
        predictions[entries.questions_of(group)] = answers.numpy()
        loss += batch_loss
    counted = corpus.questions
    if whole_batches_of:
        counted -= counted % whole_batches_of
    # An answer outside the vocabulary is encoded as the null word; saying that is no right answer.
    wrong = (predictions != corpus.answers) | (corpus.unknown_answers)
    errors = int(wrong[:counted].sum())
    return Score(counted, errors, loss / max(corpus.questions, 1), predictions)
