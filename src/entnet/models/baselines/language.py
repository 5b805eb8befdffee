"""Kneser-Ney on the Children's Book Test: the candidate that makes the query most probable.

With a cache, probabilities are mixed with the words' frequencies in the 20 sentences before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from entnet.data.cbt.format import CbtQuestion
from entnet.models.baselines.kneser_ney import END, START, KneserNey
from entnet.models.readers.scorer import Floats, split_query, table, tokens


class NGramScorer:
    """Scores a candidate by the query's probability with it in the blank's place."""

    def __init__(self, model: KneserNey, cache_weight: float = 0.0) -> None:
        """``cache_weight`` is the cache's share of a word's probability."""
        self.model = model
        self.cache_weight = cache_weight

    def scores(self, questions: Sequence[CbtQuestion]) -> Floats:
        chunks = [questions[first : first + 500] for first in range(0, len(questions), 500)]
        return np.concatenate([self._chunk(chunk) for chunk in chunks])

    def _chunk(self, questions: Sequence[CbtQuestion]) -> Floats:
        events = [self._events(question) for question in questions]
        flat = np.array([row for rows, _ in events for row in rows], dtype=np.int64)
        p = self.model.probabilities(flat)
        if self.cache_weight:
            cached = np.concatenate(
                [
                    self._cached(question, words)
                    for question, (_, words) in zip(questions, events, strict=True)
                ]
            )
            p = (1 - self.cache_weight) * p + self.cache_weight * cached
        logs = np.log(np.maximum(p, 1e-300))
        scores, start = [], 0
        for question, (rows, _) in zip(questions, events, strict=True):
            count = len(question.candidates)
            per_candidate = logs[start : start + len(rows)].reshape(count, -1).sum(1)
            scores.append(per_candidate.tolist())
            start += len(rows)
        return table(scores)

    def _events(self, question: CbtQuestion) -> tuple[list[list[int]], list[str]]:
        """For each candidate, the n-grams that hold it; and the words whose probability is asked."""
        order = self.model.order
        before, after = split_query(question)
        left = [*[START] * (order - 1), *before][-(order - 1) :]
        right = [*after, END][: order - 1]
        rows: list[list[int]] = []
        words: list[str] = []
        for candidate in question.candidates:
            filled = [*left, candidate.lower(), *right]
            numbers = self.model.numbers(filled)
            for end in range(order, len(numbers) + 1):
                rows.append(numbers[end - order : end])
                words.append(filled[end - 1])
        return rows, words

    def _cached(self, question: CbtQuestion, words: Sequence[str]) -> NDArray[np.float64]:
        counts = Counter(word for text in question.sentences for word in tokens(text))
        total = sum(counts.values())
        return np.array([counts[word] / total for word in words])
