"""Memory machines on the compiled kernel: as ``machine_scan_reference``, in values and all gradients.

The kernel does what goes from step to step. Memories and links of every sixteenth step are kept for the way
back, and those between are computed again. Gradients of U and B are one matrix product each, over the rows
of all steps.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

from entnet.ops.checks import check_shape
from entnet.ops.library import (
    MachineGradientsStruct,
    MachineStruct,
    address,
    can_run,
    check,
    library,
)
from entnet.ops.lstm import ALIGN
from entnet.ops.machine import NORM_EPSILON, Machine, Norms, Start, machine_scan_reference

SEGMENT = 16
"""Steps between the memories that are kept."""

FLAGS = (*("links", "masking", "deallocation", "sharpness", "usage_gradient", "read_first"),)
NORMS = Norms._fields
STARTS = Start._fields


def machine_scan(
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
    """As the reference; compiled for float32 tensors in main memory, where that was built."""
    check_shape("hidden", start.hidden, (None, None))
    sequences, H = start.hidden.shape
    check_shape("inputs", inputs, (None, 4 * H))
    rows, read = inputs.shape[0], machine.heads * machine.width
    for name, tensor, shape in (
        ("cell", start.cell, (sequences, H)),
        ("reads", start.reads, (sequences, read)),
        ("weights", start.weights, (sequences, machine.weightings, machine.slots)),
        ("U", U, (4 * H, H + read)),
        ("B", B, (machine.interface, H)),
        ("interface", interface, (rows, machine.interface)),
        ("keep", keep, (rows, H)),
    ):
        check_shape(name, tensor, shape)
    if norms is not None:
        sizes = (4 * H, 4 * H, H, H, machine.interface, machine.interface)
        for name, tensor, size in zip(NORMS, norms, sizes, strict=True):
            check_shape(name, tensor, (size,))
    tensors = (inputs, U, B, interface, *start, *(norms or (None,) * len(NORMS)), keep)
    if not can_run(*tensors):
        return machine_scan_reference(machine, inputs, U, B, interface, start, active, norms, keep)
    steps = torch.tensor(active, dtype=torch.int64)
    hiddens, reads = cast(
        "tuple[Tensor, Tensor]",
        _CompiledMachine.apply(machine, steps, *tensors),  # type: ignore[no-untyped-call]
    )
    return hiddens[:, :H], reads[:, :read]


def padded(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


class _CompiledMachine(torch.autograd.Function):
    """The scan on the kernel. Its results are padded with columns of zeros."""

    @staticmethod
    def forward(
        ctx: Any, machine: Machine, steps: Tensor, *tensors: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        loaded = library()
        assert loaded is not None
        given = [None if tensor is None else tensor.contiguous() for tensor in tensors]
        kept = _room(machine, steps, given, any(ctx.needs_input_grad))
        check(loaded.entnet_machine_forward(ctypes.byref(_describe(machine, steps, given, kept))))
        ctx.machine = machine
        ctx.names = list(kept)
        ctx.count = len(given)
        ctx.save_for_backward(steps, *given, *kept.values())
        return cast("Tensor", kept["hiddens"]), cast("Tensor", kept["found"])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        loaded = library()
        assert loaded is not None
        steps, *saved = ctx.saved_tensors
        given, room = saved[: ctx.count], saved[ctx.count :]
        kept = dict(zip(ctx.names, room, strict=True))
        struct = _describe(ctx.machine, steps, given, kept)
        _, _, _, _, *rest = given
        starts, norms = rest[: len(STARTS)], rest[len(STARTS) : -1]
        of_gates = torch.empty_like(kept["gates"])
        of_interface = torch.empty_like(kept["interface_rows"])
        of_norms = [None if x is None else torch.empty_like(x) for x in norms]
        of_starts = [torch.empty_like(x) for x in starts]
        places = [gradients[0].contiguous(), gradients[1].contiguous(), of_gates, of_interface]
        found = MachineGradientsStruct(*(address(x) for x in (*places, *of_norms, *of_starts)))
        check(loaded.entnet_machine_backward(ctypes.byref(struct), ctypes.byref(found)))
        # From padded rows to the parameters.
        H, read = starts[0].shape[1], starts[2].shape[1]
        P, rows = padded(H), len(of_gates)
        dU = (of_gates.mT @ kept["recurrent"]).view(4, P, -1)[:, :H]
        dU = torch.cat([dU[..., :H], dU[..., P : P + read]], 2).flatten(0, 1)
        dB = (of_interface.mT @ kept["raw"])[: ctx.machine.interface, :H]
        of_inputs = of_gates.view(rows, 4, P)[:, :, :H].flatten(1)
        of_asked = of_interface[:, : ctx.machine.interface]
        return None, None, of_inputs, dU, dB, of_asked, *of_starts, *of_norms, None


def _room(
    machine: Machine, steps: Tensor, given: Sequence[Tensor | None], way_back: bool
) -> dict[str, Tensor | None]:
    """What the kernel writes: its results, and what it needs on the way back."""
    inputs, hidden = given[0], given[4]
    assert inputs is not None
    assert hidden is not None
    rows, P, PN = len(inputs), padded(hidden.shape[1]), padded(machine.slots)
    read, asked = padded(machine.heads * machine.width), padded(machine.interface)
    checkpoints = int(steps[::SEGMENT].sum())
    normalise = given[8] is not None

    def new(wanted: bool, *shape: int) -> Tensor | None:
        return inputs.new_empty(shape) if wanted else None

    return {
        "gates": new(True, rows, 4 * P),
        "cells": new(True, rows, P),
        "raw": new(True, rows, P),
        "recurrent": new(True, rows, P + read),
        "interface_rows": new(True, rows, asked),
        "norm_gates": new(normalise, rows, 4 * P),
        "norm_cells": new(normalise, rows, P),
        "scales": new(normalise, rows, 16),
        "trace": new(way_back, rows, trace_rows(machine) * PN),
        "memories": new(way_back, checkpoints, machine.width * PN),
        "link_states": new(way_back and machine.links, checkpoints, machine.slots * PN),
        "hiddens": new(True, rows, P),
        "found": new(True, rows, read),
    }


def trace_rows(machine: Machine) -> int:
    """Rows of a step's trace: weightings, and what they were made of."""
    if machine.kind == "ntm":
        return 2 + 2 * machine.heads
    return 5 + machine.heads + (1 + 3 * machine.heads) * machine.links


