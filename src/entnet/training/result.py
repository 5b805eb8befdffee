"""What is written down about a run besides its scores."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor

from entnet.config import TrainConfig


class Trained(Protocol):
    """A network as training sees it."""

    @property
    def config(self) -> Any: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Tensor]) -> Any: ...

    def parameter_count(self) -> int: ...

    def save_pretrained(self, directory: Path | str) -> None: ...


def package_version() -> str:
    """The installed version of entnet."""
    try:
        return version("entnet")
    except PackageNotFoundError:
        return "not installed"


def machine() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def result_line(
    about: dict[str, Any], model: Trained, config: TrainConfig, engine: str
) -> dict[str, Any]:
    """Configuration, seed, version and machine of a run."""
    model_config = model.config.to_dict()
    return {
        **about,
        "seed": config.seed,
        "kind": model.config.kind,
        "model": model_config,
        "train": config.to_dict(),
        "parameters": model.parameter_count(),
        "engine": engine,
        "version": package_version(),
        "machine": machine(),
    }
