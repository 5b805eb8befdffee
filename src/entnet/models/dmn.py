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
facts of all questions, laid out by time (``Laid``), so that a GRU can read them as they lie; there is no
padding that attention could go to, and the backward GRU begins at the last sentence. In the first pass m is
q, and half of z is the other half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from entnet.config import ModelConfig
from entnet.data.story import RaggedBatch
from entnet.models.base import StoryModel, register
from entnet.models.gru import GRU, matrix, mirrored
from entnet.models.layers import Packing, pack, position_encoding
from entnet.models.past import past_of
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


class Laid(NamedTuple):
    """The sentences before every question, laid out by time: all first ones, all second ones, …

    Questions are in the order of ``packing.order``, those that look back on most first.
    """

    packing: Packing
    rows: Tensor
    """(M) the sentence that each place is for."""
    question: Tensor
    """(M) the question that each place belongs to."""
    mirrored: Tensor
    """(M) the place where its sentence lies when questions are read from their last sentence back."""
    last: Tensor
    """(Q) the place of each question's last sentence."""
    cell: Tensor
    """(M) each place in a padded (T, Q)."""

    def softmax(self, scores: Tensor) -> Tensor:
        """(M) → (M): over the sentences of each question."""
        questions = len(self.packing.order)
        padded = scores.new_full((len(self.packing.active) * questions,), -torch.inf)
        padded = padded.index_copy(0, self.cell, scores).view(-1, questions).softmax(0)
        return padded.flatten().index_select(0, self.cell)


def lay(batch: RaggedBatch) -> Laid:
    past = past_of(batch)
    packing = pack(past.lengths)
    rank = packing.order.argsort()
    return Laid(
        packing,
        packing.lay(past.flat),
        packing.lay(rank[past.question]),
        packing.lay(packing.place[mirrored(past.lengths)]),
        packing.place[past.lengths.cumsum(0) - 1][packing.order],
        past.there[packing.order].T.flatten().nonzero().squeeze(1),
    )


def likeness(facts: Tensor, other: Tensor) -> Tensor:
    """[F ⊙ x ; |F − x|]: (M, 2d)"""
    return torch.cat([facts * other, (facts - other).abs()], 1)


class Pass(nn.Module):
    """Weights of one round: attention and the attention GRU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.W1, self.b1 = matrix(width, 4 * width), nn.Parameter(torch.zeros(width))
        self.W2, self.b2 = matrix(1, width), nn.Parameter(torch.zeros(1))
        self.gru = GRU(width, gates=2)

    def attention(self, to_question: Tensor, to_memory: Tensor | None, laid: Laid) -> Tensor:
        """(M) g, by likeness to the question and to the memory; None where that is the question."""
        d = len(self.W1)
        columns = self.W1.view(d, 2, 2, d)  # products and distances, each of question and memory
        of_question, of_memory = columns[:, :, 0].flatten(1), columns[:, :, 1].flatten(1)
        if to_memory is None:
            hidden = torch.addmm(self.b1, to_question, (of_question + of_memory).T)
        else:
            hidden = torch.addmm(self.b1, to_question, of_question.T)
            hidden = torch.addmm(hidden, to_memory, of_memory.T)
        return laid.softmax(hidden.tanh() @ self.W2[0] + self.b2)


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
            weights = [p.flatten() for name, p in self.named_parameters() if not is_bias(name)]
            everything = torch.cat(weights)
            losses = losses + self.config.l2 / 2 / len(losses) * (everything @ everything)
        return losses, scores

    def forward(self, batch: RaggedBatch) -> Tensor:
        laid = lay(batch)
        facts = self._facts(batch, laid)
        q = m = self._question(batch.question_words.index_select(0, laid.packing.order))
        to_question, to_memory = likeness(facts, q.index_select(0, laid.question)), None
        for number in range(self.config.passes):
            weights = self.rounds[number % len(self.rounds)]
            assert isinstance(weights, Pass)
            if number > 0:
                to_memory = likeness(facts, m.index_select(0, laid.question))
            g = weights.attention(to_question, to_memory, laid)
            states = weights.gru.scan(weights.gru.inputs(facts), laid.packing, g)
            update = number % len(self.W)
            found = torch.cat([m, states.index_select(0, laid.last), q], 1)
            m = torch.addmm(self.bias[update], found, self.W[update].T).relu()
        scores = torch.addmm(self.output_bias, self._dropped(torch.cat([m, q], 1)), self.R.T)
        return torch.empty_like(scores).index_copy(0, laid.packing.order, scores)

    def _facts(self, batch: RaggedBatch, laid: Laid) -> Tensor:
        """(M, d): sentences as both GRUs of the input fusion layer see them."""
        e = nn.functional.embedding(batch.words, self.embedding)
        sentences = self._dropped((e * self.get_buffer("weights")[: e.shape[1]]).sum(1))
        stories = pack(batch.story_offsets.diff())
        told = self.forward_gru.scan(self.forward_gru.inputs(stories.lay(sentences)), stories)
        heard = self.backward_gru.inputs(sentences).index_select(0, laid.rows[laid.mirrored])
        back = self.backward_gru.scan(heard, laid.packing)
        return told.index_select(0, stories.place[laid.rows]) + back.index_select(0, laid.mirrored)

    def _question(self, words: Tensor) -> Tensor:
        """(Q, d): the GRU's state after the last word, zero where there is none."""
        there = words != 0
        lengths = there.sum(1)
        packing = pack(lengths)
        inputs = self.question_gru.inputs(self.embedding)  # once per word
        inputs = inputs.index_select(0, packing.lay(words[there]))
        states = self.question_gru.scan(inputs, packing)
        states = torch.cat([states, states.new_zeros((1, states.shape[1]))])
        last = packing.place[lengths.cumsum(0).sub(1).clamp_min(0)]
        return states.index_select(0, last.where(lengths > 0, len(states) - 1))

    def _dropped(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, self.config.dropout, self.training)


def is_bias(name: str) -> bool:
    return name.rpartition(".")[2] in ("bias", "b1", "b2", "output_bias")
