"""A tracker as bytes: safetensors, which holds no code, with a header that says whose memory it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple
from weakref import WeakKeyDictionary

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from entnet.config.model import CONTEXT_PLACES, CONTEXT_THINGS
from entnet.data.context import Held
from entnet.models.base import StoryModel, context_of
from entnet.models.compiled import weights_of
from entnet.models.entnet import EntNet
from entnet.models.memory import MemoryState
from entnet.models.named import newly_named
from entnet.models.stream_reader import Position
from entnet.text import tokenise
from entnet.tracker.said import SnapshotError

SNAPSHOT_FORMAT = "entnet-tracker"
SNAPSHOT_VERSION = 1
"""Raised when snapshots change form; those of another version are refused by name."""


class Kept(NamedTuple):
    """What a snapshot holds."""

    memory: Tensor
    named: tuple[int, ...]
    """Words that slots stand for, where a story names its own."""
    context: Held
    """What is kept to be read beside later sentences."""
    key_words: tuple[str, ...]
    sentences_read: int
    position: Position
    members: Mapping[str, str]
    """What each name of the story stands for."""
    about: str
    """The member that she or he now stands for."""


def to_bytes(model: StoryModel, kept: Kept) -> bytes:
    about = {
        "format": SNAPSHOT_FORMAT,
        "version": str(SNAPSHOT_VERSION),
        "network": fingerprint(model),
        "sentences_read": str(kept.sentences_read),
        "keys": json.dumps(kept.key_words),
        "position": json.dumps(asdict(kept.position)),
        "names": json.dumps(dict(kept.members)),
        "about": kept.about,
        "named": json.dumps(kept.named),
        "context": json.dumps(
            [kept.context.about, [*kept.context.told.items()], [*kept.context.handled.items()]]
        ),
    }
    return save({"memory": kept.memory.cpu().contiguous()}, about)


def from_bytes(model: StoryModel, key_words: Sequence[str], snapshot: bytes) -> Kept:
    """What a snapshot holds that was taken with this network and these key words.

    Nothing of it is believed: the memory still has to be looked at with ``check_memory``.
    """
    about, memory = _opened(snapshot)
    if about["network"] != fingerprint(model):
        raise SnapshotError("the snapshot was taken with another network")
    if about["keys"] != json.dumps(tuple(key_words)):
        raise SnapshotError("the snapshot was taken with other key words")
    members, named = _names(model, about)
    context = _context(model, about.get("context", "[[], [], []]"))
    position = _position(about.get("position", "{}"))
    read, pronoun = int(about["sentences_read"]), about.get("about", "")
    if pronoun and pronoun not in members.values():
        raise SnapshotError("a snapshot that says wrongly whom she or he stands for")
    return Kept(memory, named, context, tuple(key_words), read, position, members, pronoun)


def check_memory(model: StoryModel, kept: Tensor, now: MemoryState, keys: Tensor) -> None:
    """A memory from outside must be one that this network could have, with these keys."""
    dtype, shape = now.memory.dtype, tuple(now.memory.shape[1:])
    if getattr(model.config, "keys", "") == "named":
        shape = tuple(keys.shape[1:])
    elif not model.slot_count:
        shape = (len(kept), model.config.sentence_length)
    if tuple(kept.shape) != shape or kept.dtype != dtype:
        raise SnapshotError(
            f"the snapshot's memory is {tuple(kept.shape)} {kept.dtype}, not {shape} {dtype}"
        )
    if not bool((kept.abs() <= _largest_value(model, keys)).all()):
        raise SnapshotError(
            "the snapshot's memory holds values that this network cannot have written"
        )


def _largest_value(model: StoryModel, keys: Tensor) -> float:
    """A bound on what a slot can hold: it is scaled to length 1, or else kept far from overflow."""
    if not isinstance(model, EntNet) or not model.slot_count:
        return len(model.vocab) - 1
    if not model.config.normalise:
        return 1e6
    return 1.001 * max(1.0, float(keys.detach().abs().max()) if keys.numel() else 1.0)


def _opened(snapshot: bytes) -> tuple[dict[str, str], Tensor]:
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


def _names(model: StoryModel, about: Mapping[str, str]) -> tuple[dict[str, str], tuple[int, ...]]:
    """What a snapshot says of names: what each stands for, and the words that slots stand for."""
    try:
        members = json.loads(about.get("names", "{}"))
        named = tuple(json.loads(about.get("named", "[]")))
        right = all(isinstance(member, str) for member in members.values())
        # A name is what a text can have: one word, of whole characters.
        right &= all(tokenise(name, lowercase=False) == [name] for name in members)
        right &= all(name.encode() for name in members)
        right &= len(set(members.values())) == len(members)
        right &= all(isinstance(word, int) and 0 < word < len(model.vocab) for word in named)
        right &= not named or named == _whole(model, named)
    except (ValueError, AttributeError, TypeError, RecursionError):
        right = False
    if not right:
        raise SnapshotError("a snapshot whose names cannot be read")
    return members, named


def _whole(model: StoryModel, named: Sequence[int]) -> tuple[int, ...]:
    """The slots that a story gets which names these words in this order."""
    entities, most = getattr(model, "entities", {}), model.slot_count
    return tuple(newly_named(named, (), entities, most))


def _context(model: StoryModel, text: str) -> Held:
    """What is kept to be read beside later sentences: people, and what was told of each."""
    context = context_of(model.config, model.vocab)
    try:
        about, told, handled = (*json.loads(text), [])[:3]
        held = Held(
            tuple(about),
            {who: tuple(tuple(one) for one in kept) for who, kept in told},
            {who: tuple((what, tuple(one)) for what, one in kept) for who, kept in handled},
        )
        sentences = [one for kept in held.told.values() for one in kept]
        sentences += [one for kept in held.handled.values() for _, one in kept]
        things = {what for kept in held.handled.values() for what, _ in kept}
        words = [word for one in sentences for word in one]
        right = all(type(word) is int and 0 <= word < len(model.vocab) for word in words)
        right &= all(len(kept) <= CONTEXT_PLACES for kept in held.told.values())
        right &= all(len(kept) <= max(CONTEXT_THINGS) for kept in held.handled.values())
        if context is None:
            right &= held == Held()
        else:
            right &= context.people.issuperset((*held.about, *held.told, *held.handled))
            right &= context.things.issuperset(things)
            right &= all(len(one) <= context.length for one in sentences)
    except (ValueError, TypeError, RecursionError):
        right = False
    if not right:
        raise SnapshotError("a snapshot whose context cannot be read")
    return held


def _position(text: str) -> Position:
    """How far a text had been read; snapshots from before there were such texts do not say."""
    try:
        return Position(**{name: int(value) for name, value in json.loads(text).items()})
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise SnapshotError("a snapshot that says wrongly how far it has read") from error


def fingerprint(model: StoryModel) -> str:
    """A short name for exactly these weights, words and settings."""
    weights = weights_of(model)
    known = _fingerprints.get(model)
    if weights is not None and known is not None and known[0] == weights:
        return known[1]
    found = _computed_fingerprint(model)
    if weights is not None:
        _fingerprints[model] = weights, found
    return found


_fingerprints: WeakKeyDictionary[StoryModel, tuple[list[tuple[int, int]], str]] = (
    WeakKeyDictionary()
)


def _computed_fingerprint(model: StoryModel) -> str:
    digest = hashlib.sha256(json.dumps(model.config.to_dict(), sort_keys=True).encode())
    digest.update(model.vocab.to_json().encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]
