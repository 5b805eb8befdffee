"""How far sentences press a network's gates open."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from entnet.models.encoder import encode
from entnet.models.entnet import EntNet

Rows = NDArray[np.integer[Any]]
"""(N, L) sentences as word numbers."""

_ROUNDING = 1e-3
"""Sums of the same numbers in another order differ by far less."""


@torch.no_grad()
def pressures(model: EntNet, memories: Sequence[Tensor], rows: Rows) -> NDArray[np.float32]:
    """How far each sentence presses a gate open at most, with any of these memories: (N)"""
    keys = model.keys()
    slots = torch.cat([memory + keys for memory in memories])
    bias = _bias(model).repeat(len(memories))
    # (h + w) · s for every slot of every memory, as one product
    logits = [(sentences @ slots.T + bias).amax(-1) for sentences in _encoded(model, rows)]
    return torch.sigmoid(torch.cat(logits)).numpy()


class Candidates:
    """Sentences, encoded once; tells which of them can open a gate that shuts."""

    @torch.no_grad()
    def __init__(self, model: EntNet, rows: Rows) -> None:
        config = model.config
        self.encoded = torch.cat([*_encoded(model, rows)])
        self.keys, self.bias = model.keys().detach(), _bias(model).detach()
        self.threshold = -math.inf
        if config.gate != "sigmoid":
            odds = config.gate_threshold / (1 - config.gate_threshold)
            self.threshold = math.log(odds) - _ROUNDING

    @torch.no_grad()
    def near(self, memory: Tensor, first: int, last: int) -> NDArray[np.int64]:
        """Of the sentences from ``first`` to ``last``, those that may open a gate with this memory; all
        others leave it as it is."""
        logits = torch.addmm(self.bias, self.encoded[first:last], (memory + self.keys).T)
        return first + np.flatnonzero((logits.amax(-1) >= self.threshold).numpy())


def _bias(model: EntNet) -> Tensor:
    bias = model.memory.gate_bias
    return torch.zeros(model.config.slots) if bias is None else bias


def _encoded(model: EntNet, rows: Rows, size: int = 512) -> Iterator[Tensor]:
    """Sentences as the gates see them, (n, d), some at a time."""
    encoder = model.encoder
    mask = encoder.mask_for_story() if encoder.gate_mask is None else encoder.gate_mask
    for first in range(0, len(rows), size):
        words = torch.from_numpy(rows[first : first + size].astype(np.int64))
        yield encode(words, model.embedding, mask)
