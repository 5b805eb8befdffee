"""Memory machines over many sequences at once: an LSTM that writes to a memory and reads it at every step.

Sequences are laid out by time, longer ones first, as for the LSTM scan.

    code            letter      shape           meaning
    inputs                      (N, 4H)         the input's share of the gates (output, input, forget, z)
    U                           (4H, H + R W)   brings the share of the last output and of what was read
    B                           (I, H)          from the hidden state to the interface
    interface       ξ           (N, I)          what is added to that
    hiddens         h           (N, H)          outputs of the LSTM, after dropout if there is any
    reads           r           (N, R W)        what the R heads have read
    memory          M           (S, slots, W)

Two kinds of memory share the frame. ``dnc``: the Differentiable Neural Computer's, with usage, allocation
and temporal links. ``ntm``: the Neural Turing Machine's, with interpolated, shifted, sharpened weightings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import layer_norm, softplus

from entnet.ops import addressing
from entnet.ops.lstm import lstm_step

LIMIT = 20.0
"""Interfaces are cut off at ± this."""

NORM_EPSILON = 1e-6


@dataclass(frozen=True)
class Machine:
    """What kind of memory, and how large."""

    kind: Literal["dnc", "ntm"]
    slots: int
    width: int
    heads: int
    """R: that read. One writes."""
    links: bool = True
    """dnc: heads can follow the order of writing."""
    masking: bool = False
    """dnc: heads choose which units of a slot they compare."""
    deallocation: bool = False
    """dnc: what is freed is erased from the memory."""
    sharpness: bool = False
    """dnc: what heads find along the links is sharpened."""
    usage_gradient: bool = True
    """dnc: gradients flow through the write weighting into usage."""
    read_first: bool = True
    """ntm: heads read from the memory as it was before this step's writing."""
    memory_start: float = 0.0
    """Every number of the memory at the start."""

    def parts(self) -> list[tuple[str, int]]:
        """The interface's parts in their order, with how many numbers each takes."""
        R, W = self.heads, self.width
        if self.kind == "ntm":
            keys, rest = (R + 1) * W, R + 1
            return [
                *(("keys", keys), ("erase", W), ("write", W)),
                *(("strengths", rest), ("gates", rest), ("shifts", 3 * rest), ("powers", rest)),
            ]
        parts = [("keys", (R + 1) * W), ("erase", W), ("write", W)]
        parts += [("masks", (R + 1) * W)] if self.masking else []
        parts += [("strengths", R + 1), ("free", R), ("allocate", 1), ("gate", 1)]
        if self.links:
            parts += [("modes", 3 * R)]
            parts += [("sharpness", 2 * R)] if self.sharpness else []
        return parts

    @property
    def interface(self) -> int:
        """I: numbers in the interface."""
        return sum(size for _, size in self.parts())

    @property
    def weightings(self) -> int:
        """Weightings that a sequence can start with: each head's."""
        return self.heads + 1


class Norms(NamedTuple):
    """Gains and shifts of layer normalisation: of the gates' arguments, the cell and the interface."""

    gate_gain: Tensor
    gate_shift: Tensor
    cell_gain: Tensor
    cell_shift: Tensor
    interface_gain: Tensor
    interface_shift: Tensor


class Start(NamedTuple):
    """Where sequences start."""

    hidden: Tensor
    """(S, H)"""
    cell: Tensor
    """(S, H)"""
    reads: Tensor
    """(S, R W)"""
    weights: Tensor
    """(S, R + 1, slots): the writing head's weighting, and the reading ones'"""


class State(NamedTuple):
    """A memory between two steps; parts that a kind has no use for stay empty."""

    memory: Tensor
    """(S, slots, W)"""
    weights: Tensor
    """(S, R + 1, slots): the writing head's first"""
    usage: Tensor
    precedence: Tensor
    links: Tensor

    def first(self, count: int) -> State:
        return State(*(part[:count] for part in self))


def memory_start(machine: Machine, weights: Tensor) -> State:
    """The memory before the first step."""
    sequences, N = weights.shape[0], machine.slots
    nothing = weights.new_zeros((sequences, N))
    memory = weights.new_full((sequences, N, machine.width), machine.memory_start)
    size = N if machine.kind == "dnc" and machine.links else 0
    links = weights.new_zeros((sequences, size, size))
    return State(memory, weights, nothing, nothing, links)


def split_interface(machine: Machine, interface: Tensor) -> dict[str, Tensor]:
    """The parts by name, cut off at ± LIMIT."""
    names, sizes = zip(*machine.parts(), strict=True)
    parts = torch.split_with_sizes(interface.clamp(-LIMIT, LIMIT), list(sizes), -1)
    return dict(zip(names, parts, strict=True))


