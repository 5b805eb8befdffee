"""Copy and repeat-copy: can a memory machine write a sequence down, and read it out again?

Bits are shown, step by step; then a mark, for repeat-copy with how often; then the machine must say them
again, seeing nothing. Sequences longer than it was trained on tell whether it has learned to copy.

    code            shape           meaning
    inputs          (T, S, b + 2)   bits, the mark, how often
    due             (T, S, b)       the bits to be said; -1 where nothing is
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from entnet.config import Config, TrainConfig
from entnet.errors import EntNetError
from entnet.files import write_atomically
from entnet.ops.machine import Machine, Start, State, machine_states
from entnet.ops.machine_native import machine_scan


@dataclass(frozen=True)
class CopierConfig(Config):
    """A memory machine that copies."""

    kind: ClassVar[str] = "copier"

    memory: Literal["ntm", "dnc"] = "ntm"
    """Which machine."""
    units: int = 48
    """H: units of its LSTM."""
    slots: int = 16
    """N: rows of the memory."""
    width: int = 8
    """W: units of a row."""
    heads: int = 1
    """R: heads that read. One writes."""
    links: bool = True
    """dnc: heads can follow the order of writing."""
    masking: bool = False
    """dnc: heads choose which units of a row they compare."""
    deallocation: bool = False
    """dnc: what is freed is erased from the memory."""
    bits: int = 4
    """Bits per step."""
    most_repeats: int = 1
    """How often training asks for the sequence, at the most; 1 for plain copying."""

    def check(self) -> None:
        for name in ("units", "slots", "width", "heads", "bits", "most_repeats"):
            value = getattr(self, name)
            self.require(value >= 1, f"{name} is {value}, but must be at least 1")

    def machine(self) -> Machine:
        sizes = self.slots, self.width, self.heads
        if self.memory == "ntm":
            return Machine("ntm", *sizes, links=False, memory_start=1e-6)
        return Machine(
            "dnc",
            *sizes,
            links=self.links,
            masking=self.masking,
            deallocation=self.deallocation,
        )


@dataclass(frozen=True)
class CopyBatch:
    """Sequences of one length, to be said so many times. Each bit that is due is a question."""

    inputs: Tensor
    due: Tensor

    @property
    def sentences(self) -> int:
        return self.inputs.shape[1]

    @property
    def questions(self) -> int:
        return len(self.answers)

    @property
    def answers(self) -> Tensor:
        return self.due[self.due >= 0].long()


def copy_batch(
    config: CopierConfig, sequences: int, length: int, repeats: int, dice: torch.Generator
) -> CopyBatch:
    """Random bits, the mark, and nothing while they are due."""
    shown = torch.randint(2, (length, sequences, config.bits), generator=dice).float()
    steps = length + 1 + length * repeats
    inputs = torch.zeros(steps, sequences, config.bits + 2)
    inputs[:length, :, : config.bits] = shown
    inputs[length, :, config.bits] = 1
    inputs[length, :, config.bits + 1] = repeats / config.most_repeats
    due = torch.full((steps, sequences, config.bits), -1.0)
    due[length + 1 :] = shown.repeat(repeats, 1, 1)
    return CopyBatch(inputs, due)


class Copier(nn.Module):
    """A memory machine between bits and bits."""

    def __init__(self, config: CopierConfig) -> None:
        super().__init__()
        self.config, self.machine = config, config.machine()
        units, machine, bits = config.units, self.machine, config.bits
        read = machine.heads * machine.width

        def weights(*shape: int) -> nn.Parameter:
            return nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape)))

        self.W, self.U = weights(4 * units, bits + 2), weights(4 * units, units + read)
        self.bias = nn.Parameter(torch.zeros(4 * units))
        self.B = weights(machine.interface, units)
        self.interface_bias = nn.Parameter(torch.zeros(machine.interface))
        self.output = nn.Linear(units + read, bits)
        first = torch.randn(machine.weightings, machine.slots)
        self.first_weights = nn.Parameter(first) if machine.kind == "ntm" else None

    def forward(self, batch: CopyBatch) -> Tensor:
        """(T, S, bits): arguments of a sigmoid"""
        hiddens, reads = machine_scan(self.machine, *self._arguments(batch.inputs))
        scores: Tensor = self.output(torch.cat([hiddens, reads], 1))
        return scores.view(*batch.inputs.shape[:2], -1)

    def loss(self, batch: CopyBatch) -> tuple[Tensor, Tensor]:
        """Of each bit that is due: its loss, and scores of 0 and 1."""
        scores = self(batch)[batch.due >= 0]
        losses = nn.functional.binary_cross_entropy_with_logits(
            scores, batch.answers.to(scores.dtype), reduction="none"
        )
        return losses, torch.stack([torch.zeros_like(scores), scores], 1)

    def states(self, inputs: Tensor) -> Iterator[State]:
        """The memory after every step."""
        for *_, state in machine_states(self.machine, *self._arguments(inputs)):
            yield state

    def _arguments(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Start, list[int]]:
        steps, sequences, _ = inputs.shape
        m, units, rows = self.machine, self.config.units, inputs.flatten(0, 1)
        nothing = inputs.new_zeros
        weights = nothing((sequences, m.weightings, m.slots))
        if self.first_weights is not None:
            weights = self.first_weights.softmax(1).expand(sequences, -1, -1)
        hidden, cell = nothing((sequences, units)), nothing((sequences, units))
        start = Start(hidden, cell, nothing((sequences, m.heads * m.width)), weights)
        asked = self.interface_bias.expand(len(rows), -1)
        gates = rows @ self.W.T + self.bias
        return gates, self.U, self.B, asked, start, [sequences] * steps

    # What training asks of a network.

    def prepare_training(self, config: TrainConfig) -> None:
        """It needs nothing of the settings."""

    def after_update(self) -> None:
        """Nothing has to be restored."""

    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.parameters())

    def save_pretrained(self, directory: Path | str) -> None:
        """Write ``model.safetensors`` and ``config.json``."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        about = {"format": 1, "kind": self.config.kind, "config": self.config.to_dict()}
        weights = {name: tensor.detach().contiguous() for name, tensor in self.state_dict().items()}
        write_atomically(directory / "config.json", json.dumps(about, indent=1).encode())
        write_atomically(directory / "model.safetensors", save(weights, {"format": "entnet"}))

    @classmethod
    def from_pretrained(cls, directory: Path) -> Self:
        """As ``save_pretrained`` wrote it."""
        about = _about(directory)
        if about.get("kind") != CopierConfig.kind:
            raise EntNetError(f"{directory}: holds no copier")
        model = cls(CopierConfig.from_dict(about["config"]))
        model.load_state_dict(load_file(directory / "model.safetensors"))
        return model.eval()


def find_copier(source: str) -> Path | None:
    """The directory of a copier: as given, or a training run's."""
    for path in (Path(source), Path(source) / "model"):
        if _about(path).get("kind") == CopierConfig.kind:
            return path
    return None


def _about(directory: Path) -> dict[str, Any]:
    try:
        about: Any = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return about if isinstance(about, dict) else {}


def copy_error(
    model: Copier, length: int, repeats: int = 1, seed: int = 0, sequences: int = 64
) -> tuple[int, int]:
    """Bits said wrong, and all of them, of sequences of this length."""
    dice = torch.Generator().manual_seed(seed)
    batch = copy_batch(model.config, sequences, length, repeats, dice)
    with torch.no_grad():
        scores = model(batch)[batch.due >= 0]
    return int(((scores > 0).long() != batch.answers).sum()), batch.questions


def addressing_of(model: Copier, inputs: Tensor) -> Tensor:
    """(T, R + 1, slots): where the heads were in the first sequence, the writing head first."""
    with torch.no_grad():
        return torch.stack([state.weights[0] for state in model.states(inputs)])
