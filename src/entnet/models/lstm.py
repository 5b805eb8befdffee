"""The LSTM that the paper compares with: it reads the story word by word, then the question.

    code            shape           meaning
    gates           (N, 4H)         output, input and forget gate and candidate, in this order
    hidden, cell    (S, H), (N, H)  what the LSTM carries along

A story is read once. Each of its questions is read from the state at its place in the story, which is
the same as reading story and question as one sequence, for every question, from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import torch
from torch import Tensor, nn

from entnet.config import ModelConfig
from entnet.data.story import RaggedBatch
from entnet.models.base import StoryModel, register
from entnet.text import Vocab


@dataclass(frozen=True)
class LSTMConfig(ModelConfig):
    """A single-layer LSTM over words. The defaults are the paper's, as far as it says."""

    kind: ClassVar[str] = "lstm"

    units: int = 50
    """H: units of the hidden state."""
    width: int = 50
    """Units of a word's embedding (the paper does not say)."""
    weight_scale: float = 0.1
    """Standard deviation of all weights at the start."""
    forget_bias: float = 1.0
    """Bias of the forget gate at the start (the paper does not say)."""

    def check(self) -> None:
        super().check()
        for name in ("units", "width"):
            value = getattr(self, name)
            self.require(value >= 1, f"{name} is {value}, but must be at least 1")
        self.require(
            self.weight_scale >= 0, f"weight_scale is {self.weight_scale}, but must not be negative"
        )


class Packing(NamedTuple):
    """Sequences of different lengths, laid out by time: all first words, all second words, …

    Longer sequences come first, so those still being read are always the first few.
    """

    active: list[int]
    """How many sequences are still being read, step by step."""
    order: Tensor
    """(S) sequences, longest first."""
    place: Tensor
    """(N) where each word, counted sequence by sequence, is laid."""
    previous: Tensor
    """(N) row of the state before each laid word, in ``cat(initial states in order, states)``."""


def pack(lengths: Tensor) -> Packing:
    """Lay out sequences of these lengths, some of which may be 0."""
    sequences, total = lengths.numel(), int(lengths.sum())
    sorted_lengths, order = lengths.sort(descending=True, stable=True)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(sequences, device=order.device)
    longest = int(sorted_lengths[0]) if sequences else 0
    steps = torch.arange(longest, device=lengths.device)
    active = (lengths.unsqueeze(0) > steps.unsqueeze(1)).sum(1)
    row_start = active.cumsum(0) - active

    sequence = torch.repeat_interleave(lengths)
    start = lengths.cumsum(0) - lengths
    step = torch.arange(total, device=lengths.device) - start[sequence]
    place = row_start[step] + rank[sequence]
    before = torch.where(
        step > 0, sequences + row_start[(step - 1).clamp_min(0)] + rank[sequence], rank[sequence]
    )
    previous = torch.empty_like(before)
    previous[place] = before
    return Packing(active.tolist(), order, place, previous)


