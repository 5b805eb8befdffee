"""A GRU over many sequences at once, in plain PyTorch and on the compiled kernel.

Sequences are laid out by time, longer ones first, as for the LSTM. To read them backwards, lay them out
backwards; a bidirectional GRU is two scans. The candidate is that of DMN+ and of ``torch.nn.GRU``: the
reset gate scales what the state's matrix brings, U h, and not the state.

    code            shape           meaning
    inputs          (N, 3H)         W x + b: the input's share of reset gate, candidate, update gate
    U               (3H, H)         brings the hidden state's share
    hidden          (S, H)          where sequences start
    attention       (N)             how far each input overwrites the state; inputs (N, 2H), U (2H, H) then
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

from entnet.ops.checks import check_shape
from entnet.ops.library import (
    GruGradientsStruct,
    GruStruct,
    address,
    can_run,
    check,
    library,
)
from entnet.ops.lstm import ALIGN


def gru_step(inputs: Tensor, share: Tensor, hidden: Tensor) -> Tensor:
    """r = σ(x_r + U_r h),  n = tanh(x_n + r ⊙ U_n h),  z = σ(x_z + U_z h),  h ← z ⊙ h + (1 − z) ⊙ n"""
    reset, candidate, update = inputs.chunk(3, dim=-1)
    reset_share, candidate_share, update_share = share.chunk(3, dim=-1)
    n = torch.tanh(candidate + (reset + reset_share).sigmoid() * candidate_share)
    z = (update + update_share).sigmoid()
    return z * hidden + (1 - z) * n


def attention_gru_step(inputs: Tensor, share: Tensor, hidden: Tensor, attention: Tensor) -> Tensor:
    """r = σ(x_r + U_r h),  n = tanh(x_n + r ⊙ U_n h),  h ← g n + (1 − g) h"""
    reset, candidate = inputs.chunk(2, dim=-1)
    reset_share, candidate_share = share.chunk(2, dim=-1)
    n = torch.tanh(candidate + (reset + reset_share).sigmoid() * candidate_share)
    g = attention.unsqueeze(-1)
    return g * n + (1 - g) * hidden


def gru_scan_reference(
    inputs: Tensor,
    U: Tensor,
    hidden: Tensor,
    active: Sequence[int],
    attention: Tensor | None = None,
) -> Tensor:
    """Hidden states (N, H) after every input: the specification."""
    hiddens = [hidden[:0]]
    first = 0
    for count in active:
        rows = slice(first, first + count)
        hidden = hidden[:count]
        share = hidden @ U.T
        if attention is None:
            hidden = gru_step(inputs[rows], share, hidden)
        else:
            hidden = attention_gru_step(inputs[rows], share, hidden, attention[rows])
        hiddens.append(hidden)
        first += count
    return torch.cat(hiddens)


def gru_scan(
    inputs: Tensor,
    U: Tensor,
    hidden: Tensor,
    active: Sequence[int],
    attention: Tensor | None = None,
) -> Tensor:
    """As ``gru_scan_reference``; compiled for float32 tensors in main memory, where that was built."""
    check_shape("hidden", hidden, (None, None))
    units = hidden.shape[1]
    gates = 3 if attention is None else 2
    check_shape("inputs", inputs, (None, gates * units))
    check_shape("U", U, (gates * units, units))
    check_shape("attention", attention, (inputs.shape[0],))
    if not can_run(inputs, U, hidden, attention):
        return gru_scan_reference(inputs, U, hidden, active, attention)
    steps = torch.tensor(active, dtype=torch.int64)
    hiddens = cast(
        "Tensor",
        _CompiledScan.apply(inputs, U, hidden, attention, steps),  # type: ignore[no-untyped-call]
    )
    return hiddens[:, :units]


class _CompiledScan(torch.autograd.Function):
    """The scan on the kernel. Its results are padded with columns of zeros."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        U: Tensor,
        hidden: Tensor,
        attention: Tensor | None,
        steps: Tensor,
    ) -> Tensor:
        loaded = library()
        assert loaded is not None
        rows, width = inputs.shape[0], -(-hidden.shape[1] // ALIGN) * ALIGN
        given = [None if x is None else x.contiguous() for x in (inputs, U, hidden, attention)]
        gates, hiddens = inputs.new_empty((rows, 4 * width)), inputs.new_empty((rows, width))
        tensors = [*given, steps, gates, hiddens]
        check(loaded.entnet_gru_forward(ctypes.byref(_describe(tensors))))
        ctx.save_for_backward(*tensors)
        return hiddens

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        loaded = library()
        assert loaded is not None
        saved = ctx.saved_tensors
        given = gradients[0].contiguous()
        out = [None if tensor is None else torch.empty_like(tensor) for tensor in saved[:4]]
        inputs, U, hidden, attention = (address(tensor) for tensor in out)
        places = GruGradientsStruct(address(given), inputs, attention, U, hidden)
        check(loaded.entnet_gru_backward(ctypes.byref(_describe(saved)), ctypes.byref(places)))
        return (*out, None)


def _describe(tensors: Sequence[Tensor | None]) -> ctypes.Structure:
    inputs, U, hidden, attention, steps, gates, hiddens = tensors
    assert inputs is not None
    assert hidden is not None
    assert steps is not None
    return GruStruct(
        units=hidden.shape[1],
        rows=inputs.shape[0],
        sequences=hidden.shape[0],
        steps=steps.numel(),
        active=address(steps),
        inputs=address(inputs),
        attention=address(attention),
        U=address(U),
        hidden=address(hidden),
        gates=address(gates),
        hiddens=address(hiddens),
    )
