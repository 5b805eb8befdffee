"""What the grid world needs: stories made, and the hops of MemN2N, compiled beside plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.machine import rate
from entnet.data.gridworld import Asking, GridWorld, grid_stream
from entnet.ops.hops import memory_hops, memory_hops_reference

BATCH = 32
WIDTH = 20
LENGTHS = (10, 20, 40)


def stories_per_second(length: int, seconds: float) -> float:
    """Stories made for training on one core, in batches, asked after every sentence from the 4th."""
    asking = Asking(first=4, agents="one")
    stream = grid_stream(GridWorld(), 1, BATCH, (length, length), asking)
    return BATCH * rate(lambda: next(stream), seconds)


def hops_per_second(run: Callable[..., Tensor], length: int, seconds: float) -> float:
    """T − 2 hops over a batch of stories of T sentences on one core, forward and backward."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    hops = length - 2
    memories = torch.randn(BATCH, length, hops + 1, WIDTH).div_(WIDTH).requires_grad_()
    state = torch.randn(BATCH, WIDTH).requires_grad_()
    heard = torch.full((BATCH,), length)

    def both() -> None:
        run(memories, state, heard, None, hops, False).sum().backward()

    return rate(both, seconds)


def measure(seconds: float) -> list[dict[str, float]]:
    """For every length of Table 1a."""

    def at(length: int) -> dict[str, float]:
        ours = hops_per_second(memory_hops, length, seconds)
        plain = hops_per_second(memory_hops_reference, length, seconds)
        return {
            "length": length,
            "stories_per_second": round(stories_per_second(length, seconds)),
            "hops_ratio": round(ours / plain, 2),
        }

    return [at(length) for length in LENGTHS]
