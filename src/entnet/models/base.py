"""What every network of the package has in common: a vocabulary, scores for a batch, a place on disk."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from entnet import hub
from entnet.config import ConfigError, EntNetConfig, ModelConfig, TrainConfig
from entnet.data.context import Context
from entnet.data.story import Corpus, RaggedBatch, Story
from entnet.errors import EntNetError, ModelFileError
from entnet.files import write_atomically
from entnet.models.registry import model_class, register, source_of
from entnet.models.state import MemoryState, Reading
from entnet.text import Vocab

__all__ = [
    "FORMAT_VERSION",
    "Answers",
    "StoryModel",
    "encode_stories",
    "list_pretrained",
    "locate",
    "model_class",
    "pretrained_root",
    "register",
]

FORMAT_VERSION = 1
"""Raised when a network on disk changes form; networks of another version are refused by name."""

SOURCE_FILE = "model.py"
"""The copy of a user's own model file that is kept beside its weights; never run unasked."""

Answers = Literal["vocabulary", "candidates"]


def context_of(config: ModelConfig, vocab: Vocab) -> Context | None:
    """What such a network reads beside each sentence; None for most, which read nothing more."""
    if not isinstance(config, EntNetConfig) or not config.context_length:
        return None
    people, places, things = (
        frozenset(vocab.encode(words))
        for words in (config.context_people, config.context_places, config.context_things)
    )
    return Context(config.context_length, people, places, things)


def encode_stories(stories: Sequence[Story], vocab: Vocab, config: ModelConfig) -> Corpus:
    """Stories in numbers, as a network of this configuration reads them."""
    context = context_of(config, vocab)
    return Corpus.encode(stories, vocab, config.sentence_length, config.lowercase, context)


class StoryModel(nn.Module):
    """A network that reads stories and scores answers to the questions asked in them."""

    config_class: ClassVar[type[ModelConfig]] = ModelConfig

    @property
    def answers(self) -> Answers:
        """What is scored: every word of the vocabulary, or the candidates that come with a question."""
        return "vocabulary"

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

    def loss(self, batch: RaggedBatch) -> tuple[Tensor, Tensor]:
        """What training lowers: a loss per question (Q), and the scores (Q, answers) it came from.

        Cross-entropy, unless a network has a loss of its own. Evaluation always uses ``forward``.
        """
        scores = self(batch)
        return nn.functional.cross_entropy(scores, batch.answers, reduction="none"), scores

    def prepare_training(self, config: TrainConfig) -> None:
        """Take from the settings of training what ``loss`` needs; refuse what this network cannot do."""
        if config.slot_supervision > 0:
            raise EntNetError(
                f"slot_supervision is {config.slot_supervision}, but slots of this network have no names: "
                "it is for an EntNet with tied keys that answers with words"
            )

    # A stream: state goes in and comes out. A network without slots keeps the sentences that were read,
    # and reads them again when it is asked.

    @property
    def slot_count(self) -> int:
        """m: memory slots that can be looked into; 0 for none."""
        return 0

    @property
    def keys_per_story(self) -> int:
        """How many words come with each story, as its candidates or for its slots; 0 for none."""
        return 0

    @property
    def reads_any_length(self) -> bool:
        """Whether sentences may be longer than ``sentence_length``."""
        return False

    def initial_state(self, story_keys: Tensor | None = None) -> MemoryState:
        """Nothing was read yet; story_keys (S, c) are the words that come with each story."""
        keys = torch.zeros((1, 0), dtype=torch.int64) if story_keys is None else story_keys
        nothing = torch.zeros((len(keys), 0, self.config.sentence_length), dtype=torch.int64)
        return MemoryState(nothing, keys)

    def step(self, state: MemoryState, words: Tensor) -> tuple[MemoryState, Tensor]:
        """Read one sentence, words (S, L), into each memory; also says how far gates opened, (S, m)."""
        memory = torch.cat([state.memory, words.unsqueeze(1)], 1)
        if self.config.memory_limit is not None:
            memory = memory[:, -self.config.memory_limit :]
        return state._replace(memory=memory), torch.zeros((len(words), 0))

    def read(self, state: MemoryState, question_words: Tensor) -> Reading:
        """Answer a question, words (S, L), from each memory."""
        memory, keys = state.memory, state.keys
        stories, sentences, length = memory.shape
        if sentences == 0:  # a story has at least one sentence, so an empty one
            memory, sentences = memory.new_zeros((stories, 1, length)), 1
        batch = RaggedBatch(
            words=memory.flatten(0, 1),
            story_offsets=torch.arange(stories + 1) * sentences,
            question_words=question_words,
            question_step=(torch.arange(stories) + 1) * sentences - 1,
            answers=torch.zeros(stories, dtype=torch.int64),
            story_keys=keys if keys.shape[1] else None,
        )
        return Reading(self(batch), torch.zeros((stories, 0)))

    def after_update(self) -> None:
        """Called after every optimiser step, to restore what training must not change."""

    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.parameters())

    def save_pretrained(self, directory: Path | str) -> None:
        """Write ``model.safetensors``, ``config.json`` and ``vocab.json``.

        A model from a file of one's own brings a copy of that file, ``model.py``: to be read, and then
        to be passed to ``load_model_file``. Loading a model never runs it.
        """
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        weights = {name: tensor.detach().contiguous() for name, tensor in self.state_dict().items()}
        about = {
            "format": FORMAT_VERSION,
            "kind": self.config.kind,
            "config": self.config.to_dict(),
        }
        source = source_of(type(self))
        if source is not None:
            write_atomically(directory / SOURCE_FILE, source)
        write_atomically(directory / "vocab.json", self.vocab.to_json().encode())
        write_atomically(directory / "config.json", json.dumps(about, indent=1).encode())
        write_atomically(directory / "model.safetensors", save(weights, {"format": "entnet"}))

    @classmethod
    def from_pretrained(cls, source: Path | str) -> Self:
        """Load a network from a directory, or by the name of one that comes with the package."""
        directory = locate(source)
        kind, config_values = _read_config(directory / "config.json")
        model_class = _class_for(kind, directory)
        if not issubclass(model_class, cls):
            raise ModelFileError(f"{directory}: holds a {kind} network, not a {cls.__name__}")
        weights = _read_weights(directory / "model.safetensors")
        try:
            _check_sizes(config_values, weights)
            config = model_class.config_class.from_dict(config_values)
            vocab = Vocab.from_json(directory / "vocab.json")
            skeleton = _skeleton(model_class, config, vocab)
            if skeleton is not None:
                _check_weights(skeleton, weights)
            model = model_class(config, vocab)
            _check_weights(model, weights)
        except FileNotFoundError as error:
            raise ModelFileError(f"{directory}: {Path(error.filename).name} is missing") from error
        except ModelFileError:
            raise
        except (EntNetError, ConfigError, ValueError, TypeError, IndexError) as error:
            raise ModelFileError(f"{directory}: {error}") from error
        model.load_state_dict(weights)
        return model.eval()