def _describe(
    machine: Machine,
    steps: Tensor,
    given: Sequence[Tensor | None],
    kept: dict[str, Tensor | None],
) -> ctypes.Structure:
    inputs, U, B, asked, *rest = given
    assert inputs is not None
    starts, norms, keep = rest[: len(STARTS)], rest[len(STARTS) : -1], rest[-1]
    assert starts[0] is not None
    places = {
        "inputs": inputs,
        "U": U,
        "B": B,
        "asked": asked,
        "keep": keep,
        **dict(zip(STARTS, starts, strict=True)),
        **dict(zip(NORMS, norms, strict=True)),
        **kept,
    }
    return MachineStruct(
        ntm=machine.kind == "ntm",
        slots=machine.slots,
        width=machine.width,
        heads=machine.heads,
        units=starts[0].shape[1],
        interface=machine.interface,
        trace_width=trace_rows(machine) * padded(machine.slots),
        normalise=norms[0] is not None,
        memory_start=machine.memory_start,
        norm_epsilon=NORM_EPSILON,
        rows=len(inputs),
        sequences=len(starts[0]),
        steps=steps.numel(),
        active=address(steps),
        **{flag: int(getattr(machine, flag)) for flag in FLAGS},
        **{name: address(tensor) for name, tensor in places.items()},
    )
