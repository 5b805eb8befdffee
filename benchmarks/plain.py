"""The yardstick: an entity network in plain PyTorch, as a good engineer would write it.

The same network and the same maths as ``entnet.EntNet`` with its default options. Slots and questions are
batched; all that does not depend on the memory is computed for all sentences at once; padding closes the
gates, and normalising a normalised memory changes nothing, so it needs no further masking. What it does
not do is read a story once for all its questions: each question is an example of its own, padded to the
longest in its batch, as in every public implementation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from entnet.data.story import Entries, Ints


@dataclass(frozen=True)
class PaddedBatch:
    words: Tensor
    """(B, T, L)"""
    lengths: Tensor
    """(B) sentences of each story"""
    question_words: Tensor
    """(B, L)"""
    answers: Tensor
    """(B)"""

    @classmethod
    def gather(cls, entries: Entries, chosen: Ints) -> PaddedBatch:
        """Questions as examples of their own: ``entries`` has one a question."""
        corpus = entries.corpus
        lengths = entries.end[chosen] - entries.start[chosen]
        steps = np.arange(lengths.max())
        rows = np.minimum(entries.start[chosen, None] + steps, len(corpus.words) - 1)
        words = np.where((steps < lengths[:, None])[:, :, None], corpus.words[rows], 0)
        questions = entries.questions_of(chosen)
        return cls(
            torch.from_numpy(words),
            torch.from_numpy(lengths),
            torch.from_numpy(corpus.question_words[questions]),
            torch.from_numpy(corpus.answers[questions]),
        )


class PlainEntNet(nn.Module):
    """Equations (1) to (6), batched."""

    def __init__(self, vocabulary: int, sentence_length: int, width: int, slots: int) -> None:
        super().__init__()

        def normal(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(shape) * 0.1)

        self.embedding = normal(vocabulary, width)
        self.story_mask = nn.Parameter(torch.ones(sentence_length, width))
        self.question_mask = nn.Parameter(torch.ones(sentence_length, width))
        self.keys = normal(slots, width)
        self.U, self.V, self.W, self.H = (normal(width, width) for _ in range(4))
        self.R = normal(vocabulary, width)
        self.gate_bias, self.candidate_bias = normal(slots), normal(width)
        self.slope = nn.Parameter(torch.ones(width))
        self.zero_null_word()

    def zero_null_word(self) -> None:
        with torch.no_grad():
            self.embedding[0] = 0
            self.R[0] = 0

    def activation(self, x: Tensor) -> Tensor:
        return torch.where(x > 0, x, self.slope * x)

    def forward(self, batch: PaddedBatch) -> Tensor:
        s = (F.embedding(batch.words, self.embedding) * self.story_mask).sum(2)  # (B, T, d)
        q = (F.embedding(batch.question_words, self.embedding) * self.question_mask).sum(1)
        candidate = (s @ self.W.T).unsqueeze(2)  # (B, T, 1, d)
        location = s @ self.keys.T + self.gate_bias  # (B, T, m)
        key_input = self.keys @ self.V.T + self.candidate_bias
        told = (torch.arange(s.shape[1]) < batch.lengths.unsqueeze(1)).to(s.dtype)
        h = self.keys.expand(len(s), -1, -1)
        for t in range(s.shape[1]):
            content = (h @ s[:, t].unsqueeze(2)).squeeze(2)
            gate = torch.sigmoid(content + location[:, t]) * told[:, t].unsqueeze(1)
            x = F.linear(h, self.U) + (key_input + candidate[:, t])
            h = F.normalize(h + gate.unsqueeze(2) * self.activation(x), dim=-1)
        p = (h @ q.unsqueeze(2)).squeeze(2).softmax(1)
        u = (p.unsqueeze(1) @ h).squeeze(1)
        return self.activation(q + F.linear(u, self.H)) @ self.R.T


class PlainTrainer:
    """Adam on the summed loss, the gradient limited to a norm of 40."""

    def __init__(self, model: PlainEntNet, rate: float = 0.01) -> None:
        self.model = model
        self.optimiser = torch.optim.Adam(model.parameters(), lr=rate, fused=True)

    def step(self, batch: PaddedBatch) -> float:
        self.optimiser.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.model(batch), batch.answers, reduction="sum")
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(self.model.parameters(), 40, foreach=True)
        self.optimiser.step()
        self.model.zero_null_word()
        return float(loss.detach())
