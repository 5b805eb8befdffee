"""What NTM and DNC share: an LSTM that reads stories word by word and works on a memory at every step.

code            letter      shape           meaning
table           W x         (|V| + 4, 4H)   a word's share of the LSTM's gates
U                           (4H, H + R W)   the share of the last output and of what was read
B                           (I, H)          from the hidden state to the interface of the memory
output, reads   W_y, W_r    (|V|, H), …     scores of the answers, from both, where an answer is due
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from entnet.config import ModelConfig
from entnet.data.story import RaggedBatch
from entnet.models.base import StoryModel
from entnet.models.layers import Packing, pack
from entnet.models.weaving import MARKS, Stream, weave
from entnet.ops.lstm import lstm_scan
from entnet.ops.machine import Machine, Norms, Start, State, machine_states
from entnet.ops.machine_native import machine_scan
from entnet.text import Vocab


@dataclass(frozen=True)
class MachineConfig(ModelConfig):
    """What a memory machine has besides its kind of memory."""

    memory_limit: int | None = None
    """The story is read whole."""
    units: int = 256
    """H: units of the LSTM."""
    slots: int = 256
    """N: rows of the memory."""
    width: int = 64
    """W: units of a row."""
    heads: int = 4
    """R: heads that read. One writes."""
    embedding: int | None = None
    """Units of a word's embedding; None for words as they are, one-hot."""
    blank_steps: int = 0
    """Steps to think between a question and its answer (Csordás and Schmidhuber: 3)."""
    layer_norm: bool = False
    """Normalise the gates' arguments, the cell before its tanh, and the interface (ADNC)."""
    bypass_dropout: float = 0.0
    """Share of the LSTM's outputs dropped in training on their way to the answer, so that it is read from
    the memory (ADNC: 0.1)."""
    backward_units: int = 0
    """Units of a reader that goes backwards through the story first and has a say in the interface (BiADNC:
    172); 0 for none."""
    weight_scale: float = 0.1
    """Standard deviation of all weights at the start; 0 for Xavier's uniform start."""
    forget_bias: float = 1.0
    """Bias of the forget gate at the start."""

    def machine(self) -> Machine:
        """The memory that the operators work on."""
        raise NotImplementedError

    def check(self) -> None:
        super().check()
        self.at_least(1, "units", "slots", "width", "heads")
        self.at_least(0, "blank_steps", "backward_units", "weight_scale")
        self.require(
            self.embedding is None or self.embedding >= 1,
            f"embedding is {self.embedding}, but must be at least 1, or none",
        )
        self.require(
            0 <= self.bypass_dropout < 1,
            f"bypass_dropout is {self.bypass_dropout}, but must be in [0, 1)",
        )


class Laid(NamedTuple):
    """A stream laid out by time."""

    stream: Stream
    packing: Packing
    tokens: Tensor
    """(N) as they are laid out"""


