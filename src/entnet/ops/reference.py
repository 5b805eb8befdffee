"""The memory scan in plain PyTorch: the specification that every faster version must equal.

    code                letter   shape               meaning
    memory              h_j      (…, m, d)           what the slots hold
    keys                w_j      (m, d) or (S, m, d) what the slots stand for
    gate_input          s_t      (N, d)              sentences, as the gate sees them
    candidate_input     W s_t    (N, d)              sentences, as the candidate sees them
    key_input           V w_j    like keys           the keys' share of the candidate, with the bias of (3)
    U                   U        (d, d)              None stands for zero
    slope               φ        (d)                 PReLU's slopes; None stands for the identity
    gate_bias                    (m)                 None stands for none

All that does not depend on the memory is computed before the scan, for every sentence at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class GateShape(NamedTuple):
    """Gates that shut: of p = σ(…), scale · p + shift from the threshold on, and nothing below it.

    A gate that is shut still learns to open (a straight-through gradient), unless p is below
    ``learns``. That gradient goes to sentence, key and bias, not to the memory: over many sentences it
    would grow without bound.
    """

    threshold: float
    scale: float
    shift: float
    learns: float


class ScanParameters(NamedTuple):
    """What equations (2) to (5) need besides sentences and keys."""

    U: Tensor | None
    key_input: Tensor
    slope: Tensor | None
    gate_bias: Tensor | None
    normalise: bool = True
    norm_floor: float = 0.0
    """With 0, a norm of 0 becomes 1; else the norm is never below this."""
    gate_shape: GateShape | None = None
    """None for gates as in the paper, which never shut."""


def gate(gate_input: Tensor, memory: Tensor, keys: Tensor, gate_bias: Tensor | None) -> Tensor:
    """(2)  g_j = σ(s·h_j + s·w_j), for every slot: (…, m)"""
    logit = ((memory + keys) * gate_input.unsqueeze(-2)).sum(-1)
    return torch.sigmoid(logit if gate_bias is None else logit + gate_bias)


def shut(p: Tensor, shape: GateShape) -> Tensor:
    """What a gate that shuts lets through, with a straight-through gradient where it is shut."""
    soft = shape.scale * p + shape.shift
    learning = torch.where(p >= shape.learns, soft, soft.detach())
    value = torch.where(p >= shape.threshold, soft, 0.0)
    return learning + (value - learning).detach()


def activation(x: Tensor, slope: Tensor | None) -> Tensor:
    """φ: PReLU with these slopes, or the identity."""
    return x if slope is None else torch.where(x > 0, x, slope * x)


def candidate(candidate_input: Tensor, memory: Tensor, parameters: ScanParameters) -> Tensor:
    """(3)  h̃_j = φ(U h_j + V w_j + W s), for every slot: (…, m, d)"""
    x = parameters.key_input + candidate_input.unsqueeze(-2)
    if parameters.U is not None:
        x = x + memory @ parameters.U.T
    return activation(x, parameters.slope)


def forget(memory: Tensor, norm_floor: float = 0.0) -> Tensor:
    """(5)  h_j ← h_j / ‖h_j‖, where a slot of norm 0 stays what it is."""
    square = (memory * memory).sum(-1, keepdim=True)
    # The root's derivative at 0 is infinite: keep 0 out of it.
    norm = torch.where(square > 0, square, 1.0).sqrt()
    return memory / (norm.clamp_min(norm_floor) if norm_floor > 0 else norm)


class Equations(NamedTuple):
    """What a slot does with a sentence; the paper's equations, unless a network has its own."""

    gate: Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor] = gate
    candidate: Callable[[Tensor, Tensor, ScanParameters], Tensor] = candidate
    forget: Callable[[Tensor, float], Tensor] = forget


PAPER = Equations()


class StepTrace(NamedTuple):
    """One sentence read: the memory after it, and how far each slot's gate opened."""

    memory: Tensor
    gate: Tensor
    pressure: Tensor
    """σ(…), before what makes a gate shut: what a penalty on open gates is taken from."""