def dnc_step(machine: Machine, state: State, interface: Tensor) -> tuple[State, Tensor]:
    """Free, write, link, read: the state after a step, and what was read (S, R W)."""
    S, R, W = len(interface), machine.heads, machine.width
    part = split_interface(machine, interface)
    keys = part["keys"].view(S, R + 1, W)
    strengths = 1 + softplus(part["strengths"])
    masks = part["masks"].sigmoid().view(S, R + 1, W) if machine.masking else None
    masks_of_write, masks_of_read = (None, None) if masks is None else (masks[:, :1], masks[:, 1:])

    written, read = state.weights[:, 0], state.weights[:, 1:]
    kept = addressing.retention(part["free"].sigmoid(), read)
    past = written if machine.usage_gradient else written.detach()
    usage = addressing.used(state.usage, past, kept)
    found = addressing.content_weights(
        state.memory, keys[:, :1], strengths[:, :1], masks_of_write
    ).squeeze(1)
    allocate = part["allocate"].sigmoid()
    free_or_found = allocate * addressing.allocation(usage) + (1 - allocate) * found
    write = part["gate"].sigmoid() * free_or_found
    memory = state.memory * kept.unsqueeze(-1) if machine.deallocation else state.memory
    erase = part["erase"].sigmoid()
    memory = memory * (1 - write.unsqueeze(-1) * erase.unsqueeze(-2))
    memory = memory + write.unsqueeze(-1) * part["write"].unsqueeze(-2)

    content = addressing.content_weights(memory, keys[:, 1:], strengths[:, 1:], masks_of_read)
    links, precedence, weights = state.links, state.precedence, content
    if machine.links:
        links = addressing.linked(links, precedence, write)
        precedence = (1 - write.sum(-1, keepdim=True)) * precedence + write
        forward, backward = read @ links.mT, read @ links
        if machine.sharpness:
            powers = 1 + softplus(part["sharpness"].view(S, 2, R))
            forward = addressing.sharper(forward, powers[:, 0])
            backward = addressing.sharper(backward, powers[:, 1])
        modes = part["modes"].view(S, R, 3).softmax(-1).unsqueeze(-1)
        weights = modes[:, :, 0] * backward + modes[:, :, 1] * content + modes[:, :, 2] * forward
    after = torch.cat([write.unsqueeze(1), weights], 1)
    return State(memory, after, usage, precedence, links), (weights @ memory).flatten(1)


def ntm_step(machine: Machine, state: State, interface: Tensor) -> tuple[State, Tensor]:
    """Address, read and write: the state after a step, and what was read (S, R W)."""
    S, R, W = len(interface), machine.heads, machine.width
    part = split_interface(machine, interface)
    keys = part["keys"].tanh().view(S, R + 1, W)
    strengths, gates = softplus(part["strengths"]), part["gates"].sigmoid().unsqueeze(-1)
    shifts = part["shifts"].view(S, R + 1, 3).softmax(-1)
    powers = 1 + softplus(part["powers"])

    def address(memory: Tensor, heads: slice) -> Tensor:
        found = addressing.content_weights(memory, keys[:, heads], strengths[:, heads])
        mixed = gates[:, heads] * found + (1 - gates[:, heads]) * state.weights[:, heads]
        moved = addressing.shifted(mixed, shifts[:, heads])
        return addressing.sharpened(moved, powers[:, heads])

    write = address(state.memory, slice(1)).mT  # (S, slots, 1)
    memory = state.memory * (1 - write * part["erase"].sigmoid().unsqueeze(-2))
    memory = memory + write * part["write"].tanh().unsqueeze(-2)
    seen = state.memory if machine.read_first else memory
    weights = address(seen, slice(1, None))
    after = torch.cat([write.mT, weights], 1)
    return state._replace(memory=memory, weights=after), (weights @ seen).flatten(1)


def machine_states(
    machine: Machine,
    inputs: Tensor,
    U: Tensor,
    B: Tensor,
    interface: Tensor,
    start: Start,
    active: Sequence[int],
    norms: Norms | None = None,
    keep: Tensor | None = None,
) -> Iterator[tuple[Tensor, Tensor, State]]:
    """Step by step: outputs (S, H), reads (S, R W) and the memory of the sequences still being read."""
    step = dnc_step if machine.kind == "dnc" else ntm_step
    hidden, cell, reads, weights = start
    state, first = memory_start(machine, weights), 0
    for count in active:
        rows = slice(first, first + count)
        recurrent = torch.cat([hidden[:count], reads[:count]], 1)
        gates = inputs[rows] + recurrent @ U.T
        if norms is not None:
            gates = layer_norm(
                gates, gates.shape[-1:], norms.gate_gain, norms.gate_shift, NORM_EPSILON
            )
        hidden, cell = lstm_step(gates, cell[:count])
        if norms is not None:
            scaled = layer_norm(
                cell, cell.shape[-1:], norms.cell_gain, norms.cell_shift, NORM_EPSILON
            )
            hidden = gates.chunk(4, dim=-1)[0].sigmoid() * scaled.tanh()
        asked = hidden @ B.T + interface[rows]
        if norms is not None:
            asked = layer_norm(
                asked,
                asked.shape[-1:],
                norms.interface_gain,
                norms.interface_shift,
                NORM_EPSILON,
            )
        hidden = hidden if keep is None else hidden * keep[rows]
        state, reads = step(machine, state.first(count), asked)
        yield hidden, reads, state
        first += count


def machine_scan_reference(
    machine: Machine,
    inputs: Tensor,
    U: Tensor,
    B: Tensor,
    interface: Tensor,
    start: Start,
    active: Sequence[int],
    norms: Norms | None = None,
    keep: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Outputs (N, H) and reads (N, R W) after every input: the specification.

    ``keep`` (N, H) scales the outputs (bypass dropout); the interface sees the hidden state unscaled.
    """
    hiddens, reads = [start.hidden[:0]], [start.reads[:0]]
    for hidden, read, _ in machine_states(
        machine, inputs, U, B, interface, start, active, norms, keep
    ):
        hiddens.append(hidden)
        reads.append(read)
    return torch.cat(hiddens), torch.cat(reads)
