"""The Dynamic Memory Network DMN+ (Xiong et al. 2016): attends to the facts of a story in several passes.

    code            letter      shape           meaning
    sentences       f           (N, d)          Σ_j l_j ⊙ w_j: words by position encoding
    facts           F_i         (M, d)          forward plus backward GRU over what was told before
    question        q           (Q, d)          last state of a GRU over its words
    memory          m           (Q, d)          q at first, and what each pass makes of it
    attention       g_i         (M)             softmax of W₂ tanh(W₁ z_i + b₁) + b₂ over a question's facts
    context         c           (Q, d)          last state of the attention GRU, h ← g h̃ + (1 − g) h

    z_i = [F_i ⊙ q ; F_i ⊙ m ; |F_i − q| ; |F_i − m|]
    m ← ReLU(W [m ; c ; q] + b), with weights of their own for every pass

The forward GRU over the sentences is the same for all questions of a story, and read once. M counts the
facts of all questions; there is no padding that attention could go to, and the backward GRU begins at the
last sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from entnet.config import ModelConfig
from entnet.data.story import RaggedBatch
from entnet.models.base import StoryModel, register
from entnet.models.gru import GRU, matrix
from entnet.models.layers import position_encoding
from entnet.models.past import Past, past_of
from entnet.text import Vocab


@dataclass(frozen=True)
class DMNConfig(ModelConfig):
    """DMN+. The defaults are those of its paper for bAbI."""

    kind: ClassVar[str] = "dmn"

    width: int = 80
    """d: units of every embedding and state."""
    passes: int = 3
    """Rounds of attention."""
    untied: Literal["all", "memory", "none"] = "all"
    """Which weights each pass has of its own: all (paper), those of the memory's update only, or none
    (public ports)."""
    dropout: float = 0.1
    """Share of units dropped in training, of sentences and of what the answer is read from."""
    l2: float = 0.001
    """Weight of ½ ‖w‖², of all weights but biases, in the loss of a batch."""

    def check(self) -> None:
        super().check()
        self.at_least(1, "width", "passes")
        self.require(0 <= self.dropout < 1, f"dropout is {self.dropout}, but must be in [0, 1)")
        self.at_least(0, "l2")


class Pass(nn.Module):
    """Weights of one round: attention, the attention GRU, the memory's update."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.W1, self.b1 = matrix(width, 4 * width), nn.Parameter(torch.zeros(width))
        self.W2, self.b2 = matrix(1, width), nn.Parameter(torch.zeros(1))
        self.gru = GRU(width, gates=2)

    def attention(self, facts: Tensor, q: Tensor, m: Tensor, past: Past) -> Tensor:
        """(M) g: facts (M, d), question and memory (Q, d)"""
        q, m = q[past.question], m[past.question]
        z = torch.cat([facts * q, facts * m, (facts - q).abs(), (facts - m).abs()], 1)
        scores = (z @ self.W1.T + self.b1).tanh() @ self.W2.T + self.b2
        return past.softmax(scores.squeeze(1))


@register
class DMN(StoryModel):
    """Reads the facts, then attends to them pass after pass."""

    config: DMNConfig
    config_class = DMNConfig

    def __init__(self, config: DMNConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        words, d, bound = config.vocabulary, config.width, 3**0.5
        self.embedding = nn.Parameter(torch.empty(words, d).uniform_(-bound, bound))
        self.question_gru, self.forward_gru, self.backward_gru = (GRU(d) for _ in range(3))
        own = config.passes if config.untied == "all" else 1
        self.rounds = nn.ModuleList(Pass(d) for _ in range(own))
        updates = 1 if config.untied == "none" else config.passes
        self.W, self.bias = matrix(updates, d, 3 * d), nn.Parameter(torch.zeros(updates, d))
        self.R, self.output_bias = matrix(words, 2 * d), nn.Parameter(torch.zeros(words))
        weights = position_encoding(config.sentence_length, d)
        self.register_buffer("weights", weights, persistent=False)
        self.after_update()

    def after_update(self) -> None:
        """The null word stays zero."""
        with torch.no_grad():
            self.embedding[0] = 0

    def loss(self, batch: RaggedBatch) -> tuple[Tensor, Tensor]:
        """Cross-entropy, and each question's share of ½ l2 ‖w‖²."""
        losses, scores = super().loss(batch)
        if self.config.l2 > 0:
            squares = [(p**2).sum() for name, p in self.named_parameters() if not is_bias(name)]
            losses = losses + self.config.l2 / 2 / len(losses) * torch.stack(squares).sum()
        return losses, scores

    def forward(self, batch: RaggedBatch) -> Tensor:
        past = past_of(batch)
        facts = self._facts(batch, past)
        q = m = self._question(batch.question_words)
        ends = past.lengths.cumsum(0) - 1
        for number in range(self.config.passes):
            weights = self.rounds[number % len(self.rounds)]
            assert isinstance(weights, Pass)
            g = weights.attention(facts, q, m, past)
            context = weights.gru.read(weights.gru.inputs(facts), past.lengths, g)[ends]
            update = number % len(self.W)
            m = (torch.cat([m, context, q], 1) @ self.W[update].T + self.bias[update]).relu()
        return self._dropped(torch.cat([m, q], 1)) @ self.R.T + self.output_bias

    def _facts(self, batch: RaggedBatch, past: Past) -> Tensor:
        """(M, d): sentences as both GRUs of the input fusion layer see them."""
        e = nn.functional.embedding(batch.words, self.embedding)
        sentences = self._dropped((e * self.get_buffer("weights")[: e.shape[1]]).sum(1))
        told = self.forward_gru.read(self.forward_gru.inputs(sentences), batch.story_offsets.diff())
        back = past.backwards()
        heard = self.backward_gru.inputs(sentences)[past.flat[back]]
        return told[past.flat] + self.backward_gru.read(heard, past.lengths)[back]

    def _question(self, words: Tensor) -> Tensor:
        """(Q, d): the GRU's state after the last word, zero where there is none."""
        lengths = (words != 0).sum(1)
        inputs = self.question_gru.inputs(self.embedding)  # once per word
        states = self.question_gru.read(inputs[words[words != 0]], lengths)
        states = torch.cat([states, states.new_zeros((1, states.shape[1]))])
        ends = torch.where(lengths > 0, lengths.cumsum(0) - 1, len(states) - 1)
        return states[ends]

    def _dropped(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, self.config.dropout, self.training)


def is_bias(name: str) -> bool:
    return name.rpartition(".")[2] in ("bias", "b1", "b2", "output_bias")