def _class_for(kind: str, directory: Path) -> type[StoryModel]:
    try:
        return model_class(kind)
    except ModelFileError as error:
        copy = directory / SOURCE_FILE
        if copy.is_file():
            raise ModelFileError(
                f"{directory}: a model of kind {kind!r}, which is defined in a file. A copy is in {copy}: "
                f"read it, as it is code that will run, then pass --model-file {copy}"
            ) from error
        raise ModelFileError(f"{directory}: {error}") from error


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
    """A directory with a network in it: as given, a training run's chosen one, by name, or of the hub."""
    path = Path(source)
    for candidate in (path, path / "model", pretrained_root() / str(source)):
        if (candidate / "config.json").is_file():
            return candidate
    if hub.is_repository(source):
        return hub.fetch(str(source))
    names = list_pretrained()
    known = f"; networks known by name: {', '.join(names)}" if names else ""
    state = "holds no network (no config.json)" if path.is_dir() else "is not there"
    raise ModelFileError(f"{source}: {state}{known}")


def name_of(source: Path | str) -> str:
    """What people call the network of a source: a run keeps it in a directory "model"; the run's name says
    more."""
    if hub.is_repository(source) and not Path(source).exists():
        return hub.name_of(str(source))
    directory = locate(source).resolve()
    return directory.parent.name if directory.name == "model" else directory.name


def _read_config(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: not JSON that can be read: {error}") from error
    if not isinstance(about, dict) or not {"format", "kind", "config"} <= about.keys():
        raise ModelFileError(f"{path}: not written by entnet (needs format, kind and config)")
    if about["format"] != FORMAT_VERSION:
        raise ModelFileError(
            f"{path}: format version {about['format']!r:.40}, this version of entnet reads {FORMAT_VERSION}"
        )
    if not isinstance(about["config"], dict):
        raise ModelFileError(f"{path}: config must be an object")
    return f"{about['kind']!s:.80}", about["config"]


def _read_weights(path: Path) -> dict[str, Tensor]:
    try:
        weights = load_file(path)
    except FileNotFoundError as error:
        raise ModelFileError(f"{path}: missing") from error
    except (SafetensorError, OSError) as error:
        raise ModelFileError(f"{path}: corrupt or truncated: {error}") from error
    for name, tensor in weights.items():
        if not bool(tensor.isfinite().all()):
            raise ModelFileError(f"{path}: {name} holds values that are not numbers")
    return {name: tensor.to(torch.float32) for name, tensor in weights.items()}


def _check_sizes(config: Mapping[str, Any], weights: Mapping[str, Tensor]) -> None:
    """No size is larger than the weights have numbers, whatever a network would make of it."""
    numbers = max(1000, sum(tensor.numel() for tensor in weights.values()))
    for name, value in config.items():
        if isinstance(value, int) and abs(value) > numbers:
            raise ModelFileError(
                f"config.json: {name} is {_short(value)}, more than the weights have numbers ({numbers:,})"
            )


def _short(value: int) -> str:
    return f"{value:,}" if abs(value) < 10**15 else "a number of more than 15 digits"


def _skeleton(kind: type[StoryModel], config: ModelConfig, vocab: Vocab) -> StoryModel | None:
    """The network without memory for its weights, so that their shapes are known first."""
    try:
        with torch.device("meta"):
            return kind(config, vocab)
    except (RuntimeError, NotImplementedError):
        return None  # a network from a file of one's own need not know such devices


def _check_weights(model: StoryModel, weights: Mapping[str, Tensor]) -> None:
    wanted = model.state_dict()
    for problem, names in (
        ("lacks", wanted.keys() - weights.keys()),
        ("has unexpected", weights.keys() - wanted.keys()),
    ):
        if names:
            raise EntNetError(f"model.safetensors {problem} {', '.join(sorted(names))}")
    for name, tensor in weights.items():
        if tensor.shape != wanted[name].shape:
            raise EntNetError(
                f"model.safetensors: {name} is {tuple(tensor.shape)}, the configuration says "
                f"{tuple(wanted[name].shape)}"
            )
