"""The memory scan: one place that chooses how it is computed."""

from __future__ import annotations

from torch import Tensor

from entnet.ops import native, reference
from entnet.ops.library import kernel_name
from entnet.ops.reference import ScanParameters, memory_step

__all__ = ["ScanParameters", "kernel_name", "memory_scan", "memory_step"]


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

    On the compiled kernel for float32 tensors in main memory, else in plain PyTorch; see
    ``reference.memory_scan``, which says what the arguments are.
    """
    compiled = native.can_scan(candidate_input, gate_input, keys, parameters)
    scan = native.memory_scan if compiled else reference.memory_scan
    return scan(candidate_input, gate_input, keys, parameters, offsets, read_at, closed)
