"""Reading and asking, sentence by sentence.

    tracker = Tracker.from_pretrained("babi-joint")
    tracker.read("Mary got the milk. Mary went to the garden.")
    tracker.ask("Where is the milk?").answer

A tracker is a network and one memory of constant size. Any number of trackers share a network:
reading never changes it, so each may run in a thread of its own. One tracker is for one thread at a
time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from entnet.data.plain import split_sentences
from entnet.errors import EntNetError
from entnet.models.base import StoryModel
from entnet.models.entnet import EntNet
from entnet.models.memory import MemoryState
from entnet.text import tokenise

SNAPSHOT_FORMAT = "entnet-tracker"
SNAPSHOT_VERSION = 1
"""Raised when snapshots change form; those of another version are refused by name."""


class TextError(EntNetError):
    """Text that this network cannot read: empty, too long, or (by choice) with unknown words."""


class SnapshotError(EntNetError):
    """Bytes that are not a snapshot of a tracker of this network."""


class Guess(NamedTuple):
    """An answer that could have been."""

    word: str
    probability: float


class NearWord(NamedTuple):
    """A word, and the cosine similarity of its row of R with what a slot says."""

    word: str
    similarity: float


@dataclass(frozen=True, slots=True)
class SentenceRead:
    """What reading one sentence did to the memory."""

    sentence: str
    gates: tuple[float, ...]
    """How far each slot opened, 0 to 1."""
    movement: tuple[float, ...]
    """How far each slot moved: ‖h_j after − h_j before‖."""
    unknown: tuple[str, ...]
    """Words never seen in training, which were read as nothing."""

    def opened(self, threshold: float = 0.5) -> list[tuple[int, float]]:
        """Slots that opened further than this, counted from 0, with their gates, widest first."""
        wide = [(slot, gate) for slot, gate in enumerate(self.gates) if gate > threshold]
        return sorted(wide, key=lambda pair: -pair[1])


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, what else it could have been, and where it was looked for."""

    question: str
    answer: str
    probability: float
    alternatives: tuple[Guess, ...]
    """The next best, most probable first."""
    attention: tuple[float, ...]
    """Share of each slot in the answer; sums to 1."""
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlotContent:
    """What a slot holds, in words."""

    slot: int
    key: str | None
    """The word that the slot stands for, where keys are tied to words."""
    follows: tuple[NearWord, ...]
    """Words whose embeddings are nearest to the slot's key: what makes it open."""
    words: tuple[NearWord, ...]
    """What it says, nearest first."""


