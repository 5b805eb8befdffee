"""Neural Semantic Encoders with adaptive computation (Munkhdalai and Yu 2016).

    M^q, M^d  of bidirectional LSTMs over query and document: (k, m'), (k, n);  s^q, s^d their last states
    for t = 1 … T:
        r    = LSTM_read([s^q ; s^d])
        l^q  = rᵀ M^q,   s^q = M^q softmax(l^q),   z = σ(l^q)
        l^d  = s^qᵀ M^d,  s^d = M^d softmax(l^d)
        c    = tanh(A [s^q ; s^d ; r] + b)
        M^q  ← z M^q + (1 − z) s^d      column by column: where z is near 0, the query is written anew
        e_t  = σ(o·LSTM_write(c)),   p_t = e_t Π_{i<t} (1 − e_i),   p_T = 1 − Σ_{i<T} p_i
    s_i  = Σ_t p_t softmax_i(l^d_t)
    p(c) = Σ over the i where word i is c of s_i

All T steps are always computed; nothing is charged for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from entnet.models.base import register
from entnet.models.gru import rows, there_and_back
from entnet.models.readers.attention_sum import ends
from entnet.models.readers.pointer import (
    Documents,
    PointerConfig,
    PointerReader,
    filled,
    softmax_over,
)
from entnet.ops.lstm import lstm_scan, lstm_step
from entnet.text import Vocab


@dataclass(frozen=True)
class NSEConfig(PointerConfig):
    """NSE. Its paper has 300 units of embedding, and k = 436 for both directions together."""

    kind: ClassVar[str] = "nse"

    steps: int = 12
    """T: rounds of reading and writing."""

    def check(self) -> None:
        super().check()
        self.at_least(1, "steps")


class BiLSTM(nn.Module):
    """[→h ; ←h] at every place, as ``gru.BiGRU``."""

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        self.there, self.back = Cell(width, units), Cell(width, units)

    def forward(self, table: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        states = []
        for cell, packing in zip((self.there, self.back), there_and_back(lengths), strict=True):
            nothing = table.new_zeros((len(lengths), cell.U.shape[1]))
            words_laid, shares = packing.lay(words), cell.inputs(table)
            hiddens, _ = lstm_scan(shares, words_laid, cell.U, nothing, nothing, packing.active)
            states.append(rows(hiddens, packing.place))
        return torch.cat(states, 1)


class Cell(nn.Module):
    """The weights of an LSTM, and one step of it."""

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        self.W, self.U = (
            nn.Parameter(torch.empty(4 * units, inputs).uniform_(-0.1, 0.1))
            for inputs in (width, units)
        )
        self.bias = nn.Parameter(torch.zeros(4 * units))

    def inputs(self, x: Tensor) -> Tensor:
        """W x + b"""
        return torch.addmm(self.bias, x, self.W.T)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Hidden state and cell after an input."""
        hidden, cell = state
        return lstm_step(self.inputs(x) + hidden @ self.U.T, cell)


@register
class NSE(PointerReader):
    """Reads and rewrites the query, and looks at the document, as often as it decides to."""

    config: NSEConfig
    config_class = NSEConfig

    def __init__(self, config: NSEConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        k = 2 * config.units
        self.document, self.query = (BiLSTM(config.width, config.units) for _ in range(2))
        self.reader, self.writer = Cell(2 * k, k), Cell(k, k)
        self.compose = nn.Linear(3 * k, k)
        self.halt = nn.Parameter(torch.empty(k).uniform_(-0.1, 0.1))

    def attention(self, documents: Documents) -> Tensor:
        looked, halted = self.rounds(documents)
        return (looked * halted.unsqueeze(2)).sum(1)

    def rounds(self, documents: Documents) -> tuple[Tensor, Tensor]:
        """(Q, T, n) where each round looks, and (Q, T) p_t: how much each counts"""
        document = self.document(documents.table, *documents.told)
        asked = self.query(documents.table, *documents.asked)
        query = documents.by_query(asked)
        there, heard = documents.there, filled(documents.asked.lengths)
        of_query = ends(asked, documents.asked)
        of_document = ends(document, documents.told)[documents.of]
        nothing = torch.zeros_like(of_query)
        reading = writing = (nothing, nothing)
        looked, halts = [], []
        for _ in range(self.config.steps):
            reading = self.reader(torch.cat([of_query, of_document], 1), reading)
            r = reading[0]
            match = _match(query, r)
            of_query = _mixed(query, softmax_over(match, heard))
            weights = softmax_over(documents.match(document, of_query), there)
            of_document = documents.mixed(document, weights)
            c = self.compose(torch.cat([of_query, of_document, r], 1)).tanh()
            z = match.sigmoid().unsqueeze(2)
            query = z * query + (1 - z) * of_document.unsqueeze(1)
            writing = self.writer(c, writing)
            looked.append(weights)
            halts.append((writing[0] @ self.halt).sigmoid())
        return torch.stack(looked, 1), halting(torch.stack(halts, 1))


def halting(e: Tensor) -> Tensor:
    """p_t = e_t Π_{i<t} (1 − e_i); the last round has what is left: (Q, T) → (Q, T)"""
    left = (1 - e).cumprod(1)
    before = torch.cat([torch.ones_like(left[:, :1]), left[:, :-1]], 1)
    return torch.cat([(e * before)[:, :-1], before[:, -1:]], 1)


def _match(memory: Tensor, asked: Tensor) -> Tensor:
    """(Q, n, k), (Q, k) → (Q, n)"""
    return (memory @ asked.unsqueeze(2)).squeeze(2)


def _mixed(memory: Tensor, weights: Tensor) -> Tensor:
    """(Q, n, k), (Q, n) → (Q, k)"""
    return (weights.unsqueeze(1) @ memory).squeeze(1)
