"""The hops of a memory network, in plain PyTorch and on the compiled kernel.

    code            letter      shape               meaning
    memories        m_i, c_i    (Q, M, layers, d)   what a question looks back on, the last sentence first
    heard                       (Q)                 how many sentences there are; the rest of M is filling
    state           u           (Q, d)              the question, and what was found so far

Without H, hop k attends to layer k and reads out layer k + 1. With it all hops share the two layers.
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
    HopsGradientsStruct,
    HopsStruct,
    address,
    can_run,
    check,
    library,
)


def memory_hops_reference(
    memories: Tensor,
    state: Tensor,
    heard: Tensor,
    H: Tensor | None,
    hops: int,
    linear: bool,
    relu: bool = False,
) -> Tensor:
    """p = softmax(u·m_i), or if linear u·m_i;  u ← u + Σ p_i c_i, or H u + Σ p_i c_i: the specification

    With ``relu``, states are cut off at 0 after every hop.
    """
    there = torch.arange(memories.shape[1], device=heard.device) < heard.unsqueeze(1)
    # Taken apart in one step: the gradient of an indexed layer would be as large as all layers.
    layers = memories.permute(2, 0, 1, 3).contiguous().unbind(0)
    for hop in range(hops):
        layer = hop if H is None else 0
        scores = torch.bmm(layers[layer], state.unsqueeze(2)).squeeze(2)  # (Q, M)
        attention = scores * there if linear else scores.masked_fill(~there, -torch.inf).softmax(1)
        found = torch.bmm(attention.unsqueeze(1), layers[layer + 1]).squeeze(1)
        state = (state if H is None else state @ H.T) + found
        state = state.relu() if relu else state
    return state


def memory_hops(
    memories: Tensor,
    state: Tensor,
    heard: Tensor,
    H: Tensor | None,
    hops: int,
    linear: bool,
    relu: bool = False,
) -> Tensor:
    """As ``memory_hops_reference``; compiled for float32 tensors in main memory, where that was built."""
    check_shape("memories", memories, (None, None, None, None))
    questions, _, layers, width = memories.shape
    check_shape("state", state, (questions, width))
    check_whole("heard", heard, (questions,))
    check_shape("H", H, (width, width))
    if hops < 0 or layers < (hops + 1 if H is None else 2):
        raise EntNetError(
            f"{hops} hops over memories of {layers} layers: fewer layers than hops need"
        )
    if not can_run(memories, state, H):
        return memory_hops_reference(memories, state, heard, H, hops, linear, relu)
    return cast(
        "Tensor",
        _CompiledHops.apply(memories, state, heard.long(), H, hops, linear, relu),  # type: ignore[no-untyped-call]
    )


class _CompiledHops(torch.autograd.Function):
    """The hops on the kernel."""

    @staticmethod
    def forward(
        ctx: Any,
        memories: Tensor,
        state: Tensor,
        heard: Tensor,
        H: Tensor | None,
        hops: int,
        linear: bool,
        relu: bool,
    ) -> Tensor:
        loaded = library()
        assert loaded is not None
        questions, ages, _, width = memories.shape
        memories, state, heard = (each.contiguous() for each in (memories, state, heard))
        H = None if H is None else H.contiguous()
        states = state.new_empty((questions, hops + 1, width))
        attention = state.new_empty((questions, hops, ages))
        ctx.sizes = (*memories.shape, hops, linear, relu)
        tensors = (heard, memories, state, H, states, attention)
        check(loaded.entnet_hops_forward(ctypes.byref(_describe(ctx.sizes, tensors))))
        ctx.save_for_backward(*tensors)
        return states[:, -1].clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        loaded = library()
        assert loaded is not None
        saved = ctx.saved_tensors
        given = gradients[0].contiguous()
        out = [None if tensor is None else torch.empty_like(tensor) for tensor in saved[1:4]]
        places = HopsGradientsStruct(*(address(tensor) for tensor in (given, *out)))
        struct = _describe(ctx.sizes, saved)
        check(loaded.entnet_hops_backward(ctypes.byref(struct), ctypes.byref(places)))
        return out[0], out[1], None, out[2], None, None, None


def _describe(sizes: Sequence[int], tensors: Sequence[Tensor | None]) -> ctypes.Structure:
    return HopsStruct(*sizes, *(address(tensor) for tensor in tensors))