def lstm_step(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """c ← f ⊙ c + i ⊙ tanh(z),  h = o ⊙ tanh(c), from the arguments of the gates."""
    o, i, f, z = gates.chunk(4, dim=-1)
    cell = f.sigmoid() * cell + i.sigmoid() * z.tanh()
    return o.sigmoid() * cell.tanh(), cell


def lstm_scan_reference(
    inputs: Tensor, U: Tensor, hidden: Tensor, cell: Tensor, packing: Packing
) -> tuple[Tensor, Tensor]:
    """States (N, H) after every laid word. inputs (N, 4H) is the words' share of the gates,
    U (4H, H) brings the hidden state's; hidden and cell (S, H) are where the sequences start."""
    hiddens, cells = [inputs.new_zeros((0, hidden.shape[1]))], [cell.new_zeros((0, cell.shape[1]))]
    first = 0
    for active in packing.active:
        gates = inputs[first : first + active] + hidden[:active] @ U.T
        hidden, cell = lstm_step(gates, cell[:active])
        hiddens.append(hidden)
        cells.append(cell)
        first += active
    return torch.cat(hiddens), torch.cat(cells)


class _LSTMScan(torch.autograd.Function):
    """The same as the reference, with the backward pass written out: half the time on a CPU."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, U: Tensor, hidden: Tensor, cell: Tensor, packing: Packing
    ) -> tuple[Tensor, Tensor]:
        units = hidden.shape[1]
        gates = torch.empty_like(inputs)
        hiddens = torch.empty_like(inputs[:, :units])
        cells, squashed = torch.empty_like(hiddens), torch.empty_like(hiddens)
        transposed = U.T.contiguous()
        h, c = hidden, cell
        first = 0
        for active in packing.active:
            rows = slice(first, first + active)
            now = torch.addmm(inputs[rows], h[:active], transposed, out=gates[rows])
            now[:, : 3 * units].sigmoid_()
            now[:, 3 * units :].tanh_()
            o, i, f, z = now.chunk(4, dim=1)
            c = torch.addcmul(torch.mul(f, c[:active], out=cells[rows]), i, z, out=cells[rows])
            h = torch.mul(o, torch.tanh(c, out=squashed[rows]), out=hiddens[rows])
            first += active
        ctx.save_for_backward(U, hidden, cell, gates, hiddens, cells, squashed)
        ctx.packing = packing
        return hiddens, cells

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        grad_hiddens, grad_cells = grad_outputs
        U, hidden, cell, gates, hiddens, cells, squashed = ctx.saved_tensors
        packing: Packing = ctx.packing
        units = hidden.shape[1]
        o, i, f, z = gates.chunk(4, dim=1)
        cell_before = torch.cat([cell, cells])[packing.previous]
        # What each gate's argument gets from one unit of dh (for o) or dc (for i, f, z).
        share = torch.stack(
            [
                squashed * o * (1 - o),
                z * i * (1 - i),
                cell_before * f * (1 - f),
                i * (1 - z * z),
            ],
            dim=1,
        )  # (N, 4, H)
        through = o * (1 - squashed * squashed)  # dh to dc
        kept = f.contiguous()
        grad_gates = torch.empty_like(share)
        dh, dc = torch.zeros_like(hidden), torch.zeros_like(cell)
        first = gates.shape[0]
        for active in reversed(packing.active):
            first -= active
            rows = slice(first, first + active)
            dh_now = dh[:active].add_(grad_hiddens[rows])
            dc_now = dc[:active].add_(grad_cells[rows]).addcmul_(dh_now, through[rows])
            now = grad_gates[rows]
            torch.mul(share[rows, 0], dh_now, out=now[:, 0])
            torch.mul(share[rows, 1:], dc_now.unsqueeze(1), out=now[:, 1:])
            dc_now.mul_(kept[rows])
            torch.mm(now.view(active, 4 * units), U, out=dh_now)
        flat = grad_gates.view(-1, 4 * units)
        hidden_before = torch.cat([hidden, hiddens])[packing.previous]
        return flat, flat.T @ hidden_before, dh, dc, None


def lstm_scan(
    inputs: Tensor, U: Tensor, hidden: Tensor, cell: Tensor, packing: Packing
) -> tuple[Tensor, Tensor]:
    """As ``lstm_scan_reference``, faster."""
    return cast(
        "tuple[Tensor, Tensor]",
        _LSTMScan.apply(inputs, U, hidden, cell, packing),  # type: ignore[no-untyped-call]
    )


@register
class LSTM(StoryModel):
    """Words in order, the question last, and an answer from all words of the vocabulary."""

    config: LSTMConfig
    config_class = LSTMConfig

    def __init__(self, config: LSTMConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        units, scale = config.units, config.weight_scale
        self.embedding = nn.Parameter(torch.randn(config.vocabulary, config.width) * scale)
        self.W = nn.Parameter(torch.randn(4 * units, config.width) * scale)
        self.U = nn.Parameter(torch.randn(4 * units, units) * scale)
        bias = torch.zeros(4 * units)
        bias[2 * units : 3 * units] = config.forget_bias
        self.bias = nn.Parameter(bias)
        self.R = nn.Parameter(torch.randn(config.vocabulary, units) * scale)
        self.output_bias = nn.Parameter(torch.zeros(config.vocabulary))
        self.after_update()

    def after_update(self) -> None:
        """The null word stays zero; it is never read, since it only fills up sentences."""
        with torch.no_grad():
            self.embedding[0] = 0

    def forward(self, batch: RaggedBatch) -> Tensor:
        # Words are few: their share of the gates is computed once a word, not once an occurrence.
        table = torch.addmm(self.bias, self.embedding, self.W.T)
        stories = batch.story_offsets.numel() - 1
        nothing = table.new_zeros((stories, self.config.units))
        words_read = (batch.words != 0).sum(1).cumsum(0)
        ends = nn.functional.pad(words_read, (1, 0))[batch.story_offsets]
        hidden, cell = self._read(table, batch.words, ends.diff(), nothing, nothing)

        asked_in = batch.question_story
        heard = words_read[batch.question_step] > ends[asked_in]
        at = (words_read[batch.question_step] - 1).clamp_min(0)
        hidden, cell = (_state_at(states, at, heard) for states in (hidden, cell))

        lengths = (batch.question_words != 0).sum(1)
        after, _ = self._read(table, batch.question_words, lengths, hidden, cell)
        final = _state_at(after, (lengths.cumsum(0) - 1).clamp_min(0), lengths > 0)
        final = torch.where((lengths > 0).unsqueeze(1), final, hidden)
        return torch.addmm(self.output_bias, final, self.R.T)

    def _read(
        self, table: Tensor, words: Tensor, lengths: Tensor, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Hidden states and cells after every word, sequence by sequence."""
        packing = pack(lengths)
        tokens = words[words != 0]
        laid = torch.empty_like(tokens)
        laid[packing.place] = tokens
        inputs = nn.functional.embedding(laid, table)
        order = packing.order
        hiddens, cells = lstm_scan(inputs, self.U, hidden[order], cell[order], packing)
        return hiddens[packing.place], cells[packing.place]


def _state_at(states: Tensor, at: Tensor, heard: Tensor) -> Tensor:
    """Rows of states, or zero where nothing has been heard yet."""
    if not states.shape[0]:
        return states.new_zeros((at.shape[0], states.shape[1]))
    return torch.where(heard.unsqueeze(1), states[at], 0.0)
