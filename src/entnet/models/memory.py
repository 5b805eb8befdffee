"""(2) to (5): the memory's parameters, and what they bring to the scan."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from entnet.config import EntNetConfig, Matrix
from entnet.models.own_code import is_own_method
from entnet.models.state import MemoryState
from entnet.ops import memory_scan
from entnet.ops.reference import (
    PAPER,
    Equations,
    GateShape,
    ScanParameters,
    StepTrace,
    candidate,
    forget,
    gate,
    memory_step,
)
from entnet.ops.reference import memory_scan as reference_scan

__all__ = ["Memory", "MemoryState", "square_matrix"]


def square_matrix(kind: Matrix, width: int, scale: float) -> nn.Parameter | None:
    """A (d, d) parameter, fixed at the identity or trained; None stands for zero."""
    if kind == "zero":
        return None
    if kind == "identity":
        return nn.Parameter(torch.eye(width), requires_grad=False)
    return nn.Parameter(torch.randn(width, width) * scale)


def gate_shape(config: EntNetConfig) -> GateShape | None:
    """How gates shut; None for the paper's, which do not."""
    threshold, learns = config.gate_threshold, config.gate_learns
    if config.gate == "sigmoid":
        return None
    if config.gate == "threshold":
        return GateShape(threshold, 1.0, 0.0, learns)
    return GateShape(threshold, 1 / (1 - threshold), -threshold / (1 - threshold), learns)


class Memory(nn.Module):
    """The gated slots: their parameters and equations.

    A subclass may have a ``gate``, ``candidate`` or ``forget`` of its own. They take and return what the
    functions of these names in ``ops/reference.py`` do, which the paper's are.
    """

    keys: Tensor | None
    gate_bias: Tensor | None
    candidate_bias: Tensor | None
    slope: Tensor | None
    ordinals: Tensor | None
    """(n - 1, d): what the second, third, … slot of a word adds to its embedding, for a key."""

    def __init__(self, config: EntNetConfig) -> None:
        super().__init__()
        d, m, scale = config.width, config.slots, config.weight_scale
        self.normalise = config.normalise
        self.norm_floor = 0.0 if config.zero_norm == "one" else 1e-12
        self.gate_shape = gate_shape(config)
        self.U = square_matrix(config.U, d, scale)
        self.V = square_matrix(config.V, d, scale)
        self.W = square_matrix(config.W, d, scale)
        self.keys = (
            nn.Parameter(torch.randn(m, d) * config.key_scale) if (config.keys == "free") else None
        )
        more = max(config.key_slots, default=1) - 1
        self.ordinals = (
            nn.Parameter(torch.randn(more, d) * config.embedding_scale) if more else None
        )
        bias_scale = scale if config.bias_init == "normal" else 0.0
        self.gate_bias = nn.Parameter(torch.randn(m) * bias_scale) if config.gate_bias else None
        self.candidate_bias = (
            nn.Parameter(torch.randn(d) * bias_scale) if config.candidate_bias else None
        )
        units = d if config.slopes == "unit" else 1
        self.slope = nn.Parameter(torch.ones(units)) if config.activation == "prelu" else None
        self.width = d

    # (2), (3) and (5)

    def gate(
        self, gate_input: Tensor, memory: Tensor, keys: Tensor, gate_bias: Tensor | None
    ) -> Tensor:
        """(2)  g_j, for every slot: (…, m)"""
        return gate(gate_input, memory, keys, gate_bias)

    def candidate(
        self, candidate_input: Tensor, memory: Tensor, parameters: ScanParameters
    ) -> Tensor:
        """(3)  h̃_j, for every slot: (…, m, d)"""
        return candidate(candidate_input, memory, parameters)

    def forget(self, memory: Tensor, norm_floor: float = 0.0) -> Tensor:
        """(5)  the slots, normalised: (…, m, d)"""
        return forget(memory, norm_floor)

    @property
    def equations(self) -> Equations:
        """These three; the paper's own where none is overridden, which compiled code knows."""
        if all(is_own_method(self, Memory, name) for name in Equations._fields):
            return PAPER
        return Equations(self.gate, self.candidate, self.forget)

    # What the scan needs, and the scan.

    def step(
        self,
        memory: Tensor,
        sentences: Tensor,
        gate_input: Tensor,
        keys: Tensor,
        closed: Tensor | None,
    ) -> StepTrace:
        """Read one sentence, (S, d), into every memory."""
        parameters = self.scan_parameters(keys)
        candidates = self.candidate_input(sentences)
        return memory_step(memory, candidates, gate_input, keys, parameters, closed, self.equations)

    def scan(
        self,
        sentences: Tensor,
        gate_input: Tensor,
        keys: Tensor,
        offsets: Tensor,
        read_at: Tensor,
        closed: Tensor | None,
        born: Tensor | None = None,
        pressures: list[tuple[Tensor, Tensor]] | None = None,
        noise: Tensor | None = None,
    ) -> Tensor:
        """Read stories that lie end to end, (N, d); the memory where it is wanted: (Q, m, d)

        born (S, m): the sentence from which on a slot is there, where slots are named by the stories.
        With ``pressures`` or ``noise``, which are plain PyTorch's, see ``reference.memory_scan``.
        """
        inputs = (
            self.candidate_input(sentences),
            gate_input,
            keys,
            self.scan_parameters(keys),
            offsets,
            read_at,
            closed,
            self.equations,
        )
        if born is None and pressures is None and noise is None:
            return memory_scan(*inputs)
        return reference_scan(*inputs, born, pressures, noise)

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
            self.U,
            key_input,
            slope,
            self.gate_bias,
            self.normalise,
            self.norm_floor,
            self.gate_shape,
        )
