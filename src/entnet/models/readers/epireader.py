"""The EpiReader (Trischler et al. 2016): an Attention Sum Reader proposes, a reasoner weighs.

    p_k  of the Extractor (the AS Reader), for its K best candidates
    H_k  the query with candidate k in the blank;  S_i the story's sentences
    x    = [e ; e·c_k ; max_t e·y_t] of every word e of a sentence, with candidate c_k and query words y_t
    r_i  = max over time of ReLU(convolution of S_i's x),   r_H = the same of H_k's words, its own filters
    ς_i  = r_iᵀ R r_H
    y_k  = w·(last state of a GRU over [ς_i ; r_i ; r_H], sentence by sentence) + b
    e    = softmax_k(y_k),   π_k ∝ e_k p_k
    loss = −log p* + λ Σ_{k≠*} [γ − π* + π_k]₊

In training the answer is always among the K. Candidates that are not proposed score less than any that is.
What a convolution makes of the words themselves is the same for all K, and computed once per word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from entnet.data.story import RaggedBatch
from entnet.models.base import register
from entnet.models.gru import GRU, rows
from entnet.models.readers.attention_sum import AttentionSum, AttentionSumConfig
from entnet.models.readers.passage import story_keys
from entnet.models.readers.pointer import LEAST, Documents, filled
from entnet.text import Vocab


@dataclass(frozen=True)
class EpiReaderConfig(AttentionSumConfig):
    """The EpiReader. Its paper has 300 units of embedding, 128 of each direction."""

    kind: ClassVar[str] = "epireader"

    proposals: int = 5
    """K: candidates that the reasoner weighs."""
    window: int = 3
    """Words that a filter sees."""
    filters: int = 32
    """N_F: filters of a convolution."""
    sentence_units: int = 32
    """d_S: units of the GRU over sentences."""
    margin: float = 0.04
    """γ: how much likelier than any other candidate the answer should be."""
    ranking: float = 50.0
    """λ: weight of the ranking loss."""

    def check(self) -> None:
        super().check()
        self.at_least(1, "proposals", "filters", "sentence_units")
        self.require(
            self.window >= 1 and self.window % 2 == 1,
            f"window is {self.window}, but must be odd",
        )


class Proposals(NamedTuple):
    """What the reasoner made of the likeliest candidates."""

    slots: Tensor
    """(Q, K) which candidates these are"""
    p: Tensor
    """(Q, m) of the extractor, for all candidates"""
    pi: Tensor
    """(Q, K) both together"""


@register
class EpiReader(AttentionSum):
    """Hypotheses, held against the story sentence by sentence."""

    config: EpiReaderConfig
    config_class = EpiReaderConfig

    def __init__(self, config: EpiReaderConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        width, filters, units = config.width, config.filters, config.sentence_units
        self.sentence_filters, self.hypothesis_filters = (
            nn.Parameter(torch.randn(config.window, inputs, filters) * 0.1)
            for inputs in (width + 2, width)
        )
        self.sentence_bias, self.hypothesis_bias = (
            nn.Parameter(torch.zeros(filters)) for _ in range(2)
        )
        self.R = nn.Parameter(torch.randn(filters, filters) * 0.1)
        self.sentences = GRU(units, width=2 * filters + 1)
        self.weigh = nn.Linear(units, 1)

    def forward(self, batch: RaggedBatch) -> Tensor:
        """(Q, m) log π; what was not proposed comes far behind"""
        found = self.propose(batch)
        return (torch.zeros_like(found.p).scatter(1, found.slots, found.pi) + LEAST).log()

    def loss(self, batch: RaggedBatch) -> tuple[Tensor, Tensor]:
        """−log p*, and the ranking loss of what was proposed."""
        found = self.propose(batch, batch.answers)
        right = batch.answers.unsqueeze(1)
        scores = torch.zeros_like(found.p).scatter(1, found.slots, found.pi)
        among = found.p if self.config.loss == "document" else _shares(found.p)
        extracted = -(among.gather(1, right) + LEAST).log().squeeze(1)
        wrong = found.slots != right
        behind = self.config.margin - scores.gather(1, right) + found.pi
        ranked = (behind.relu() * wrong).sum(1)
        return extracted + self.config.ranking * ranked, (scores + LEAST).log()

    def propose(self, batch: RaggedBatch, always: Tensor | None = None) -> Proposals:
        """The K best candidates, ``always`` (Q) among them, and how likely each is."""
        documents = self.documents(batch)
        p = self.pointer_sum(documents, self.attention(documents))
        order = p.detach()
        if always is not None:
            order = order.scatter(1, always.unsqueeze(1), 2.0)
        slots = order.topk(min(self.config.proposals, p.shape[1]), 1).indices
        e = self.reason(batch, documents, slots).softmax(1)
        return Proposals(slots, p, _shares(e * p.gather(1, slots)))

    def reason(self, batch: RaggedBatch, documents: Documents, slots: Tensor) -> Tensor:
        """(Q, K) y: how well each hypothesis fits the story"""
        story = batch.question_story
        keys = story_keys(batch)[story].gather(1, slots)
        candidates = rows(self.embedding, keys)  # (Q, K, E)
        hypothesis = self._hypotheses(documents, candidates)  # (Q, K, F)
        told = self._sentences(batch, documents, candidates)  # (Q, N, K, F)
        match = torch.einsum("qnkf,fg,qkg->qnk", told, self.R, hypothesis)
        both = hypothesis.unsqueeze(1).expand_as(told)
        x = torch.cat([match.unsqueeze(3), told, both], 3).transpose(1, 2)  # (Q, K, N, 2F + 1)
        lengths = batch.story_offsets.diff()[story]
        there = filled(lengths).unsqueeze(1).expand(x.shape[:3])
        read = lengths.repeat_interleave(slots.shape[1])
        states = self.sentences.read(self.sentences.inputs(x[there]), read)
        y: Tensor = self.weigh(states[read.cumsum(0) - 1])
        return y.view(slots.shape)

    def _hypotheses(self, documents: Documents, candidates: Tensor) -> Tensor:
        """(Q, K, F) r_H: the query's words, with each candidate in the blank"""
        asked = documents.asked
        there = filled(asked.lengths)  # (Q, m')
        words = documents.by_query(rows(documents.table, asked.words))
        place = documents.blank - asked.starts
        blank = nn.functional.one_hot(place, there.shape[1]).bool()[:, None, :, None]
        filled_in = torch.where(blank, candidates.unsqueeze(2), words.unsqueeze(1))
        filled_in = filled_in * there[:, None, :, None]
        parts = torch.einsum("qkte,wef->wqktf", filled_in, self.hypothesis_filters)
        together = sum_of_shifted(parts, there.unsqueeze(1), there.new_zeros(there.shape).long())
        made = (together + self.hypothesis_bias).relu() * there[:, None, :, None]
        return made.amax(2)

    def _sentences(self, batch: RaggedBatch, documents: Documents, candidates: Tensor) -> Tensor:
        """(Q, N, K, F) r_i"""
        told, there = documents.told, documents.there
        width = self.config.width
        number = self._sentence_numbers(batch, documents)  # (Q, n)
        words = documents.by_question(rows(documents.table, told.words))  # (Q, n, E)
        asked = documents.by_query(rows(documents.table, documents.asked.words))
        silent = ~filled(documents.asked.lengths).unsqueeze(1)
        near = (words @ asked.mT).masked_fill(silent, -torch.inf).amax(2)  # (Q, n)
        alike = words @ candidates.mT  # (Q, n, K)
        # Of the filters, what they make of a word is computed once per distinct word.
        table = torch.einsum("ve,wef->vwf", documents.table, self.sentence_filters[:, :width])
        per_word = table.shape[1:]
        plain = documents.by_question(rows(table.flatten(1), told.words))
        plain = plain.view(*plain.shape[:2], *per_word)
        of_candidate, of_query = (
            self.sentence_filters[:, width],
            self.sentence_filters[:, width + 1],
        )
        plain = plain + near[..., None, None] * of_query  # (Q, n, W, F)
        drawn = alike.mT[None, ..., None] * of_candidate[:, None, None, None]  # (W, Q, K, n, F)
        parts = plain.permute(2, 0, 1, 3).unsqueeze(2) + drawn
        together = sum_of_shifted(parts, there.unsqueeze(1), number)
        made = (together + self.sentence_bias).relu() * there[:, None, :, None]
        # ReLU leaves nothing below zero, so that a sentence's maximum can begin there.
        count = int(batch.story_offsets.diff().max())
        most = made.new_zeros((*made.shape[:2], count, made.shape[3]))
        at = number[:, None, :, None].expand_as(made)
        return most.scatter_reduce(2, at, made, "amax").transpose(1, 2)

    def _sentence_numbers(self, batch: RaggedBatch, documents: Documents) -> Tensor:
        """(Q, n) which sentence of its story each word of a document is in"""
        real = batch.words != 0
        story = torch.repeat_interleave(batch.story_offsets.diff())
        within = torch.arange(len(story), device=story.device) - batch.story_offsets[story]
        numbers = torch.zeros(
            (len(batch.story_offsets) - 1, documents.there.shape[1]), dtype=torch.int64
        )
        lengths = real.new_zeros(len(numbers), dtype=torch.int64).index_add(0, story, real.sum(1))
        numbers[filled(lengths, numbers.shape[1])] = within.repeat_interleave(real.sum(1))
        return numbers[batch.question_story]


def sum_of_shifted(parts: Tensor, there: Tensor, piece: Tensor) -> Tensor:
    """Σ over a filter's places of what it makes of the word there, if that is in the same piece.

    parts (W, Q, K, n, F): of each place; there (Q, 1, n), piece (Q, n).
    """
    width, length = len(parts), parts.shape[3]
    total = parts[width // 2]
    for shift in range(1, min(width // 2, length - 1) + 1):
        same = (piece[:, shift:] == piece[:, :-shift])[:, None] & there[..., shift:]
        same = same[..., None]
        before = parts[width // 2 - shift][..., :-shift, :] * same
        after = parts[width // 2 + shift][..., shift:, :] * same
        total = total + nn.functional.pad(before, (0, 0, shift, 0))
        total = total + nn.functional.pad(after, (0, 0, 0, shift))
    return total


def _shares(values: Tensor) -> Tensor:
    return values / (values.sum(1, keepdim=True) + LEAST)
