"""The Attention-over-Attention Reader (Cui et al. 2017).

    h_i, u_t  of bidirectional GRUs over the document and over the query
    M_it = h_i·u_t
    α_it = softmax_i(M_it)      what each query word looks at
    β_it = softmax_t(M_it)      what each document word looks at;  β̄_t = mean over the document of β_it
    s_i  = Σ_t α_it β̄_t
    p(c) = Σ over the i where word i is c of s_i

Its paper also ranks the best answers again with language models; that is not part of it here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from entnet.models.base import register
from entnet.models.gru import BiGRU
from entnet.models.readers.pointer import (
    Documents,
    PointerConfig,
    PointerReader,
    filled,
    softmax_over,
)
from entnet.text import Vocab


@dataclass(frozen=True)
class AttentionOverAttentionConfig(PointerConfig):
    """The AoA Reader. Its paper has 384 units of embedding, 384 or 256 of each direction."""

    kind: ClassVar[str] = "aoa"


@register
class AttentionOverAttention(PointerReader):
    """Each query word's attention to the document, weighed by the document's attention to the query."""

    config: AttentionOverAttentionConfig
    config_class = AttentionOverAttentionConfig

    def __init__(self, config: AttentionOverAttentionConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        self.document, self.query = (BiGRU(config.width, config.units) for _ in range(2))

    def attention(self, documents: Documents) -> Tensor:
        h = documents.by_question(self.document(documents.table, *documents.told))
        u = documents.by_query(self.query(documents.table, *documents.asked))
        told = documents.there.unsqueeze(2)  # (Q, n, 1)
        asked = filled(documents.asked.lengths).unsqueeze(1)  # (Q, 1, m')
        match = h @ u.mT  # (Q, n, m')
        alpha = softmax_over(match, told, dim=1)
        beta = softmax_over(match, asked, dim=2) * told
        mean = beta.sum(1, keepdim=True) / told.sum(1, keepdim=True)  # (Q, 1, m')
        return (alpha * mean).sum(2)
