"""What every network of the package has in common: a vocabulary, scores for a batch, a place on disk."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from entnet.config import ConfigError, ModelConfig
from entnet.data.story import RaggedBatch
from entnet.errors import ModelFileError
from entnet.files import write_atomically
from entnet.text import Vocab

FORMAT_VERSION = 1
"""Raised when a network on disk changes form; networks of another version are refused by name."""

_KINDS: dict[str, type[StoryModel]] = {}


class StoryModel(nn.Module):
    """A network that reads stories and scores answers to the questions asked in them."""

    config_class: ClassVar[type[ModelConfig]] = ModelConfig

    def __init__(self, config: ModelConfig, vocab: Vocab) -> None:
        super().__init__()
        if config.vocabulary != len(vocab):
            raise ConfigError(
                f"the configuration is for {config.vocabulary} words, the vocabulary has {len(vocab)}"
            )
        self.config = config
        self.vocab = vocab

    def forward(self, batch: RaggedBatch) -> Tensor:
        """(Q, answers) scores before the softmax."""
        raise NotImplementedError

    def after_update(self) -> None:
        """Called after every optimiser step, to restore what training must not change."""

    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.parameters())

    def save_pretrained(self, directory: Path | str) -> None:
        """Write ``model.safetensors``, ``config.json`` and ``vocab.json``."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        weights = {name: tensor.detach().contiguous() for name, tensor in self.state_dict().items()}
        about = {
            "format": FORMAT_VERSION,
            "kind": self.config.kind,
            "config": self.config.to_dict(),
        }
        write_atomically(directory / "vocab.json", self.vocab.to_json().encode())
        write_atomically(directory / "config.json", json.dumps(about, indent=1).encode())
        write_atomically(directory / "model.safetensors", save(weights, {"format": "entnet"}))

    @classmethod
    def from_pretrained(cls, source: Path | str) -> Self:
        """Load a network from a directory, or by the name of one that comes with the package."""
        directory = locate(source)
        kind, config_values = _read_config(directory / "config.json")
        if kind not in _KINDS:
            known = ", ".join(sorted(_KINDS))
            raise ModelFileError(f"{directory}: a network of kind {kind!r}; known kinds: {known}")
        model_class = _KINDS[kind]
        if not issubclass(model_class, cls):
            raise ModelFileError(f"{directory}: holds a {kind} network, not a {cls.__name__}")
        try:
            config = model_class.config_class.from_dict(config_values)
            vocab = Vocab.from_json(directory / "vocab.json")
            model = model_class(config, vocab)
        except FileNotFoundError as error:
            raise ModelFileError(f"{directory}: {Path(error.filename).name} is missing") from error
        except (ConfigError, ValueError, TypeError) as error:
            raise ModelFileError(f"{directory}: {error}") from error
        _load_weights(model, directory / "model.safetensors")
        return model.eval()


def register(model_class: type[StoryModel]) -> type[StoryModel]:
    """Class decorator: networks of this class are found by their configuration's kind."""
    _KINDS[model_class.config_class.kind] = model_class
    return model_class


def model_class(kind: str) -> type[StoryModel]:
    """The class of networks of this kind: "entnet", "lstm", "memn2n", …"""
    if kind not in _KINDS:
        raise ModelFileError(
            f"no kind of network {kind!r}; known kinds: {', '.join(sorted(_KINDS))}"
        )
    return _KINDS[kind]


def pretrained_root() -> Path:
    """Where the networks that come with the package lie."""
    return Path(str(resources.files("entnet"))) / "pretrained"


def list_pretrained() -> list[str]:
    """Names of the networks that come with the package."""
    root = pretrained_root()
    found = [path.parent.name for path in root.glob("*/config.json")] if root.is_dir() else []
    return sorted(found, key=_natural)


def _natural(name: str) -> list[int | str]:
    """babi-qa2 before babi-qa10: text and numbers take turns."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def locate(source: Path | str) -> Path:
    """A directory with a network in it: as given, a training run's chosen network, or by name."""
    path = Path(source)
    for candidate in (path, path / "model", pretrained_root() / str(source)):
        if (candidate / "config.json").is_file():
            return candidate
    names = list_pretrained()
    known = f"; networks known by name: {', '.join(names)}" if names else ""
    state = "holds no network (no config.json)" if path.is_dir() else "is not there"
    raise ModelFileError(f"{source}: {state}{known}")


def _read_config(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ModelFileError(f"{path}: not JSON: {error}") from error
    if not isinstance(about, dict) or not {"format", "kind", "config"} <= about.keys():
        raise ModelFileError(f"{path}: not written by entnet (needs format, kind and config)")
    if about["format"] != FORMAT_VERSION:
        raise ModelFileError(
            f"{path}: format version {about['format']}, this version of entnet reads {FORMAT_VERSION}"
        )
    if not isinstance(about["config"], dict):
        raise ModelFileError(f"{path}: config must be an object")
    return str(about["kind"]), about["config"]


def _load_weights(model: StoryModel, path: Path) -> None:
    try:
        weights = load_file(path)
    except FileNotFoundError as error:
        raise ModelFileError(f"{path}: missing") from error
    except (SafetensorError, OSError) as error:
        raise ModelFileError(f"{path}: corrupt or truncated: {error}") from error
    wanted = model.state_dict()
    for problem, names in (
        ("lacks", wanted.keys() - weights.keys()),
        ("has unexpected", weights.keys() - wanted.keys()),
    ):
        if names:
            raise ModelFileError(f"{path}: {problem} {', '.join(sorted(names))}")
    for name, tensor in weights.items():
        if tensor.shape != wanted[name].shape:
            raise ModelFileError(
                f"{path}: {name} is {tuple(tensor.shape)}, the configuration says "
                f"{tuple(wanted[name].shape)}"
            )
    model.load_state_dict({name: tensor.to(torch.float32) for name, tensor in weights.items()})
