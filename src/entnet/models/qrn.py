"""The Query-Reduction Network (Seo et al. 2017): every sentence turns the question into an easier one.

    code            letter      shape           meaning
    m               m_i         (M, d)          sentences before each question, by position encoding
    u               u_i         (M, d)          the question as each sentence finds it
    inputs                      (M, d)          W [u_i ; m_i] + b, ũ_i being the tanh of it
    update          a_i         (M)             σ(w·(u_i ⊙ m_i) + b − 2.5): how much that counts
    reset           r_i         (2, M)          two of them, from the same features

    h_i = a_i ũ_i + (1 − a_i) h_{i−1}                                   (the last layer's last h answers)
    u_i of the next layer: a_i r_i ũ_i + (1 − a_i) u_{i−1}, read forwards and backwards, and summed

M counts the sentences of all questions, one question after the other. Gates are scalars, so nothing but a
weighted sum is recurrent (``entnet.ops.reductions``). All layers share weights: each sentence brings the
same to the inputs of each, and the question brings the same to the first at every sentence.
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
from entnet.ops.reductions import reductions
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
        sentences, questions = self._encode(batch.words), self._encode(batch.question_words)
        of_question, of_sentence = self.W.chunk(2, 1)
        m = sentences.index_select(0, past.flat)  # (M, d)
        told = (sentences @ of_sentence.T + self.bias).index_select(0, past.flat)
        u = questions.index_select(0, past.question)
        asked = (questions @ of_question.T).index_select(0, past.question)
        for _ in range(self.config.layers - 1):
            u = self._reduced(told + asked, u * m, past.lengths)
            asked = u @ of_question.T
        h = self._reduced(told + asked, u * m, past.lengths, last=True)
        return h.index_select(0, past.lengths.cumsum(0) - 1) @ self.R.T

    def _encode(self, words: Tensor) -> Tensor:
        """Σ_j l_j ⊙ e_j: (N, L) → (N, d)"""
        e = nn.functional.embedding(words, self.embedding)
        return (e * self.get_buffer("weights")[: words.shape[1]]).sum(1)

    def _reduced(
        self, inputs: Tensor, features: Tensor, lengths: Tensor, last: bool = False
    ) -> Tensor:
        """(M, d): of the last layer h, else the question as each sentence of the next layer finds it."""
        gates = torch.addmm(self.gate_bias, features, self.gates.T).T  # (gates, M)
        argument = gates[0] + self.config.update_bias
        update, passed = argument.sigmoid(), (-argument).sigmoid()
        if last:
            weights = update.unsqueeze(0)
        elif self.config.reset:
            weights = update * gates[1:].sigmoid()
        else:
            weights = update.expand(1 + self.config.backward, -1)
        return reductions(inputs, weights, passed, lengths)
