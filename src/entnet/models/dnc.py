"""The Differentiable Neural Computer (Graves et al. 2016), reading stories word by word.

    code            letter      equation
    retention       ψ           Π_r (1 − f_r w^r_{t−1})
    usage           u           (u + w^w − u ⊙ w^w) ⊙ ψ
    allocation      a[φ_j]      (1 − u[φ_j]) Π_i<j u[φ_i], slots sorted by usage
    write           w^w         g^w (g^a a + (1 − g^a) C(M, k, β))
    memory          M           M ⊙ (1 − w^w e^T) + w^w v^T
    links           L_ij        (1 − w^w_i − w^w_j) L_ij + w^w_i p_j;   p ← (1 − Σ w^w) p + w^w
    read            w^r         π₁ L^T w^r_{t−1} + π₂ C(M, k, β) + π₃ L w^r_{t−1}

Improvements published since are options: masking, de-allocation, sharpness (Csordás and Schmidhuber 2019);
no links, layer normalisation, bypass dropout and a backward reader (Franke et al. 2018); blank steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entnet.models.base import register
from entnet.models.machine import MachineConfig, MemoryMachine
from entnet.ops.machine import Machine


@dataclass(frozen=True)
class DNCConfig(MachineConfig):
    """A DNC. Sizes are its paper's for bAbI (DNC1)."""

    kind: ClassVar[str] = "dnc"

    links: bool = True
    """Heads can follow the order of writing; without, they read by content alone (ADNC)."""
    masking: bool = False
    """Heads choose which units of a slot they compare."""
    deallocation: bool = False
    """What is freed is erased from the memory."""
    sharpness: bool = False
    """What is found along the links is sharpened."""
    usage_gradient: bool = True
    """Gradients flow through the write weighting into usage (paper), or not (DeepMind's code)."""

    def machine(self) -> Machine:
        return Machine(
            "dnc",
            self.slots,
            self.width,
            self.heads,
            self.links,
            self.masking,
            self.deallocation,
            self.sharpness,
            self.usage_gradient,
        )

    def check(self) -> None:
        super().check()
        self.require(
            self.links or not self.sharpness, "sharpness is of the links, but there are none"
        )


@register
class DNC(MemoryMachine):
    """An LSTM with a memory that it allocates, frees and reads in order."""

    config: DNCConfig
    config_class = DNCConfig