class MemoryMachine(StoryModel):
    """Reads a story and its questions as one sequence, and answers where an answer is due."""

    config: MachineConfig
    embedding: Tensor | None
    backward_table: Tensor | None
    backward_interface: Tensor | None

    def __init__(self, config: MachineConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        self.machine = config.machine()
        H, read, tokens = config.units, config.heads * config.width, config.vocabulary + MARKS
        self.embedding = None
        if config.embedding is not None:
            self.embedding = nn.Parameter(torch.randn(tokens, config.embedding))
        self.table = self._matrix(config.embedding or tokens, 4 * H)
        self.U = self._matrix(4 * H, H + read)
        bias = torch.zeros(4 * H)
        bias[2 * H : 3 * H] = config.forget_bias
        self.bias = nn.Parameter(bias)
        self.B = self._matrix(self.machine.interface, H)
        self.interface_bias = nn.Parameter(torch.zeros(self.machine.interface))
        self.output, self.reads = (self._matrix(config.vocabulary, size) for size in (H, read))
        self.output_bias = nn.Parameter(torch.zeros(config.vocabulary))
        self.gains: nn.ParameterList | None = None
        if config.layer_norm:
            sizes = (4 * H, H, self.machine.interface)
            self.gains = nn.ParameterList(nn.Parameter(torch.ones(size)) for size in sizes)
            self.cell_shift = nn.Parameter(torch.zeros(H))
        self.backward_table = self.backward_interface = None
        if config.backward_units:
            self.backward_table = self._matrix(tokens, 4 * config.backward_units)
            self.backward_interface = self._matrix(self.machine.interface, config.backward_units)

    def _matrix(self, *shape: int) -> nn.Parameter:
        if self.config.weight_scale == 0:
            return nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape)))
        return nn.Parameter(torch.randn(shape) * self.config.weight_scale)

    def start(self, stories: int) -> Start:
        """Where stories start: with nothing."""
        m, nothing = self.machine, self.bias.new_zeros
        hidden, cell = nothing((stories, self.config.units)), nothing((stories, self.config.units))
        reads, weights = (stories, m.heads * m.width), (stories, m.weightings, m.slots)
        return Start(hidden, cell, nothing(reads), nothing(weights))

    def forward(self, batch: RaggedBatch) -> Tensor:
        laid = self._laid(batch)
        hiddens, reads = machine_scan(self.machine, *self._arguments(laid))
        due = laid.packing.place[laid.stream.answers]
        return hiddens[due] @ self.output.T + torch.addmm(
            self.output_bias, reads[due], self.reads.T
        )

    def states(self, batch: RaggedBatch) -> Iterator[State]:
        """The memory after every step of a batch, for pictures of where heads write and read."""
        for *_, state in machine_states(self.machine, *self._arguments(self._laid(batch))):
            yield state

    def _laid(self, batch: RaggedBatch) -> Laid:
        stream = weave(batch, self.config.vocabulary, self.config.blank_steps)
        packing = pack(stream.lengths)
        return Laid(stream, packing, packing.lay(stream.tokens))

    def _arguments(
        self, laid: Laid
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Start, list[int], Norms | None, Tensor | None]:
        table = self.table if self.embedding is None else self.embedding @ self.table
        norms, bias, interface_bias = None, self.bias, self.interface_bias
        if self.gains is not None:
            gates, cell, interface = self.gains
            norms = Norms(gates, bias, cell, self.cell_shift, interface, interface_bias)
        else:
            table = table + bias
        rows = len(laid.tokens)
        asked = (
            interface_bias.expand(rows, -1)
            if norms is None
            else self.B.new_zeros(rows, len(self.B))
        )
        if self.backward_interface is not None:
            asked = asked + self._backwards(laid) @ self.backward_interface.T
        keep = None
        if self.training and self.config.bypass_dropout > 0:
            ones = table.new_ones((rows, self.config.units))
            keep = nn.functional.dropout(ones, self.config.bypass_dropout)
        inputs = nn.functional.embedding(laid.tokens, table)
        start = self.start(len(laid.stream.lengths))
        return inputs, self.U, self.B, asked, start, laid.packing.active, norms, keep

    def _backwards(self, laid: Laid) -> Tensor:
        """(N, backward_units), laid out by time: an LSTM whose gates see only the current word, going from
        the end of each story to its beginning."""
        assert self.backward_table is not None
        lengths, units = laid.stream.lengths, self.config.backward_units
        ends = lengths.cumsum(0)
        story = torch.arange(len(lengths), device=ends.device).repeat_interleave(lengths)
        mirrored = (2 * ends - lengths)[story] - 1 - torch.arange(len(story), device=ends.device)
        nothing = self.bias.new_zeros((len(lengths), units))
        words = laid.packing.lay(laid.stream.tokens[mirrored])
        no_recurrence = self.bias.new_zeros((4 * units, units))
        states, _ = lstm_scan(
            self.backward_table, words, no_recurrence, nothing, nothing, laid.packing.active
        )
        return laid.packing.lay(states[laid.packing.place][mirrored])
