"""(2) to (5): the memory's parameters, and what they bring to the scan."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from entnet.config import EntNetConfig, Matrix
from entnet.ops.reference import ScanParameters


class MemoryState(NamedTuple):
    """Everything that reading has brought about: what the slots hold, and what they stand for."""

    memory: Tensor
    """(S, m, d)"""
    keys: Tensor
    """(m, d), or (S, m, d) where keys differ per story"""


def square_matrix(kind: Matrix, width: int, scale: float) -> nn.Parameter | None:
    """A (d, d) parameter, fixed at the identity or trained; None stands for zero."""
    if kind == "zero":
        return None
    if kind == "identity":
        return nn.Parameter(torch.eye(width), requires_grad=False)
    return nn.Parameter(torch.randn(width, width) * scale)


class Memory(nn.Module):
    """Parameters of the gated slots."""

    keys: Tensor | None
    gate_bias: Tensor | None
    candidate_bias: Tensor | None
    slope: Tensor | None

    def __init__(self, config: EntNetConfig) -> None:
        super().__init__()
        d, m, scale = config.width, config.slots, config.weight_scale
        self.normalise = config.normalise
        self.norm_floor = 0.0 if config.zero_norm == "one" else 1e-12
        self.U = square_matrix(config.U, d, scale)
        self.V = square_matrix(config.V, d, scale)
        self.W = square_matrix(config.W, d, scale)
        self.keys = (
            nn.Parameter(torch.randn(m, d) * config.key_scale) if (config.keys == "free") else None
        )
        bias_scale = scale if config.bias_init == "normal" else 0.0
        self.gate_bias = nn.Parameter(torch.randn(m) * bias_scale) if config.gate_bias else None
        self.candidate_bias = (
            nn.Parameter(torch.randn(d) * bias_scale) if config.candidate_bias else None
        )
        units = d if config.slopes == "unit" else 1
        self.slope = nn.Parameter(torch.ones(units)) if config.activation == "prelu" else None
        self.width = d

    def candidate_input(self, sentences: Tensor) -> Tensor:
        """W s_t for every sentence: (N, d)"""
        return torch.zeros_like(sentences) if self.W is None else sentences @ self.W.T

    def scan_parameters(self, keys: Tensor) -> ScanParameters:
        """V w_j and the bias of (3) for these keys, with all else that the scan needs."""
        key_input = torch.zeros_like(keys) if self.V is None else keys @ self.V.T
        if self.candidate_bias is not None:
            key_input = key_input + self.candidate_bias
        slope = None if self.slope is None else self.slope.expand(self.width)
        return ScanParameters(
            self.U, key_input, slope, self.gate_bias, self.normalise, self.norm_floor
        )
