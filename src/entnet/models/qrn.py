"""The Query-Reduction Network (Seo et al. 2017): every sentence turns the question into an easier one.

    code            letter      shape           meaning
    sentences       m_i         (Q, T, d)       sentences before the question, by position encoding
    query           u           (Q, T, d)       the question as each sentence finds it
    reduced         ũ_i         (Q, T, d)       what it makes of it:  tanh(W [u_i ; m_i] + b)
    update          a_i         (Q, T)          σ(w·(u_i ⊙ m_i) + b − 2.5): how much that counts
    reset           r_i         (Q, T)          two of them, from the same features

    h_i = a_i ũ_i + (1 − a_i) h_{i−1}                                   (the last layer's last h answers)
    u_i of the next layer: a_i r_i ũ_i + (1 − a_i) u_{i−1}, read forwards and backwards, and summed

Gates are scalars, so that nothing but a weighted sum is recurrent: h_i = Σ_j≤i a_j Π_j<k≤i (1 − a_k) ũ_j.
These weights are one triangular matrix per question, and a layer is three matrix products. All layers share
weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from entnet.config import ModelConfig
from entnet.data.story import RaggedBatch
from entnet.models.base import StoryModel, register
from entnet.models.layers import position_encoding
from entnet.models.past import past_of
from entnet.text import Vocab


@dataclass(frozen=True)
class QRNConfig(ModelConfig):
    """A query-reduction network. The defaults are its authors' for the 10k stories."""

    kind: ClassVar[str] = "qrn"

    memory_limit: int | None = 50
    """Sentences a question can look back on."""
    width: int = 200
    """d: units of every embedding (authors: 50 for 1k stories)."""
    layers: int = 2
    """Rounds of reduction (authors: 2, 3 or 6)."""
    update_bias: float = -2.5
    """Added to the update gate's argument: questions pass unchanged at first."""
    reset: bool = True
    """The reset gates, without which what a sentence makes of a question always reaches the next layer."""
    backward: bool = True
    """Read backwards as well between layers."""

    def check(self) -> None:
        super().check()
        self.at_least(1, "width", "layers")


LEAST = -20.0


def reduction_weights(gate: Tensor) -> Tensor:
    """(Q, T) arguments of a → (Q, T, T): row i has a_j Π_j<k≤i (1 − a_k) for j ≤ i, and 0 beyond.

    The product is taken as a sum of logarithms, log(1 − a) = log σ(−gate), none below ``LEAST``: sums of
    many keep their digits, and what passes is 0 to single precision.
    """
    passed = nn.functional.logsigmoid(-gate).clamp_min(LEAST).cumsum(1)
    later = passed.unsqueeze(2) - passed.unsqueeze(1)
    steps = gate.shape[1]
    below = torch.ones(steps, steps, dtype=torch.bool, device=gate.device).tril()
    return later.masked_fill(~below, -torch.inf).exp() * gate.sigmoid().unsqueeze(1)


@register
class QRN(StoryModel):
    """Reduces the question, sentence by sentence and layer by layer."""

    config: QRNConfig
    config_class = QRNConfig

    def __init__(self, config: QRNConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        words, d, bound = config.vocabulary, config.width, 3**0.5
        self.embedding = nn.Parameter(torch.empty(words, d).uniform_(-bound, bound))
        self.W = nn.Parameter(nn.init.xavier_uniform_(torch.empty(d, 2 * d)))
        self.bias = nn.Parameter(torch.zeros(d))
        gates = 1 + (1 + config.backward) * config.reset
        self.gates = nn.Parameter(torch.empty(gates, d).uniform_(-bound, bound))
        self.gate_bias = nn.Parameter(torch.zeros(gates))
        self.R = nn.Parameter(nn.init.xavier_uniform_(torch.empty(words, d)))
        weights = position_encoding(config.sentence_length, d)
        self.register_buffer("weights", weights, persistent=False)
        self.after_update()

    def after_update(self) -> None:
        """The null word stays zero."""
        with torch.no_grad():
            self.embedding[0] = 0

    def forward(self, batch: RaggedBatch) -> Tensor:
        past = past_of(batch)
        m = nn.functional.embedding(past.rows, self._encode(batch.words))  # (Q, T, d)
        u = self._encode(batch.question_words).unsqueeze(1).expand_as(m)
        for _ in range(self.config.layers - 1):
            u = self._reduce(u, m, past.there)
        return self._last(u, m, past.there) @ self.R.T

    def _encode(self, words: Tensor) -> Tensor:
        """Σ_j l_j ⊙ e_j: (N, L) → (N, d)"""
        e = nn.functional.embedding(words, self.embedding)
        return (e * self.get_buffer("weights")[: words.shape[1]]).sum(1)

    def _gates_and_reduced(self, u: Tensor, m: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        """(Q, T, gates) their arguments, the update's so low where nothing is said that it is 0; and ũ."""
        gates = (u * m) @ self.gates.T + self.gate_bias
        update = (gates[..., :1] + self.config.update_bias).masked_fill(~there.unsqueeze(2), -1e4)
        reduced = (torch.cat([u, m], 2) @ self.W.T + self.bias).tanh()
        return torch.cat([update, gates[..., 1:]], 2), reduced

    def _reduce(self, u: Tensor, m: Tensor, there: Tensor) -> Tensor:
        """The question as each sentence of the next layer finds it."""
        gates, reduced = self._gates_and_reduced(u, m, there)
        resets = gates[..., 1:].sigmoid()
        update = gates[..., 0]
        kept = reduced * resets[..., :1] if self.config.reset else reduced
        found = reduction_weights(update) @ kept
        if self.config.backward:
            kept = reduced * resets[..., 1:] if self.config.reset else reduced
            found = found + (reduction_weights(update.flip(1)) @ kept.flip(1)).flip(1)
        return found

    def _last(self, u: Tensor, m: Tensor, there: Tensor) -> Tensor:
        """h after the last sentence: (Q, d). Filling, whose gates are closed, changes nothing."""
        gates, reduced = self._gates_and_reduced(u, m, there)
        weights = reduction_weights(gates[..., 0])[:, -1:]
        return (weights @ reduced).squeeze(1)
