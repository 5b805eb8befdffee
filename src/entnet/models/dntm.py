"""The Dynamic Neural Turing Machine (Gulcehre et al. 2018): feed-forward controller, continuous addressing.

    code            letter      shape           meaning
    facts           f_t         (M, F)          mean state of a GRU over the words of a sentence
    addresses       a_i         (N + 1, A)      trained, never written
    contents        c_i         (Q, N + 1, C)   empty at first
    hidden          h_t         (Q, H)          tanh(W_x f_t + W_r r_{t−1} + b)
    reads           r_t         (Q, C + A)      Σ_i w_i [c_i ; a_i], from the memory just written

    S_i = cos(k, [c_i ; a_i]);   w = softmax(β (S − γ v_{t−1}));   v ← 0.96 S + 0.04 v     (both heads)
    c_i ← (1 − u_i e) ⊙ c_i + u_i m̄;   m̄ = tanh(W_m h + b + α (W_i x̃ + b)), x̃ = tanh(W_p f + b)

The first row can only be read and the last only be written: heads rest there. A question is the last fact,
and its answer is due at an empty step after it. This is the authors' code; the paper's text differs: β + 1,
no gradient through v, reading before writing. Left out is their limit on the relative size of updates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from entnet.config import ModelConfig
from entnet.data.story import RaggedBatch
from entnet.models.base import StoryModel, register
from entnet.models.layers import pack
from entnet.models.past import past_of
from entnet.ops.gru import gru_scan
from entnet.text import Vocab

USAGE_DECAY = 0.04
"""Share of the past in v."""


@dataclass(frozen=True)
class DNTMConfig(ModelConfig):
    """A D-NTM. The defaults are those of its authors' script for bAbI."""

    kind: ClassVar[str] = "dntm"

    units: int = 180
    """H: units of the controller."""
    slots: int = 120
    """N: rows that a head can use."""
    content: int = 28
    """C: units of a row that are written."""
    address: int = 16
    """A: units of a row that are trained."""
    word_units: int = 100
    """F: units of the GRU over words."""
    words_loss: float = 0.64
    """λ at first: weight of predicting a fact's words from the state after it; the answer has 1 − λ."""
    words_loss_end: float = 0.12
    """λ at last."""
    words_loss_hold: int = 320
    """Updates before λ falls."""
    words_loss_fall: float = 1.04e-4
    """By how much it falls with every update."""
    consistency: float = 6e-4
    """Weight of reading, at the question, where something was written."""
    address_l1: float = 1e-4
    """Weight of Σ |a|."""
    weight_scale: float = 0.034
    """Scale of weights at the start: deviation, or of orthogonal square matrices the factor."""
    norm_sum: float = 5.0
    """All weights are scaled so that their norms sum to this; 0 to leave them as they are."""

    def check(self) -> None:
        super().check()
        self.at_least(1, "units", "slots", "content", "address", "word_units")
        for name in ("words_loss", "words_loss_end"):
            value = getattr(self, name)
            self.require(0 <= value < 1, f"{name} is {value}, but must be in [0, 1)")
        self.at_least(
            0, "consistency", "address_l1", "norm_sum", "words_loss_hold", "words_loss_fall"
        )


class Reading(NamedTuple):
    """What reading a batch has brought about."""

    hiddens: Tensor
    """(M) states after every fact, question by question, the question and the empty step last"""
    ends: Tensor
    """(Q) where each question's last state is"""
    words: Tensor
    """(M, L) the words of those facts, the null word where there are none"""
    found: Tensor
    """(Q) Σ_i (reading weight at the question) · (sum of writing weights, without gradient)"""


class Head(nn.Module):
    """Where to read or write: key, strength, and how far rows used lately are shunned."""

    def __init__(self, units: int, width: int) -> None:
        super().__init__()
        self.key, self.strength = nn.Linear(units, width), nn.Linear(units, 1)
        self.shun = nn.Linear(units, 1)

    def forward(self, hidden: Tensor, rows: Tensor, used: Tensor) -> tuple[Tensor, Tensor]:
        """Weights (Q, N), and v. rows (Q, N, C + A)"""
        key = self.key(hidden).unsqueeze(1)
        similar = nn.functional.cosine_similarity(key, rows, dim=-1, eps=1e-6)
        strength = nn.functional.softplus(self.strength(hidden))
        weights = (strength * (similar - self.shun(hidden).sigmoid() * used)).softmax(-1)
        return weights, (1 - USAGE_DECAY) * similar + USAGE_DECAY * used


