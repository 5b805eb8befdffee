"""(6): from the memory and a question to an answer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from entnet.config import EntNetConfig
from entnet.models.state import Reading
from entnet.ops.reference import activation

__all__ = ["Reading", "Readout", "attend"]


def attend(question: Tensor, states: Tensor) -> Tensor:
    """Scores q·h_j of every slot: (Q, d), (Q, m, d) → (Q, m)"""
    return (states @ question.unsqueeze(-1)).squeeze(-1)


def _softmax_over(scores: Tensor, present: Tensor) -> Tensor:
    """Softmax over the slots that are present; zeros where none is."""
    some = present.any(-1, keepdim=True)
    return scores.masked_fill(some & ~present, -torch.inf).softmax(-1) * some


class Readout(nn.Module):
    """H, R and φ's slopes of (6); with slots as the candidates, none of them."""

    H: Tensor | None
    R: Tensor | None
    slope: Tensor | None

    def __init__(self, config: EntNetConfig) -> None:
        super().__init__()
        d, scale = config.width, config.weight_scale
        self.hops = config.hops
        self.over_words = config.output == "words"
        self.H = nn.Parameter(torch.randn(d, d) * scale) if self.over_words else None
        self.R = (
            nn.Parameter(torch.randn(config.vocabulary, d) * scale) if self.over_words else None
        )
        own_slopes = self.over_words and config.activation == "prelu" and not config.share_slopes
        units = d if config.slopes == "unit" else 1
        self.slope = nn.Parameter(torch.ones(units)) if own_slopes else None
        self.width = d

    def slopes(self, shared: Tensor | None) -> Tensor | None:
        """φ's slopes: this read-out's own, or those of (3)."""
        return shared if self.slope is None else self.slope.expand(self.width)

    def forward(
        self,
        question: Tensor,
        states: Tensor,
        shared_slope: Tensor | None,
        alone: Tensor | None = None,
        absent: Tensor | None = None,
    ) -> Reading:
        """p = softmax(q·h), u = Σ p_j h_j, y = R φ(q + H u); further hops ask again with φ(q + H u).

        alone (Q, m): where a question's row marks slots, these answer by themselves, y = R φ(H u).
        absent (Q, m): slots that are not there get no attention; where there is none, u = 0.
        """
        if self.H is None or self.R is None:
            scores = attend(question, states)
            return Reading(scores, scores.softmax(-1))
        slope = self.slopes(shared_slope)
        q = question
        for _ in range(self.hops):
            scores = attend(q, states)
            if alone is not None:
                left = alone.any(-1, keepdim=True)  # (Q, 1)
                scores = scores.masked_fill(left & ~alone, -torch.inf)
                q = q.masked_fill(left, 0.0)
            p = scores.softmax(-1) if absent is None else _softmax_over(scores, ~absent)
            u = (p.unsqueeze(-2) @ states).squeeze(-2)
            q = activation(q + u @ self.H.T, slope)
        return Reading(q @ self.R.T, p)

    def project(self, states: Tensor, shared_slope: Tensor | None) -> Tensor:
        """φ(H h_j): what a slot alone would say, in the space of R's rows."""
        if self.H is None:
            return states
        return activation(states @ self.H.T, self.slopes(shared_slope))
