"""Copy and repeat-copy: can a memory machine write a sequence down, and read it out again?

Bits are shown, step by step; then a mark, for repeat-copy with how often; then the machine must say them
again, seeing nothing. Sequences longer than it was trained on tell whether it has learned to copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from entnet.ops.machine import Machine, Start, State, machine_states
from entnet.ops.machine_native import machine_scan


@dataclass(frozen=True)
class CopyTask:
    """What is to be copied."""

    bits: int = 4
    most_repeats: int = 1
    """1 for plain copying."""

    def batch(
        self, sequences: int, length: int, repeats: int, dice: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Inputs (T, S, bits + 2), and what is due (T, S, bits): -1 where nothing is."""
        shown = torch.randint(2, (length, sequences, self.bits), generator=dice).float()
        steps = length + 1 + length * repeats
        inputs = torch.zeros(steps, sequences, self.bits + 2)
        inputs[:length, :, : self.bits] = shown
        inputs[length, :, self.bits] = 1
        inputs[length, :, self.bits + 1] = repeats / self.most_repeats
        due = torch.full((steps, sequences, self.bits), -1.0)
        due[length + 1 :] = shown.repeat(repeats, 1, 1)
        return inputs, due


class Copier(nn.Module):
    """A memory machine between bits and bits."""

    def __init__(self, task: CopyTask, machine: Machine, units: int) -> None:
        super().__init__()
        self.machine, self.units = machine, units
        read = machine.heads * machine.width

        def weights(*shape: int) -> nn.Parameter:
            return nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape)))

        self.W, self.U = weights(4 * units, task.bits + 2), weights(4 * units, units + read)
        self.bias = nn.Parameter(torch.zeros(4 * units))
        self.B = weights(machine.interface, units)
        self.interface_bias = nn.Parameter(torch.zeros(machine.interface))
        self.output = nn.Linear(units + read, task.bits)
        first = torch.randn(machine.weightings, machine.slots)
        self.first_weights = nn.Parameter(first) if machine.kind == "ntm" else None

    def _arguments(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Start, list[int]]:
        steps, sequences, _ = inputs.shape
        m, rows = self.machine, inputs.flatten(0, 1)
        nothing = inputs.new_zeros
        weights = nothing((sequences, m.weightings, m.slots))
        if self.first_weights is not None:
            weights = self.first_weights.softmax(1).expand(sequences, -1, -1)
        hidden, cell = nothing((sequences, self.units)), nothing((sequences, self.units))
        start = Start(hidden, cell, nothing((sequences, m.heads * m.width)), weights)
        asked = self.interface_bias.expand(len(rows), -1)
        gates = rows @ self.W.T + self.bias
        return gates, self.U, self.B, asked, start, [sequences] * steps

    def forward(self, inputs: Tensor) -> Tensor:
        """(T, S, bits + 2) → (T, S, bits): arguments of a sigmoid"""
        hiddens, reads = machine_scan(self.machine, *self._arguments(inputs))
        scores: Tensor = self.output(torch.cat([hiddens, reads], 1))
        return scores.view(*inputs.shape[:2], -1)

    def states(self, inputs: Tensor) -> Iterator[State]:
        """The memory after every step."""
        for *_, state in machine_states(self.machine, *self._arguments(inputs)):
            yield state


def train_copier(
    model: Copier,
    task: CopyTask,
    updates: int,
    longest: int,
    sequences: int = 16,
    learning_rate: float = 3e-3,
    seed: int = 1,
) -> list[float]:
    """Adam on sequences of 1 … ``longest`` steps; wrong bits, in percent, in every update's batch."""
    dice = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    errors = []
    for _ in range(updates):
        length = int(torch.randint(1, longest + 1, (), generator=dice))
        repeats = int(torch.randint(1, task.most_repeats + 1, (), generator=dice))
        inputs, due = task.batch(sequences, length, repeats, dice)
        optimiser.zero_grad(set_to_none=True)
        loss, wrong = _loss(model, inputs, due)
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimiser.step()
        errors.append(wrong)
    return errors


def copy_error(
    model: Copier, task: CopyTask, length: int, repeats: int = 1, seed: int = 0
) -> float:
    """Wrong bits, in percent, of 64 sequences of this length."""
    inputs, due = task.batch(64, length, repeats, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        return _loss(model, inputs, due)[1]


def _loss(model: Copier, inputs: Tensor, due: Tensor) -> tuple[Tensor, float]:
    scores, asked = model(inputs), due >= 0
    loss = nn.functional.binary_cross_entropy_with_logits(scores[asked], due[asked])
    wrong = (scores[asked] > 0).to(due.dtype) != due[asked]
    return loss, 100 * float(wrong.float().mean())


def addressing_of(model: Copier, inputs: Tensor) -> Tensor:
    """(T, R + 1, slots): where the heads were in the first sequence, the writing head first."""
    with torch.no_grad():
        return torch.stack([state.weights[0] for state in model.states(inputs)])
