"""The yardstick for DMN+: the same network in plain PyTorch, as a good engineer would write it.

Torch's own GRUs read facts and questions; weights of the attention GRU's inputs are applied to all facts at
once, and its loop is over the sentences of a batch. As in every public implementation, each question is an
example of its own, with the sentences before it, padded to the longest in its batch.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.plain import PaddedBatch
from entnet.models.layers import position_encoding

L2, DROPOUT = 0.001, 0.1


class PlainPass(nn.Module):
    """A round of attention with its attention GRU and its update of the memory."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden, self.score = nn.Linear(4 * width, width), nn.Linear(width, 1)
        self.inputs = nn.Linear(width, 2 * width)
        self.recurrent = nn.Linear(width, 2 * width, bias=False)
        self.update = nn.Linear(3 * width, width)

    def forward(self, facts: Tensor, q: Tensor, m: Tensor, told: Tensor) -> Tensor:
        """facts (B, T, d), question and memory (B, d), where a fact is (B, T)"""
        wide_q, wide_m = q.unsqueeze(1), m.unsqueeze(1)
        z = torch.cat(
            [facts * wide_q, facts * wide_m, (facts - wide_q).abs(), (facts - wide_m).abs()], 2
        )
        scores = self.score(self.hidden(z).tanh()).squeeze(2)
        gates = scores.masked_fill(~told, -torch.inf).softmax(1)
        inputs = self.inputs(facts)
        h = torch.zeros_like(q)
        for t in range(facts.shape[1]):
            reset, candidate = inputs[:, t].chunk(2, 1)
            reset_share, share = self.recurrent(h).chunk(2, 1)
            found = torch.tanh(candidate + torch.sigmoid(reset + reset_share) * share)
            gate = gates[:, t : t + 1]
            h = gate * found + (1 - gate) * h
        return F.relu(self.update(torch.cat([m, h, q], 1)))


class PlainDMN(nn.Module):
    """Input fusion, three rounds with weights of their own, answer."""

    def __init__(self, vocabulary: int, sentence_length: int, width: int, passes: int = 3) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.fusion = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.question = nn.GRU(width, width, batch_first=True)
        self.rounds = nn.ModuleList(PlainPass(width) for _ in range(passes))
        self.answer = nn.Linear(2 * width, vocabulary)
        self.register_buffer("weights", position_encoding(sentence_length, width))

    def forward(self, batch: PaddedBatch) -> Tensor:
        e = self.embedding(batch.words) * self.get_buffer("weights")[: batch.words.shape[2]]
        sentences = F.dropout(e.sum(2), DROPOUT, self.training)
        packed = pack_padded_sequence(
            sentences, batch.lengths, batch_first=True, enforce_sorted=False
        )
        read, _ = pad_packed_sequence(self.fusion(packed)[0], batch_first=True)
        facts = sum(read.chunk(2, 2))
        told = torch.arange(facts.shape[1]) < batch.lengths.unsqueeze(1)
        asked = (batch.question_words != 0).sum(1)
        words = pack_padded_sequence(
            self.embedding(batch.question_words), asked, batch_first=True, enforce_sorted=False
        )
        q = m = self.question(words)[1][0]
        for each in self.rounds:
            m = each(facts, q, m, told)
        return self.answer(F.dropout(torch.cat([m, q], 1), DROPOUT, self.training))


class PlainDMNTrainer:
    """Adam on the summed loss with L2 on all weights but biases."""

    def __init__(self, model: PlainDMN, rate: float = 0.001) -> None:
        self.model = model
        self.optimiser = torch.optim.Adam(model.parameters(), lr=rate, fused=True)

    def step(self, batch: PaddedBatch) -> float:
        self.optimiser.zero_grad(set_to_none=True)
        squares = sum(p.square().sum() for n, p in self.model.named_parameters() if "bias" not in n)
        scores = self.model(batch)
        loss = F.cross_entropy(scores, batch.answers, reduction="sum") + L2 / 2 * squares
        torch.autograd.backward(loss)
        self.optimiser.step()
        return float(loss.detach())
