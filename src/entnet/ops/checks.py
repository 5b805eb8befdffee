"""What the compiled code takes for granted of tensors, said before it sees them.

Only shapes and types, which cost next to nothing. Offsets, words and answers are looked through by the
library itself (native/library.cpp), before the kernel runs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from entnet.errors import EntNetError

Shape = tuple[int | None, ...]
_WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def check_shape(name: str, tensor: Tensor | None, shape: Shape) -> None:
    """Sizes are as wanted, where None stands for any; an absent tensor passes."""
    if tensor is None:
        return
    found = tensor.shape
    if len(found) != len(shape) or any(
        want is not None and have != want for have, want in zip(found, shape, strict=True)
    ):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise EntNetError(f"{name} is {tuple(found)}, but must be ({wanted})")


def check_floats(name: str, tensor: Tensor | None, shape: Shape) -> None:
    """Single precision in main memory, of this shape."""
    if tensor is None:
        return
    if tensor.dtype != torch.float32 or tensor.device.type != "cpu":
        raise EntNetError(
            f"{name} is {tensor.dtype} on {tensor.device.type}, but must be float32 in main memory"
        )
    check_shape(name, tensor, shape)


def check_whole(name: str, tensor: Tensor | None, shape: Shape) -> None:
    """Whole numbers, of this shape."""
    if tensor is None:
        return
    if tensor.dtype not in _WHOLE:
        raise EntNetError(f"{name} is {tensor.dtype}, but must be whole numbers")
    check_shape(name, tensor, shape)


def check_offsets(name: str, offsets: Tensor) -> int:
    """How many stories the offsets are for: one less than there are."""
    check_whole(name, offsets, (None,))
    if not offsets.numel():
        raise EntNetError(f"{name} is empty, but must begin with 0 and end with the sentences")
    return offsets.numel() - 1
