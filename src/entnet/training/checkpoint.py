"""A run's state in one file, so that it is there whole or not at all."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from entnet.errors import ModelFileError
from entnet.files import write_atomically

Tensors = dict[str, Tensor]


@dataclass
class Checkpoint:
    """Where a run stands after an epoch."""

    epoch: int
    progress: dict[str, Any]
    seconds: float
    weights: Tensors
    optimiser: Tensors
    best: Tensors
    """Weights of the best epoch so far."""
    average: Tensors = field(default_factory=dict)
    """Running average of the weights; empty without."""

    def write(self, path: Path) -> None:
        parts = {
            "weights": self.weights,
            "optimiser": self.optimiser,
            "best": self.best,
            "average": self.average,
        }
        tensors = {
            f"{part}/{name}": tensor.detach().contiguous().clone()
            for part, group in parts.items()
            for name, tensor in group.items()
        }
        about = {"epoch": self.epoch, "progress": self.progress, "seconds": self.seconds}
        write_atomically(path, save(tensors, {"checkpoint": json.dumps(about)}))

    @classmethod
    def read(cls, path: Path) -> Checkpoint:
        parts: dict[str, Tensors] = {"weights": {}, "optimiser": {}, "best": {}, "average": {}}
        try:
            with safe_open(path, framework="pt") as file:
                about = json.loads(file.metadata()["checkpoint"])
                for key in file.keys():  # noqa: SIM118 - not a dict
                    part, _, name = key.partition("/")
                    parts[part][name] = file.get_tensor(key)
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{path}: not a checkpoint, or damaged ({error}); delete it to start the run afresh"
            ) from error
        return cls(about["epoch"], about["progress"], about["seconds"], **parts)
