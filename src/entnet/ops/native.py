"""The memory scan on the compiled kernel: the reference's signature, as an operator that PyTorch knows.

Forward keeps nothing. Backward reads each story again, beside its gradient, so that one story's numbers
never leave the cache and a batch costs no memory but its inputs and the states asked for.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import Tensor

from entnet.errors import EntNetError
from entnet.ops.checks import check_floats, check_offsets, check_shape, check_whole
from entnet.ops.library import (
    ScanGradientsStruct,
    ScanStruct,
    address,
    can_run,
    check,
    gate_fields,
    is_plain,
    library,
)
from entnet.ops.reference import GateShape, ScanParameters

_INPUTS = (
    "Tensor candidate_input, Tensor gate_input, Tensor keys, Tensor key_input, Tensor? U, "
    "Tensor? slope, Tensor? gate_bias, Tensor offsets, Tensor read_at, Tensor? closed, "
    "bool normalise, float norm_floor, float[] gate_shape"
)


def can_scan(candidate_input: Tensor, gate_input: Tensor, keys: Tensor, p: ScanParameters) -> bool:
    """Whether the kernel is there and can take these."""
    return can_run(candidate_input, gate_input, keys, p.U, p.key_input, p.slope, p.gate_bias)


def memory_scan(
    candidate_input: Tensor,
    gate_input: Tensor,
    keys: Tensor,
    parameters: ScanParameters,
    offsets: Tensor,
    read_at: Tensor,
    closed: Tensor | None = None,
) -> Tensor:
    """Read S stories that lie end to end, and return the memory at the wanted sentences: (Q, m, d)

    As ``reference.memory_scan``, for float32 tensors in main memory.
    """
    p = parameters
    states: Tensor = torch.ops.entnet.memory_scan(
        candidate_input,
        gate_input,
        keys,
        p.key_input,
        p.U,
        p.slope,
        p.gate_bias,
        offsets,
        read_at,
        closed,
        p.normalise,
        p.norm_floor,
        list(p.gate_shape or ()),
    )
    return states


class _Call:
    """The arguments of one scan, dense, and the C structure that points to them."""

    def __init__(
        self,
        candidate_input: Tensor,
        gate_input: Tensor,
        keys: Tensor,
        key_input: Tensor,
        U: Tensor | None,
        slope: Tensor | None,
        gate_bias: Tensor | None,
        offsets: Tensor,
        read_at: Tensor,
        closed: Tensor | None,
        normalise: bool,
        norm_floor: float,
        gate_shape: list[float],
    ) -> None:
        floats = (candidate_input, gate_input, keys, key_input, U, slope, gate_bias)
        if not is_plain(*floats):
            raise EntNetError("the compiled scan takes float32 tensors in main memory")
        self.floats = [None if tensor is None else tensor.contiguous() for tensor in floats]
        if keys.dim() not in (2, 3):
            raise EntNetError(f"keys is {tuple(keys.shape)}, but must be (m, d) or (S, m, d)")
        check_shape("candidate_input", candidate_input, (None, keys.shape[-1]))
        check_offsets("offsets", offsets)
        check_whole("read_at", read_at, (None,))
        self.offsets = offsets.to(torch.int64).contiguous()
        self.read_at = read_at.to(torch.int64).contiguous()
        self.closed = None if closed is None else closed.to(torch.bool).contiguous()
        self.shape = (read_at.numel(), keys.shape[-2], keys.shape[-1])
        self._check_shapes()
        names = ("candidate_input", "gate_input", "keys", "key_input", "U", "slope", "gate_bias")
        self.struct = ScanStruct(
            sentences=candidate_input.shape[0],
            stories=offsets.numel() - 1,
            reads=read_at.numel(),
            slots=keys.shape[-2],
            width=keys.shape[-1],
            threads=torch.get_num_threads(),
            keys_per_story=keys.dim() == 3,
            normalise=normalise,
            norm_floor=norm_floor,
            **gate_fields(GateShape(*gate_shape) if gate_shape else None),
            offsets=address(self.offsets),
            read_at=address(self.read_at),
            closed=address(self.closed),
            **{name: address(t) for name, t in zip(names, self.floats, strict=True)},
        )

    def _check_shapes(self) -> None:
        candidate_input, gate_input, keys, key_input, U, slope, gate_bias = self.floats
        assert candidate_input is not None
        assert keys is not None
        _, m, d = self.shape
        sentences = candidate_input.shape[0]
        stories = self.offsets.numel() - 1
        check_shape("gate_input", gate_input, (sentences, d))
        check_shape("keys", keys, (stories, m, d) if keys.dim() == 3 else (m, d))
        check_shape("key_input", key_input, tuple(keys.shape))
        check_shape("U", U, (d, d))
        check_shape("slope", slope, (d,))
        check_shape("gate_bias", gate_bias, (m,))
        check_shape("closed", self.closed, (sentences,))

    def forward(self) -> Tensor:
        loaded = library()
        assert loaded is not None
        states = torch.empty(self.shape)
        self.struct.states = states.data_ptr()
        check(loaded.entnet_scan_forward(ctypes.byref(self.struct)))
        return states

    def backward(self, gradient: Tensor) -> list[Tensor]:
        """Gradients of the floating-point arguments, empty for those that are absent."""
        loaded = library()
        assert loaded is not None
        check_floats("gradient", gradient, self.shape)
        gradient = gradient.contiguous()
        out = [torch.empty(0) if t is None else torch.empty_like(t) for t in self.floats]
        places = [
            None if tensor is None else address(t)
            for tensor, t in zip(self.floats, out, strict=True)
        ]
        struct = ScanGradientsStruct(gradient.data_ptr(), *places)
        check(loaded.entnet_scan_backward(ctypes.byref(self.struct), ctypes.byref(struct)))
        return out


@torch.library.custom_op("entnet::memory_scan", mutates_args=(), schema=f"({_INPUTS}) -> Tensor")
def _forward(*arguments: Any) -> Tensor:
    return _Call(*arguments).forward()


@torch.library.custom_op(
    "entnet::memory_scan_backward",
    mutates_args=(),
    schema=f"(Tensor gradient, {_INPUTS}) -> Tensor[]",
)
def _backward(gradient: Tensor, *arguments: Any) -> list[Tensor]:
    return _Call(*arguments).backward(gradient)


def _forward_shape(*arguments: Any) -> Tensor:
    candidate_input, keys, read_at = arguments[0], arguments[2], arguments[8]
    states: Tensor = candidate_input.new_empty((read_at.shape[0], keys.shape[-2], keys.shape[-1]))
    return states


def _backward_shape(gradient: Tensor, *arguments: Any) -> list[Tensor]:
    return [
        gradient.new_empty(0) if tensor is None else torch.empty_like(tensor)
        for tensor in arguments[:7]
    ]


def _keep_inputs(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:10])
    ctx.settings = inputs[10:]


def _differentiate(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    tensors = ctx.saved_tensors
    found = torch.ops.entnet.memory_scan_backward(gradient, *tensors, *ctx.settings)
    wanted = [
        g if tensor is not None and needed else None
        for g, tensor, needed in zip(found, tensors[:7], ctx.needs_input_grad[:7], strict=True)
    ]
    return (*wanted, *[None] * 6)


torch.library.register_fake("entnet::memory_scan", _forward_shape)
torch.library.register_fake("entnet::memory_scan_backward", _backward_shape)
torch.library.register_autograd("entnet::memory_scan", _differentiate, setup_context=_keep_inputs)
