"""The Gated-Attention Reader (Dhingra et al.), as of June 2016 and as of 2017.

    D^k = bidirectional GRU k over X^{k−1}, X^0 the document's embeddings;  Q^k = another one over the query
    2016, "query":  X^k_i = D^k_i ⊙ q^k,   q^k = [→q_m ; ←q_1], the last states
    2017, "words":  α_it = softmax_t(Q^k_t·D^k_i),   X^k_i = D^k_i ⊙ Σ_t α_it Q^k_t
    s_i  = softmax_i(D^K_i·q),  q of the last query GRU: its last states (2016), the one at the blank (2017)
    p(c) = Σ over the i where word i is c of s_i

Of the later system, the character-level embeddings are not here. By option, the last layer is told which
words of the document stand in the query too (``query_words``: "qe-comm" in its paper).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from entnet.models.base import register
from entnet.models.gru import BiGRU, rows
from entnet.models.readers.attention_sum import ends
from entnet.models.readers.passage import Sequences
from entnet.models.readers.pointer import (
    Documents,
    PointerConfig,
    PointerReader,
    filled,
    layout,
    softmax_over,
)
from entnet.text import Vocab

MARK = 2
"""Units that say whether a word stands in the query."""


@dataclass(frozen=True)
class GatedAttentionConfig(PointerConfig):
    """The GA Reader."""

    kind: ClassVar[str] = "ga"

    layers: int = 3
    """K: times that the document is read."""
    gate: Literal["query", "words"] = "words"
    """What gates a document's words: the query as one vector, or its words as each attends to them."""
    query_words: bool = False
    """The last layer is told which words stand in the query."""

    def check(self) -> None:
        super().check()
        self.at_least(1, "layers")


@register
class GatedAttention(PointerReader):
    """Reads the document several times, each time through what the query makes of it."""

    config: GatedAttentionConfig
    config_class = GatedAttentionConfig

    def __init__(self, config: GatedAttentionConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        width, units, deeper = config.width, config.units, config.layers - 1
        mark = MARK if config.query_words else 0
        widths = [width] + [2 * units] * deeper
        widths[-1] += mark
        self.document = nn.ModuleList(BiGRU(width, units) for width in widths)
        needed = deeper + 1
        self.query = nn.ModuleList(BiGRU(width, units) for _ in range(needed))
        self.mark = nn.Parameter(torch.randn(2, MARK) * 0.1) if mark else None

    def attention(self, documents: Documents) -> Tensor:
        told, asked = documents.told, documents.asked
        table, at, of = documents.table, told.words, documents.of
        for number, (document, query) in enumerate(zip(self.document, self.query, strict=True)):
            last = number == len(self.query) - 1
            if last and self.mark is not None:
                table, at, told, of = self._marked(documents, table, at, told, of)
            states = rows(document(table, at, told.lengths), layout(told)[of])  # (Q, n, 2H)
            heard = query(documents.table, *asked)
            if last:
                q = heard[documents.blank] if self.config.gate == "words" else ends(heard, asked)
                return softmax_over((states @ q.unsqueeze(2)).squeeze(2), documents.there)
            gated = self._dropped(states * self._gate(documents, states, heard))
            # From here on a document is read for each question by itself.
            table, told = gated[documents.there], _of_questions(told, of)
            at, of = torch.arange(len(table)), torch.arange(len(told.lengths))
        raise AssertionError("there is a last layer")

    def _gate(self, documents: Documents, states: Tensor, heard: Tensor) -> Tensor:
        """(Q, n, 2H), or (Q, 1, 2H): what the words of a document are multiplied with"""
        if self.config.gate == "query":
            return ends(heard, documents.asked).unsqueeze(1)
        words = documents.by_query(heard)  # (Q, m', 2H)
        there = filled(documents.asked.lengths).unsqueeze(1)
        return softmax_over(states @ words.mT, there) @ words

    def _marked(
        self, documents: Documents, table: Tensor, at: Tensor, told: Sequences, of: Tensor
    ) -> tuple[Tensor, Tensor, Sequences, Tensor]:
        """The last layer's inputs, question by question, each with its mark."""
        assert self.mark is not None
        places = layout(told)[of]
        inputs = rows(table, at[places])[documents.there]
        words = documents.told.words[layout(documents.told)[documents.of]]
        asked = documents.asked.words[layout(documents.asked)]
        asked = asked.masked_fill(~filled(documents.asked.lengths), -1)
        common = (words.unsqueeze(2) == asked.unsqueeze(1)).any(2)[documents.there]
        marked = torch.cat([inputs, rows(self.mark, common.long())], 1)
        told = _of_questions(told, of)
        return marked, torch.arange(len(marked)), told, torch.arange(len(told.lengths))


def _of_questions(told: Sequences, of: Tensor) -> Sequences:
    """A document for each question; what its words are is in the table."""
    lengths = told.lengths[of]
    return Sequences(torch.arange(int(lengths.sum())), lengths)
