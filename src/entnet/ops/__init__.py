"""The memory scan: one place that chooses how it is computed."""

from __future__ import annotations

from torch import Tensor

from entnet.ops import native, reference
from entnet.ops.library import kernel_name, plain_pytorch
from entnet.ops.reference import PAPER, Equations, ScanParameters, memory_step

__all__ = [
    "Equations",
    "ScanParameters",
    "kernel_name",
    "memory_scan",
    "memory_step",
    "plain_pytorch",
]


def memory_scan(
    candidate_input: Tensor,
    gate_input: Tensor,
    keys: Tensor,
    parameters: ScanParameters,
    offsets: Tensor,
    read_at: Tensor,
    closed: Tensor | None = None,
    equations: Equations = PAPER,
) -> Tensor:
    """Read S stories that lie end to end, and return the memory at the wanted sentences: (Q, m, d)

    On the compiled kernel for the paper's equations and float32 tensors in main memory, else in plain
    PyTorch; see ``reference.memory_scan``, which says what the arguments are.
    """
    given = (candidate_input, gate_input, keys, parameters)
    if equations == PAPER and native.can_scan(*given):
        return native.memory_scan(*given, offsets, read_at, closed)
    return reference.memory_scan(*given, offsets, read_at, closed, equations)