class Tracker:
    """A network, and the memory of what it has read so far."""

    state: MemoryState
    sentences_read: int

    def __init__(
        self, model: EntNet, keys: Sequence[str] | None = None, strict: bool = False
    ) -> None:
        """``keys``: the words that slots stand for, where the network takes them from the story.

        With ``strict``, words never seen in training are refused, not named and read as nothing.
        """
        if not isinstance(model, EntNet):
            raise EntNetError(
                f"a {model.config.kind} network has no slots to track; give an entity network"
            )
        self.model = model.eval()
        self.strict = strict
        self.key_words = _key_words(model, keys)
        self._story_keys = (
            torch.tensor([model.vocab.encode(self.key_words)])
            if model.config.keys == "story" and self.key_words
            else None
        )
        self.reset()

    @classmethod
    def from_pretrained(cls, source: Path | str, strict: bool = False) -> Self:
        """A tracker of its own network, from a directory or by name (see ``entnet models``)."""
        return cls(load_entity_network(source), strict=strict)

    # Reading and asking.

    def read(self, text: str) -> list[SentenceRead]:
        """Read a text, sentence by sentence, and say what each did. Reads all of it or nothing."""
        return self.read_sentences(split_sentences(text))

    def read_sentences(self, sentences: Sequence[str]) -> list[SentenceRead]:
        """The same for text that is cut into sentences already."""
        encoded = [self._encode(sentence) for sentence in sentences]
        done: list[SentenceRead] = []
        with torch.inference_mode():
            for sentence, words, unknown in encoded:
                before = self.state.memory
                self.state, gates = self.model.step(self.state, words)
                movement = (self.state.memory - before).norm(dim=-1)
                done.append(
                    SentenceRead(sentence, _floats(gates[0]), _floats(movement[0]), unknown)
                )
        self.sentences_read += len(done)
        return done

    def ask(self, question: str, alternatives: int = 4) -> Answer:
        """Answer from the memory as it is now; asking changes nothing."""
        text, words, unknown = self._encode(question)
        with torch.inference_mode():
            reading = self.model.read(self.state, words)
            names = self.model.vocab.words
            probabilities = reading.scores[0].softmax(-1)
            if self.model.config.output == "slots":
                names = self.key_words
            else:
                probabilities[0] = -1  # the null word is no answer
            best = probabilities.topk(min(alternatives + 1, self._possible_answers()))
        guesses = [
            Guess(names[word], probability)
            for word, probability in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]
        return Answer(
            question=text,
            answer=guesses[0].word,
            probability=guesses[0].probability,
            alternatives=tuple(guesses[1:]),
            attention=_floats(reading.attention[0]),
            unknown=unknown,
        )

    def slots(self, words: int = 3) -> list[SlotContent]:
        """What each slot holds: the words whose rows of R are nearest to φ(H h_j)."""
        near = nearest_words(self.model, self.state, words)[0]
        follows = followed_words(self.model, self.state, words)
        return [
            SlotContent(slot, key, tuple(follows[slot]), tuple(near[slot]))
            for slot, key in enumerate(self.key_words or [None] * self.model.config.slots)
        ]

    # The state as a value.

    def reset(self) -> None:
        """Forget everything: slots go back to their keys."""
        with torch.inference_mode():
            self.state = self.model.initial_state(self._story_keys)
        self.sentences_read = 0

    def fork(self) -> Tracker:
        """A second tracker that goes on from here, for a what-if. Cheap: states are values."""
        twin = Tracker(self.model, self.key_words or None, self.strict)
        twin.state, twin.sentences_read = self.state, self.sentences_read
        return twin

    def snapshot(self) -> bytes:
        """The memory as bytes (safetensors, no code), to be restored with the same network."""
        about = {
            "format": SNAPSHOT_FORMAT,
            "version": str(SNAPSHOT_VERSION),
            "network": fingerprint(self.model),
            "sentences_read": str(self.sentences_read),
            "keys": json.dumps(self.key_words),
        }
        return save({"memory": self.state.memory[0].contiguous()}, about)

    def restore(self, snapshot: bytes) -> None:
        """Go back to a snapshot; bytes that are not one of this network's change nothing."""
        about, memory = _open_snapshot(snapshot)
        if about["network"] != fingerprint(self.model):
            raise SnapshotError("the snapshot was taken with another network")
        if about["keys"] != json.dumps(self.key_words):
            raise SnapshotError("the snapshot was taken with other key words")
        shape = (self.model.config.slots, self.model.config.width)
        if tuple(memory.shape) != shape or memory.dtype != self.state.memory.dtype:
            raise SnapshotError(
                f"the snapshot's memory is {tuple(memory.shape)} {memory.dtype}, not {shape} "
                f"{self.state.memory.dtype}"
            )
        if not bool(memory.isfinite().all()):
            raise SnapshotError("the snapshot's memory holds values that are not numbers")
        self.state = self.state._replace(memory=memory.unsqueeze(0))
        self.sentences_read = int(about["sentences_read"])

    def _possible_answers(self) -> int:
        config = self.model.config
        if config.output == "slots":
            return config.slots
        return len(config.answer_words) or len(self.model.vocab) - 1

    def _encode(self, text: str) -> tuple[str, Tensor, tuple[str, ...]]:
        """A sentence or question as (1, L) word numbers, with the words that have none."""
        return encode_text(self.model, text, self.strict)


def load_entity_network(source: Path | str) -> EntNet:
    """The entity network in a directory, or one that comes with the package."""
    model = StoryModel.from_pretrained(source)
    if not isinstance(model, EntNet):
        raise EntNetError(
            f"{source}: a {model.config.kind} network, which has no slots to look into"
        )
    return model


