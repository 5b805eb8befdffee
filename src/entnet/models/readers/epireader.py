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
from entnet.models.readers.pointer import LEAST, Documents, filled, layout
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
        query = torch.repeat_interleave(asked.lengths)
        drawn = _products(documents.table, self.hypothesis_filters)[asked.words]  # (T', W, F)
        blank = torch.zeros_like(asked.words, dtype=torch.bool).index_fill(0, documents.blank, True)
        drawn = drawn.masked_fill(
            blank[:, None, None], 0.0
        )  # the blank's own embedding says nothing
        rest = documents.by_query(sum_of_shifted(drawn, query))  # (Q, m', F)
        # The candidate adds to what filters see that have the blank among their words.
        filters = self.hypothesis_filters
        added = torch.einsum("qke,wef->qkwf", candidates, filters)
        reach = len(filters) // 2
        steps = torch.arange(there.shape[1], device=there.device)
        ahead = (documents.blank - asked.starts).unsqueeze(1) - steps + reach  # (Q, m')
        seen = nn.functional.one_hot(ahead.clamp(-1, len(filters)) + 1, len(filters) + 2)
        seen = seen[..., 1:-1].to(added.dtype)  # (Q, m', W)
        made = rest.unsqueeze(1) + torch.einsum("qtw,qkwf->qktf", seen, added)
        made = (made + self.hypothesis_bias).relu() * there[:, None, :, None]
        return made.amax(2)

    def _sentences(self, batch: RaggedBatch, documents: Documents, candidates: Tensor) -> Tensor:
        """(Q, N, K, F) r_i"""
        told, there, width = documents.told, documents.there, self.config.width
        sentence, lengths = self._sentences_of(batch)
        words = documents.by_question(rows(documents.table, told.words))  # (Q, n, E)
        asked = documents.by_query(rows(documents.table, documents.asked.words))
        silent = ~filled(documents.asked.lengths).unsqueeze(1)
        near = (words @ asked.mT).masked_fill(silent, -torch.inf).amax(2)  # (Q, n)
        alike = torch.cat([words @ candidates.mT, near.unsqueeze(2)], 2)[there]  # (T', K + 1)
        # What filters make of words is the same for all candidates, and computed once per distinct word.
        drawn = _products(documents.table, self.sentence_filters[:, :width])
        places = layout(told)[documents.of][there]
        plain = sum_of_shifted(drawn[told.words[places]], sentence)  # (T', F)
        channels = shifted(alike, len(self.sentence_filters), sentence)  # (T', K + 1, W)
        of_candidate, of_query = self.sentence_filters[:, width:].unbind(1)  # (W, F)
        plain = plain + channels[:, -1] @ of_query + self.sentence_bias
        of_each = channels[:, :-1].flatten(0, 1) @ of_candidate  # (T' K, F)
        together = of_each.view(len(plain), -1, plain.shape[1]) + plain.unsqueeze(1)
        most = torch.segment_reduce(together.flatten(1), "max", lengths=lengths, axis=0).relu()
        counts = batch.story_offsets.diff()[batch.question_story]
        made = most.new_zeros((*filled(counts).shape, most.shape[1]))
        made[filled(counts)] = most
        return made.view(*filled(counts).shape, *together.shape[1:])

    def _sentences_of(self, batch: RaggedBatch) -> tuple[Tensor, Tensor]:
        """Of the words of each question's document: which sentence they are in (T'); sentences' lengths."""
        story = batch.question_story
        counts = batch.story_offsets.diff()[story]
        rows_of = batch.story_offsets[story].unsqueeze(1) + torch.arange(int(counts.max()))
        words = (batch.words != 0).sum(1)
        lengths = words[rows_of.clamp_max(len(words) - 1)] * filled(counts)
        lengths[:, 0] += lengths.sum(1) == 0  # a story without words keeps a null word
        lengths = lengths[filled(counts)]
        return torch.repeat_interleave(lengths), lengths


def _products(table: Tensor, filters: Tensor) -> Tensor:
    """(V', E), (W, E, F) → (V', W, F): what each place of the filters makes of each word"""
    return torch.einsum("ve,wef->vwf", table, filters)


def _neighbours(piece: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """(T, W) the places that a filter sees, and whether they are in the same piece."""
    steps = torch.arange(width, device=piece.device) - width // 2
    places = torch.arange(len(piece), device=piece.device).unsqueeze(1) + steps
    inside = places.clamp(0, len(piece) - 1)
    return inside, (places == inside) & (piece[inside] == piece.unsqueeze(1))


def shifted(values: Tensor, width: int, piece: Tensor) -> Tensor:
    """(T, C) → (T, C, W): what filters of this width see, zero beyond the same piece (T)"""
    places, same = _neighbours(piece, width)
    return (values[places] * same.unsqueeze(2)).transpose(1, 2).contiguous()


def sum_of_shifted(parts: Tensor, piece: Tensor) -> Tensor:
    """(T, W, F) → (T, F): Σ over a filter's places of what it makes of words in the same piece (T)"""
    places, same = _neighbours(piece, parts.shape[1])
    together = torch.zeros_like(parts[:, 0])
    for number in range(parts.shape[1]):
        together = together + parts[:, number][places[:, number]] * same[:, number : number + 1]
    return together


def _shares(values: Tensor) -> Tensor:
    return values / (values.sum(1, keepdim=True) + LEAST)
