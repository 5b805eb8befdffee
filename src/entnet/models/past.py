"""What each question looks back on, for networks that read the past anew for every question.

code        shape       meaning
rows        (Q, T)      sentences before the question, in the order of the story; filling repeats the last
there       (Q, T)      where a sentence is, and not filling
lengths     (Q)         how many there are
flat        (M)         the same rows, question by question, without the filling
question    (M)         which question each of them belongs to
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from entnet.data.story import RaggedBatch


class Past(NamedTuple):
    """The sentences before every question, padded and flat."""

    rows: Tensor
    there: Tensor
    lengths: Tensor
    flat: Tensor
    question: Tensor

    def padded(self, values: Tensor, filling: float) -> Tensor:
        """(M) → (Q, T)"""
        return values.new_full(self.rows.shape, filling).masked_scatter(self.there, values)

    def softmax(self, scores: Tensor) -> Tensor:
        """(M) → (M): over the sentences of each question."""
        return self.padded(scores, -torch.inf).softmax(1)[self.there]

    def backwards(self) -> Tensor:
        """(M) places in ``flat``: each question's sentences from the last to the first."""
        ends = self.lengths.cumsum(0)
        starts = ends - self.lengths
        places = torch.arange(len(self.flat), device=self.flat.device)
        return starts[self.question] + ends[self.question] - 1 - places


def past_of(batch: RaggedBatch) -> Past:
    first = batch.story_offsets[batch.question_story]
    lengths = batch.question_step - first + 1
    steps = torch.arange(int(lengths.max()) if len(lengths) else 1, device=lengths.device)
    rows = torch.minimum(first.unsqueeze(1) + steps, batch.question_step.unsqueeze(1))
    there = steps < lengths.unsqueeze(1)
    question = torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)
    return Past(rows, there, lengths, rows[there], question)
