"""A layer of a query-reduction network, in plain PyTorch and on the compiled kernel.

Questions lie one after the other, each with a row per sentence that it looks back on.

    code            shape           meaning
    inputs          (M, d)          what the reduced questions ũ are the tanh of
    weights         (ways, M)       how much of them counts: forwards, and with two ways backwards too
    passed          (M)             how much of the state before stays
    lengths         (Q)             rows of each question
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

from entnet.errors import EntNetError
from entnet.ops.checks import check_shape, check_whole
from entnet.ops.library import (
    ReduceGradientsStruct,
    ReduceStruct,
    address,
    can_run,
    check,
    library,
)


def reductions_reference(
    inputs: Tensor, weights: Tensor, passed: Tensor, lengths: Tensor
) -> Tensor:
    """h_i = w_i tanh(x_i) + p_i h_{i−1}, each question from its first row on, plus the same from its last
    row back where there are weights for it: (M, d), the specification"""
    reduced = inputs.tanh()
    total = torch.zeros_like(inputs)
    starts = lengths.cumsum(0) - lengths
    for way, weight in enumerate(weights):
        h = inputs.new_zeros((len(lengths), inputs.shape[1]))
        for step in range(int(lengths.max()) if len(lengths) else 0):
            there = (lengths > step).nonzero().squeeze(1)
            rows = starts[there] + (lengths[there] - 1 - step if way else step)
            after = weight[rows, None] * reduced[rows] + passed[rows, None] * h[there]
            h = h.index_copy(0, there, after)
            total.index_add_(0, rows, after)
    return total


def reductions(inputs: Tensor, weights: Tensor, passed: Tensor, lengths: Tensor) -> Tensor:
    """As ``reductions_reference``; compiled for float32 tensors in main memory, where that was built."""
    check_shape("inputs", inputs, (None, None))
    rows = len(inputs)
    check_shape("weights", weights, (None, rows))
    check_shape("passed", passed, (rows,))
    check_whole("lengths", lengths, (None,))
    if len(weights) not in (1, 2):
        raise EntNetError(f"weights are for {len(weights)} ways, but there are one or two")
    if not can_run(inputs, weights, passed):
        return reductions_reference(inputs, weights, passed, lengths)
    return cast(
        "Tensor",
        _CompiledReductions.apply(inputs, weights, passed, lengths.long()),  # type: ignore[no-untyped-call]
    )


class _CompiledReductions(torch.autograd.Function):
    """The layer on the kernel."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weights: Tensor, passed: Tensor, lengths: Tensor
    ) -> Tensor:
        loaded = library()
        assert loaded is not None
        given = [each.contiguous() for each in (lengths, inputs, weights, passed)]
        states = inputs.new_empty((len(weights), *inputs.shape))
        tensors = [*given, torch.empty_like(given[1]), states]
        check(loaded.entnet_reduce_forward(ctypes.byref(_describe(tensors))))
        ctx.save_for_backward(*tensors)
        return states.sum(0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        loaded = library()
        assert loaded is not None
        saved = ctx.saved_tensors
        given = gradients[0].contiguous()
        out = [torch.empty_like(tensor) for tensor in saved[1:4]]
        places = ReduceGradientsStruct(*(address(tensor) for tensor in (given, *out)))
        check(loaded.entnet_reduce_backward(ctypes.byref(_describe(saved)), ctypes.byref(places)))
        return (*out, None)


def _describe(tensors: Sequence[Tensor]) -> ctypes.Structure:
    lengths, inputs, weights = tensors[:3]
    return ReduceStruct(len(lengths), *inputs.shape, len(weights), *map(address, tensors))
