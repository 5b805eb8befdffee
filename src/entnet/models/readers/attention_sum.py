"""The Attention Sum Reader (Kadlec et al. 2016).

d_i = [→h_i ; ←h_i] of a bidirectional GRU over the document
q   = [→h_m ; ←h_1] of another one over the query: its last states
s_i = softmax_i(d_i·q)
p(c) = Σ over the i where word i is c of s_i
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from entnet.models.base import register
from entnet.models.gru import BiGRU
from entnet.models.readers.passage import Sequences
from entnet.models.readers.pointer import Documents, PointerConfig, PointerReader, softmax_over
from entnet.text import Vocab


@dataclass(frozen=True)
class AttentionSumConfig(PointerConfig):
    """The AS Reader. Its paper chose sizes of 128 to 384 for both."""

    kind: ClassVar[str] = "as"


@register
class AttentionSum(PointerReader):
    """One look from the query at every word of the document."""

    config: AttentionSumConfig
    config_class = AttentionSumConfig

    def __init__(self, config: AttentionSumConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        self.document, self.query = (BiGRU(config.width, config.units) for _ in range(2))

    def attention(self, documents: Documents) -> Tensor:
        d = self.document(documents.table, *documents.told)
        q = ends(self.query(documents.table, *documents.asked), documents.asked)
        return softmax_over(documents.match(d, q), documents.there)


def ends(states: Tensor, read: Sequences) -> Tensor:
    """(D, 2H) the last state of each direction: [→h_m ; ←h_1]"""
    units = states.shape[1] // 2
    last = read.lengths.cumsum(0) - 1
    return torch.cat([states[last, :units], states[read.starts, units:]], 1)
