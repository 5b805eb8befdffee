"""The Neural Turing Machine (Graves et al. 2014), reading stories word by word.

Its heads find their place by content, or stay near the place where they were:

    w^c = C(M, k, β)                        by content (entnet.ops.addressing)
    w^g = g w^c + (1 − g) w_{t−1}           or where the head was
    w̃_i = Σ_j w^g_{i−j} s_j                 moved by −1, 0 or +1
    w_i = w̃_i^γ / Σ_j w̃_j^γ                 and sharpened
    M ← M ⊙ (1 − w e^T) + w a^T,   r = M^T w

Start values that train (Collier and Beel 2018): all of the memory 10⁻⁶, weightings and reads learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from entnet.models.base import register
from entnet.models.machine import MachineConfig, MemoryMachine
from entnet.ops.machine import Machine, Start
from entnet.text import Vocab


@dataclass(frozen=True)
class NTMConfig(MachineConfig):
    """A Neural Turing Machine. Sizes are those of the DNC paper for bAbI."""

    kind: ClassVar[str] = "ntm"

    read_first: bool = True
    """Heads read before this step's writing (Collier and Beel), or after it."""

    def machine(self) -> Machine:
        return Machine(
            "ntm",
            self.slots,
            self.width,
            self.heads,
            links=False,
            read_first=self.read_first,
            memory_start=1e-6,
        )


@register
class NTM(MemoryMachine):
    """An LSTM with a memory tape."""

    config: NTMConfig
    config_class = NTMConfig

    def __init__(self, config: NTMConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        self.first_weights = nn.Parameter(torch.randn(config.heads + 1, config.slots) * 0.1)
        self.first_reads = nn.Parameter(torch.randn(config.heads * config.width) * 0.1)

    def start(self, stories: int) -> Start:
        """Weightings are a learned softmax, reads a learned tanh."""
        start = super().start(stories)
        weights = self.first_weights.softmax(1).expand(stories, -1, -1)
        return start._replace(weights=weights, reads=self.first_reads.tanh().expand(stories, -1))
