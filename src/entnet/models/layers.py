"""Pieces that several networks are made of."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


def position_encoding(length: int, width: int) -> Tensor:
    """MemN2N's fixed mask: l_kj = (1 − j/J) − (k/d)(1 − 2j/J), words j and units k counted from 1: (J, d)

    As its paper has it; its authors' code is ``entnet.models.memn2n.position_weights``.
    """
    j = torch.arange(1, length + 1).unsqueeze(1) / length
    k = torch.arange(1, width + 1).unsqueeze(0) / width
    return (1 - j) - k * (1 - 2 * j)


def dropout_mask(
    rows: int, width: int, dropout: float, device: torch.device | None = None
) -> Tensor:
    """(rows, width): 0 with the probability ``dropout``, else 1 / (1 − dropout)."""
    keep = 1 - dropout
    return torch.full((rows, width), keep, device=device).bernoulli().div(keep)


class Packing(NamedTuple):
    """Sequences of different lengths, laid out by time: all first words, all second words, …

    Longer sequences come first, so those still being read are always the first few.
    """

    active: list[int]
    """How many sequences are still being read, step by step."""
    order: Tensor
    """(S) sequences, longest first."""
    place: Tensor
    """(N) where each word, counted sequence by sequence, is laid."""

    def lay(self, values: Tensor) -> Tensor:
        """(N, …) sequence by sequence → by time. ``values[packing.place]`` is the way back."""
        return torch.empty_like(values).index_copy(0, self.place, values)


def pack(lengths: Tensor) -> Packing:
    """Lay out sequences of these lengths, some of which may be 0."""
    sequences, total = lengths.numel(), int(lengths.sum())
    sorted_lengths, order = lengths.sort(descending=True, stable=True)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(sequences, device=order.device)
    longest = int(sorted_lengths[0]) if sequences else 0
    steps = torch.arange(longest, device=lengths.device)
    active = (lengths.unsqueeze(0) > steps.unsqueeze(1)).sum(1)
    row_start = active.cumsum(0) - active

    sequence = torch.repeat_interleave(lengths)
    start = lengths.cumsum(0) - lengths
    step = torch.arange(total, device=lengths.device) - start[sequence]
    return Packing(active.tolist(), order, row_start[step] + rank[sequence])