def encode_text(
    model: EntNet, text: str, strict: bool = False
) -> tuple[str, Tensor, tuple[str, ...]]:
    """A sentence as the network reads it: its text in one line, (1, L) words, and unknown ones."""
    text = " ".join(text.split())
    tokens = tokenise(text, model.config.lowercase)
    if not tokens:
        raise TextError("nothing to read: a sentence or question needs at least one word")
    longest = model.config.sentence_length
    if len(tokens) > longest and model.config.encoder != "bow":
        raise TextError(
            f"{len(tokens)} words are too many for this network, which reads sentences of up to "
            f"{longest}: {_shortened(text)!r}"
        )
    unknown = tuple(model.vocab.unknown(tokens))
    if unknown and strict:
        raise TextError(f"words never seen in training: {', '.join(unknown)}")
    numbers = model.vocab.encode(tokens)
    numbers += [0] * (longest - len(numbers))
    return text, torch.tensor([numbers]), unknown


@torch.inference_mode()
def nearest_words(model: EntNet, state: MemoryState, count: int) -> list[list[list[NearWord]]]:
    """For every memory (S) and slot (m): the ``count`` words nearest to what the slot says."""
    return [_top_words(model, similarity, count) for similarity in model.slot_words(state)]


@torch.inference_mode()
def followed_words(model: EntNet, state: MemoryState, count: int) -> list[list[NearWord]]:
    """For every slot: the words whose embeddings are nearest to its key, by cosine similarity."""
    keys = state.keys[0] if state.keys.dim() == 3 else state.keys
    normal = torch.nn.functional.normalize
    return _top_words(model, normal(keys, dim=-1) @ normal(model.embedding, dim=-1).T, count)


def _top_words(model: EntNet, similarity: Tensor, count: int) -> list[list[NearWord]]:
    """Of similarities (m, |V|), the best words of every slot; the null word is not one of them."""
    best = similarity[:, 1:].topk(min(count, len(model.vocab) - 1), dim=-1)
    words = model.vocab.words
    return [
        [NearWord(words[i + 1], value) for i, value in zip(ids, values, strict=True)]
        for ids, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def fingerprint(model: EntNet) -> str:
    """A short name for exactly these weights, words and settings."""
    digest = hashlib.sha256(json.dumps(model.config.to_dict(), sort_keys=True).encode())
    digest.update(model.vocab.to_json().encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]


def _key_words(model: EntNet, given: Sequence[str] | None) -> tuple[str, ...]:
    config = model.config
    if config.keys != "story":
        if given is not None and tuple(given) != config.key_words:
            raise EntNetError("this network has keys of its own; it takes none from the story")
        return config.key_words
    if given is None or len(given) != config.slots:
        count = "none" if given is None else str(len(given))
        raise EntNetError(
            f"this network takes its keys from the story: {config.slots} words, and {count} came"
        )
    return tuple(given)


def _open_snapshot(snapshot: bytes) -> tuple[dict[str, str], Tensor]:
    try:
        tensors = load(snapshot)
        header = json.loads(snapshot[8 : 8 + int.from_bytes(snapshot[:8], "little")])
    except (SafetensorError, ValueError) as error:
        raise SnapshotError("not a snapshot, or one that was cut short") from error
    about = header.get("__metadata__") or {}
    if about.get("format") != SNAPSHOT_FORMAT or "memory" not in tensors:
        raise SnapshotError("not a snapshot of a tracker")
    if about.get("version") != str(SNAPSHOT_VERSION):
        raise SnapshotError(
            f"a snapshot of version {about.get('version')}; this version of entnet reads "
            f"{SNAPSHOT_VERSION}"
        )
    count = about.get("sentences_read", "")
    if not (count.isascii() and count.isdigit() and len(count) < 16) or not (
        {"network", "keys"} <= about.keys()
    ):
        raise SnapshotError("a snapshot that lacks what it must say about itself")
    return about, tensors["memory"]


def _floats(row: Tensor) -> tuple[float, ...]:
    return tuple(row.tolist())


def _shortened(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