def memory_step(
    memory: Tensor,
    candidate_input: Tensor,
    gate_input: Tensor,
    keys: Tensor,
    parameters: ScanParameters,
    closed: Tensor | None = None,
    equations: Equations = PAPER,
    absent: Tensor | None = None,
    noise: Tensor | None = None,
) -> StepTrace:
    """Read one sentence into every memory: (2) to (5).

    memory (S, m, d); candidate_input, gate_input (S, d); closed (S) marks sentences that open no gate;
    absent (S, m) marks slots that are not there yet, and stay as they are; noise (S, m, d) is added to
    slots that are written, before (5).
    """
    shape = parameters.gate_shape
    p = equations.gate(gate_input, memory, keys, parameters.gate_bias)
    if shape is not None:
        apart = equations.gate(gate_input, memory.detach(), keys, parameters.gate_bias)
        p = torch.where(p > shape.threshold, p, apart)
    if closed is not None:
        p = torch.where(closed.unsqueeze(-1), 0.0, p)
    if absent is not None:
        p = torch.where(absent, 0.0, p)
    g = p if shape is None else shut(p, shape)
    c = equations.candidate(candidate_input, memory, parameters)
    written = memory if noise is None else memory + torch.where(g.unsqueeze(-1) > 0, noise, 0.0)
    after = write(written, g, c, parameters, equations)
    if shape is not None:
        # A shut slot stays as it is, to the bit; only its gate learns, as if it had been written with 0.
        as_if = write(memory.detach(), g, c.detach(), parameters, equations)
        after = torch.where(g.unsqueeze(-1) > 0, after, memory + (as_if - as_if.detach()))
    if absent is not None:
        after = torch.where(absent.unsqueeze(-1), memory, after)
    return StepTrace(after, g, p)


def write(
    memory: Tensor, g: Tensor, c: Tensor, parameters: ScanParameters, equations: Equations
) -> Tensor:
    """(4) and (5)  h_j ← h_j + g_j h̃_j, and forget."""
    memory = memory + g.unsqueeze(-1) * c
    return equations.forget(memory, parameters.norm_floor) if parameters.normalise else memory


def memory_scan(
    candidate_input: Tensor,
    gate_input: Tensor,
    keys: Tensor,
    parameters: ScanParameters,
    offsets: Tensor,
    read_at: Tensor,
    closed: Tensor | None = None,
    equations: Equations = PAPER,
    born: Tensor | None = None,
    pressures: list[tuple[Tensor, Tensor]] | None = None,
    noise: Tensor | None = None,
) -> Tensor:
    """Read S stories that lie end to end, and return the memory at the wanted sentences.

    offsets (S + 1): where each story starts among the N sentences. read_at (Q): sentences after which the
    memory is wanted, in any order, repeats allowed. Returns states (Q, m, d). Every story starts with
    its slots at their keys. born (S, m): the sentence of its story, counted from 0, from which on a slot is
    there; all from the start if not given. Stories are taken longest first, so that those still being
    read are always the first few and nothing is padded. To ``pressures`` goes, step by step, which
    sentences were read (n) and how far their gates were pressed open (n, m). noise (N, m, d): see
    ``memory_step``.
    """
    stories = offsets.numel() - 1
    lengths, order = (offsets[1:] - offsets[:-1]).sort(descending=True, stable=True)
    starts = offsets[:-1][order]
    place = torch.empty_like(order)
    place[order] = torch.arange(stories, device=order.device)

    read_story = torch.searchsorted(offsets, read_at, right=True) - 1
    read_step = read_at - offsets[read_story]
    read_place = place[read_story]

    if keys.dim() == 3:
        keys = keys[order]
        parameters = parameters._replace(key_input=parameters.key_input[order])
        born = None if born is None else born[order]
        memory = keys
    else:
        memory = keys.expand(stories, *keys.shape)
    states: list[Tensor] = []
    asked: list[Tensor] = []
    for t in range(int(lengths[0]) if stories else 0):
        active = int((lengths > t).sum())
        rows = starts[:active] + t
        now = parameters
        if keys.dim() == 3:
            now = parameters._replace(key_input=parameters.key_input[:active])
        trace = memory_step(
            memory[:active],
            candidate_input[rows],
            gate_input[rows],
            keys[:active] if keys.dim() == 3 else keys,
            now,
            None if closed is None else closed[rows],
            equations,
            None if born is None else born[:active] > t,
            None if noise is None else noise[rows],
        )
        memory = trace.memory
        if pressures is not None:
            pressures.append((rows, trace.pressure))
        here = (read_step == t).nonzero().squeeze(1)
        if here.numel():
            states.append(memory[read_place[here]])
            asked.append(here)
    if not states:
        return memory.new_zeros((0, keys.shape[-2], keys.shape[-1]))
    back = torch.cat(asked).argsort()
    return torch.cat(states)[back]