@register
class DNTM(StoryModel):
    """Writes every fact to its memory, and answers from what the question reads there."""

    config: DNTMConfig
    config_class = DNTMConfig

    def __init__(self, config: DNTMConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        words, H, F, C = config.vocabulary, config.units, config.word_units, config.content
        width = C + config.address
        self.word_table = nn.Parameter(torch.empty(words, 3 * F))
        self.word_U = nn.Parameter(torch.empty(3 * F, F))
        self.addresses = nn.Parameter(sparse_addresses(config.slots + 1, config.address))
        self.from_fact, self.from_read = nn.Linear(F, H), nn.Linear(width, H, bias=False)
        self.writer, self.reader = Head(H, width), Head(H, width)
        self.projected, self.candidate = nn.Linear(F, F), nn.Linear(H, C)
        self.candidate_gate, self.candidate_fact = nn.Linear(H, 1), nn.Linear(F, C)
        self.erase, self.output, self.bag = (nn.Linear(H, size) for size in (C, words, words))
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))
        self._begin()

    def _begin(self) -> None:
        """Square matrices orthogonal, others normal, biases 0; then all are scaled together."""
        scale = self.config.weight_scale
        with torch.no_grad():
            for name, p in self.named_parameters():
                if name.endswith("bias"):
                    p.fill_(-0.16 if "shun" in name else 0.0)
                elif name == "word_U":
                    for gate in p.chunk(3):
                        nn.init.orthogonal_(gate).mul_(scale)
                elif name != "addresses":
                    square = p.shape[0] == p.shape[-1]
                    nn.init.orthogonal_(p).mul_(scale) if square else nn.init.normal_(p, std=scale)
            self.word_table[0] = 0
            if self.config.norm_sum > 0:
                total = sum(float(p.norm()) for p in self.parameters())
                for p in self.parameters():
                    p.mul_(self.config.norm_sum / total)

    def after_update(self) -> None:
        """The null word stays zero; updates are counted."""
        with torch.no_grad():
            self.word_table[0] = 0
            self.get_buffer("updates").add_(1)

    @property
    def words_weight(self) -> float:
        """λ after so many updates."""
        c = self.config
        late = max(int(self.get_buffer("updates")) - c.words_loss_hold, 0)
        return max(c.words_loss - c.words_loss_fall * late, min(c.words_loss, c.words_loss_end))

    def forward(self, batch: RaggedBatch) -> Tensor:
        reading = self._read(batch)
        scores: Tensor = self.output(reading.hiddens[reading.ends])
        return scores

    def loss(self, batch: RaggedBatch) -> tuple[Tensor, Tensor]:
        """(1 − λ) cross-entropy + λ bag of words, consistency, and the size of addresses, per question."""
        reading, share = self._read(batch), self.words_weight
        scores = self.output(reading.hiddens[reading.ends])
        losses = nn.functional.cross_entropy(scores, batch.answers, reduction="none")
        said = scores.new_zeros((len(reading.words), self.config.vocabulary))
        said = said.scatter_(1, reading.words, 1.0)
        guesses = self.bag(reading.hiddens)
        errors = nn.functional.binary_cross_entropy_with_logits(guesses, said, reduction="none")
        starts = torch.cat([reading.ends.new_zeros(1), reading.ends[:-1] + 1])
        facts = (reading.words != 0).any(1)
        counted = torch.cat([errors.new_zeros(1), (errors.mean(1) * facts).cumsum(0)])
        number = torch.cat([errors.new_zeros(1), facts.to(errors.dtype).cumsum(0)])
        of_words = (counted[reading.ends + 1] - counted[starts]) / (
            number[reading.ends + 1] - number[starts]
        ).clamp_min(1)
        losses = (1 - share) * losses + share * of_words
        losses = losses + self.config.consistency * (1 - reading.found) ** 2
        return losses + self.config.address_l1 * self.addresses.abs().sum(), scores

    def _read(self, batch: RaggedBatch) -> Reading:
        """Every question's facts, the question and an empty step, from an empty memory on."""
        past = past_of(batch)
        words = torch.cat([_wide(batch, batch.words), _wide(batch, batch.question_words)])
        words = torch.cat([words, words.new_zeros((1, words.shape[1]))])  # the empty step
        facts = self._facts(words)
        lengths = past.lengths + 2
        ends = lengths.cumsum(0) - 1
        which = ends.new_full((int(lengths.sum()),), len(words) - 1)
        which[ends - 1] = batch.sentences + torch.arange(batch.questions, device=ends.device)
        places = torch.arange(len(past.flat), device=ends.device) + 2 * past.question
        which[places] = past.flat
        packing = pack(lengths)
        hiddens, found = self._steps(facts[packing.lay(which)], packing.active)
        back = torch.empty_like(packing.order)
        back[packing.order] = torch.arange(len(back), device=back.device)
        return Reading(hiddens[packing.place], ends, words[which], found[back])

    def _facts(self, words: Tensor) -> Tensor:
        """(N, F): the mean state of the GRU over the words of each row, zero without words."""
        lengths = (words != 0).sum(1)
        packing = pack(lengths)
        inputs = nn.functional.embedding(packing.lay(words[words != 0]), self.word_table)
        nothing = inputs.new_zeros((len(words), self.config.word_units))
        states = gru_scan(inputs, self.word_U, nothing, packing.active)[packing.place]
        rows = torch.arange(len(words), device=words.device).repeat_interleave(lengths)
        return nothing.index_add(0, rows, states) / lengths.clamp_min(1).unsqueeze(1)

    def _steps(self, facts: Tensor, active: list[int]) -> tuple[Tensor, Tensor]:
        """States after every fact, laid out by time, and what ``Reading.found`` says, longest first."""
        c, first = self.config, 0
        Q, N = active[0] if active else 0, c.slots
        contents = facts.new_full((Q, N + 1, c.content), 1e-6)
        addresses = self.addresses.expand(Q, -1, -1)
        read = facts.new_zeros((Q, c.content + c.address))
        written_v, read_v, places = (facts.new_zeros((Q, N)) for _ in range(3))
        hiddens, found = [facts.new_zeros((0, c.units))], []
        projected = self.projected(facts).tanh()
        for step, count in enumerate(active):
            fact, x = facts[first : first + count], projected[first : first + count]
            contents, read = contents[:count], read[:count]
            written_v, read_v, places = written_v[:count], read_v[:count], places[:count]
            rows = torch.cat([contents, addresses[:count]], 2)
            h = (self.from_fact(fact) + self.from_read(read)).tanh()
            u, written_v = self.writer(h, rows[:, 1:], written_v)
            gate = self.candidate_gate(h).sigmoid()
            new = (self.candidate(h) + gate * self.candidate_fact(x)).tanh()
            u = nn.functional.pad(u, (1, 0)).unsqueeze(2)  # the first row cannot be written
            contents = contents * (1 - u * self.erase(h).sigmoid().unsqueeze(1))
            contents = contents + u * new.unsqueeze(1)
            rows = torch.cat([contents, addresses[:count]], 2)
            w, read_v = self.reader(h, rows[:, :-1], read_v)
            read = (w.unsqueeze(1) @ rows[:, :-1]).squeeze(1)
            places = places + u[:, :-1, 0].detach()
            hiddens.append(h)
            first += count
            # Sequences whose question this is have one more step, and are the last of those still read.
            more = active[step + 1] if step + 1 < len(active) else 0
            after = active[step + 2] if step + 2 < len(active) else 0
            if more > after:
                found.append((w[after:more, 1:] * places[after:more, 1:]).sum(1))
        return torch.cat(hiddens), torch.cat(found[::-1]) if found else facts.new_zeros(0)


def _wide(batch: RaggedBatch, words: Tensor) -> Tensor:
    width = max(batch.words.shape[1], batch.question_words.shape[1])
    return nn.functional.pad(words, (0, width - words.shape[1]))


def sparse_addresses(rows: int, width: int) -> Tensor:
    """Three numbers from N(0, 0.15²) in every row; rows scaled from 1 down to 0.64."""
    places = torch.rand(rows, width).argsort(1)[:, :3]
    values = torch.randn(places.shape) * 0.15
    sparse = torch.zeros(rows, width).scatter(1, places, values)
    return sparse * torch.linspace(1, 0.64, rows).unsqueeze(1)
