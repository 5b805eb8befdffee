"""Reading and asking, sentence by sentence.

    tracker = Tracker.from_pretrained("babi-joint")
    tracker.read("Mary got the milk. Mary went to the garden.")
    tracker.ask("Where is the milk?").answer

A tracker is a network and one memory: of constant size, or, of a network without slots, the sentences read
so far. Any number of trackers share a network:
reading never changes it, so each may run in a thread of its own. One tracker is for one thread at a
time.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, Self
from weakref import WeakKeyDictionary

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from entnet.binding import Bound, Names, Read, Unbound
from entnet.data.plain import split_sentences
from entnet.data.running import MOST_WORDS, running_pieces
from entnet.errors import EntNetError
from entnet.models.base import StoryModel
from entnet.models.card import Manner, read_manner
from entnet.models.compiled import stream_for, weights_of
from entnet.models.entnet import EntNet
from entnet.models.memory import MemoryState
from entnet.models.stream_reader import Needle, Position, StreamReader, Watch, joined
from entnet.ops.streaming import Stream
from entnet.text import tokenise

UNKNOWN = "unknown"
"""The answer to what a story does not tell."""
LIKELY_WRONG = "the network is not sure enough"

SNAPSHOT_FORMAT = "entnet-tracker"
SNAPSHOT_VERSION = 1
"""Raised when snapshots change form; those of another version are refused by name."""


class TextError(EntNetError):
    """Text that this network cannot read: empty, too long, or (by choice) with unknown words."""


class SnapshotError(EntNetError):
    """Bytes that are not a snapshot of a tracker of this network."""


class NoSlotsError(EntNetError):
    """A look into slots that a network has not."""


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
    bound: tuple[Bound, ...] = ()
    """New words that this sentence bound to words of the network: Alice, a person, is read as Mary."""
    unbound: tuple[Unbound, ...] = ()
    """Of the unknown words, those that look like names but could not be bound, and why."""

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
    why_unknown: str | None = None
    """Why the story does not tell the answer, where that is so. ``answer`` is then "unknown", and the best
    guess the first of the alternatives."""

    @property
    def known(self) -> bool:
        """Whether the story tells the answer, as far as the network knows."""
        return self.why_unknown is None


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
    position: Position
    """How far a stream of text has been read."""
    names: Names | None
    """Who and what the story has named; None where new words are not bound."""

    def __init__(
        self,
        model: StoryModel,
        keys: Sequence[str] | None = None,
        strict: bool = False,
        manner: Manner | None = None,
    ) -> None:
        """``keys``: the words that slots or candidates stand for, where they come with the story.

        With ``strict``, words never seen in training are refused, not named and read as nothing. A network
        without slots keeps the sentences, and reads them again when it is asked; it shows no slots.
        ``manner``, from a network's card, says which new words may be bound, and how sure it really is.
        """
        self.model = model.eval()
        self.strict = strict
        self.manner = manner or Manner()
        self._keys = _key_words(model, keys)
        self._story_keys = (
            torch.tensor([model.vocab.encode(self._keys)]) if model.keys_per_story else None
        )
        self.reset()

    @classmethod
    def from_pretrained(cls, source: Path | str, strict: bool = False, bind: bool = True) -> Self:
        """A tracker of its own network, from a directory or by name (see ``entnet models``).

        Without ``bind``, and with ``strict``, new words are not bound to known ones.
        """
        manner = read_manner(source)
        if strict or not bind:
            manner = manner._replace(places=None)
        return cls(StoryModel.from_pretrained(source), strict=strict, manner=manner)

    @property
    def key_words(self) -> tuple[str, ...]:
        """The words that slots stand for, as the story says them; empty where keys are free."""
        if self._names_slots:
            words = self.model.vocab.words
            return tuple(self._told(words[number]) for number in self.state.named)
        return tuple(map(self._told, self._keys))

    # Reading and asking.

    def read(self, text: str) -> list[SentenceRead]:
        """Read a text, sentence by sentence, and say what each did. Reads all of it or nothing."""
        if not self.model.vocab.reads_running_text:
            return self.read_sentences(split_sentences(text))
        pieces = running_pieces(text, self.model.config.sentence_length)
        return self.read_sentences([text[piece.start : piece.end] for piece in pieces])

    def read_sentences(self, sentences: Sequence[str]) -> list[SentenceRead]:
        """The same for text that is cut into sentences already."""
        encoded: list[tuple[str, list[int], tuple[str, ...], Read | None]] = []
        names = self.names
        for sentence in sentences:
            text, tokens = words_of(self.model, sentence)
            read = names.read(tokens, self.model.vocab.index) if names is not None else None
            if read is not None:
                names, tokens = read.names, read.words
            encoded.append((text, *encode_words(self.model, tokens, self.strict), read))
        stream = stream_for(self.model)
        done: list[SentenceRead] = []
        for text, words, unknown, read in encoded:
            before = self.state.memory
            gates = self._step(words, stream)
            moved = self._moved(before)
            bound, unbound = (read.new, read.unbound) if read else ((), ())
            done.append(SentenceRead(text, tuple(gates), tuple(moved), unknown, bound, unbound))
        self.names = names
        self.sentences_read += len(done)
        return done

    def read_stream(
        self, lines: Iterable[str | bytes], watch: Watch | None = None
    ) -> Iterator[Needle]:
        """Read running text of any length, such as an open file, and give the sentences that opened a gate.

        For networks that read such text (``long``). The tracker's memory follows, block by block, as
        the sentences found are taken from the iterator; ``watch`` is told how far it has come. It can
        be kept with ``snapshot``.
        """
        reader = StreamReader(_with_slots(self.model), self.state, self.position)

        def follow(position: Position) -> None:
            self.sentences_read += position.sentences - self.position.sentences
            self.state = self.state._replace(memory=reader.memory.unsqueeze(0))
            self.position = position
            if watch is not None:
                watch(position)

        yield from reader.read(joined(lines), follow)

    def ask(self, question: str, alternatives: int = 4) -> Answer:
        """Answer from the memory as it is now; asking changes nothing."""
        text, tokens = words_of(self.model, question)
        why: str | None = self._why_unknown(tokens)
        read = tokens if self.names is None else self.names.in_members(tokens)
        words, unknown = encode_words(self.model, read, self.strict)
        names, first = self.model.vocab.words, 1  # the null word is no answer
        if self.model.answers == "candidates":
            names, first = self._keys, 0
        scores, attention = self._scores(words)
        possible = int((scores[first:] > -torch.inf).sum())
        best = (
            (scores / self.manner.temperature)
            .softmax(-1)[first:]
            .topk(max(1, min(alternatives + 1, possible)))
        )
        probabilities, places = best.values.tolist(), best.indices.tolist()
        if not math.isfinite(probabilities[0]):
            raise EntNetError("the memory has grown past all numbers, so there is no answer")
        guesses = [
            Guess(self._told(names[first + place]), probability)
            for place, probability in zip(places, probabilities, strict=True)
        ]
        why = why or self._doubt(guesses[0])
        if why and guesses[0].word != UNKNOWN:
            guesses = [_not_known(guesses[0], why), *guesses]
        return Answer(
            question=text,
            answer=guesses[0].word,
            probability=guesses[0].probability,
            alternatives=tuple(guesses[1 : alternatives + 1]),
            attention=tuple(attention),
            unknown=unknown,
            why_unknown=why,
        )

    def _step(self, words: list[int], stream: Stream | None) -> list[float]:
        """Read one sentence into the memory; says how far the gates opened."""
        state = self.state
        if self._names_slots:
            state = _with_slots(self.model).with_slots_for(state, words)
        if stream is not None:
            memory, opened = stream.step_numbers(state.memory, state.keys, words)
            self.state = MemoryState(memory, state.keys, state.named)
            return opened
        with torch.inference_mode():
            self.state, gates = self.model.step(state, torch.tensor([words]))
        return _floats(gates[0])

    def _moved(self, before: Tensor) -> list[float]:
        """How far each slot moved; one that was just named, from its key."""
        if not self.model.slot_count:
            return []
        memory, keys = self.state.memory, self.state.keys
        if memory.shape[1] > before.shape[1]:
            before = torch.cat([before, keys[:, before.shape[1] :]], 1)
        return _floats(torch.linalg.vector_norm(memory - before, dim=-1)[0])

    def _scores(self, words: list[int]) -> tuple[Tensor, list[float]]:
        """Scores of the answers to a question, and the attention on slots."""
        stream = stream_for(self.model)
        if stream is not None:
            return stream.read_numbers(self.state.memory, words)
        with torch.inference_mode():
            reading = self.model.read(self.state, torch.tensor([words]))
        return reading.scores[0], _floats(reading.attention[0])

    def slots(self, words: int = 3) -> list[SlotContent]:
        """What each slot holds: the words whose rows of R are nearest to φ(H h_j). Empty without slots."""
        if not self.model.slot_count:
            return []
        near, follows = self.holds(words), self.follows(words)
        keys = self.key_words or [None] * len(near)
        return [SlotContent(slot, key, follows[slot], near[slot]) for slot, key in enumerate(keys)]

    def holds(self, words: int = 3) -> tuple[tuple[NearWord, ...], ...]:
        """For each slot, the words nearest to what it says."""
        return self.held_in(self.state.memory, words)[0]

    def held_in(self, memory: Tensor, words: int) -> list[tuple[tuple[NearWord, ...], ...]]:
        """The same for each of some memories (S, m, d)."""
        near = nearest_words(self.model, self.state._replace(memory=memory), words)
        return [self._told_rows(rows) for rows in near]

    def follows(self, words: int = 3) -> tuple[tuple[NearWord, ...], ...]:
        """For each slot, the words whose embeddings are nearest to its key."""
        return self._told_rows(followed_words(self.model, self.state, words))

    # The state as a value.

    def reset(self) -> None:
        """Forget everything that was read: slots go back to their keys."""
        with torch.inference_mode():
            self.state = self.model.initial_state(self._story_keys)
        self.names = Names(self.manner.places) if self.manner.places else None
        self.sentences_read = 0
        self.position = Position()

    def fork(self) -> Tracker:
        """A second tracker that goes on from here, for a what-if. Cheap: states are values."""
        given = self._keys if self.model.keys_per_story else None
        twin = Tracker(self.model, given, self.strict, self.manner)
        twin.state, twin.sentences_read, twin.names = self.state, self.sentences_read, self.names
        twin.position = self.position
        return twin

    def snapshot(self) -> bytes:
        """The memory as bytes (safetensors, no code), to be restored with the same network."""
        about = {
            "format": SNAPSHOT_FORMAT,
            "version": str(SNAPSHOT_VERSION),
            "network": fingerprint(self.model),
            "sentences_read": str(self.sentences_read),
            "keys": json.dumps(self._keys),
            "position": json.dumps(asdict(self.position)),
            "names": json.dumps(dict(self.names.members) if self.names else {}),
            "named": json.dumps(self.state.named),
        }
        return save({"memory": self.state.memory[0].contiguous()}, about)

    def restore(self, snapshot: bytes) -> None:
        """Go back to a snapshot; bytes that are not one of this network's change nothing."""
        about, memory = _open_snapshot(snapshot)
        if about["network"] != fingerprint(self.model):
            raise SnapshotError("the snapshot was taken with another network")
        if about["keys"] != json.dumps(self._keys):
            raise SnapshotError("the snapshot was taken with other key words")
        members, named = self._snapshot_names(about)
        position = _position(about.get("position", "{}"))
        keys = self.state.keys
        if self._names_slots:
            embedding = _with_slots(self.model).embedding.detach()
            keys = embedding[list(named)].unsqueeze(0)
        self._check_memory(memory, keys)
        self.state = MemoryState(memory.unsqueeze(0), keys, named)
        if self.manner.places:
            self.names = Names(self.manner.places, members)
        self.sentences_read = int(about["sentences_read"])
        self.position = position

    def _check_memory(self, memory: Tensor, keys: Tensor) -> None:
        """A memory from outside must be one that this network could have, with these keys."""
        shape: tuple[int, ...] = tuple(self.state.memory.shape[1:])
        if self._names_slots:
            shape = tuple(keys.shape[1:])
        elif not self.model.slot_count:
            shape = (len(memory), self.model.config.sentence_length)
        if tuple(memory.shape) != shape or memory.dtype != self.state.memory.dtype:
            raise SnapshotError(
                f"the snapshot's memory is {tuple(memory.shape)} {memory.dtype}, not {shape} "
                f"{self.state.memory.dtype}"
            )
        if not bool((memory.abs() <= self._largest_value(keys)).all()):
            raise SnapshotError(
                "the snapshot's memory holds values that this network cannot have written"
            )

    def _snapshot_names(self, about: dict[str, str]) -> tuple[dict[str, str], tuple[int, ...]]:
        """What a snapshot says of names: what each stands for, and the words that slots stand for."""
        try:
            members = json.loads(about.get("names", "{}"))
            named = tuple(json.loads(about.get("named", "[]")))
            right = all(isinstance(member, str) for member in members.values())
            right &= all(
                isinstance(word, int) and 0 < word < len(self.model.vocab) for word in named
            )
        except (ValueError, AttributeError, TypeError):
            right = False
        if not right:
            raise SnapshotError("a snapshot whose names cannot be read")
        if members and self.manner.places is None:
            raise SnapshotError("the snapshot has new names bound, which is off here")
        return members, named

    def _told(self, word: str) -> str:
        return word if self.names is None else self.names.told(word)

    def _told_rows(self, rows: list[list[NearWord]]) -> tuple[tuple[NearWord, ...], ...]:
        return tuple(
            tuple(NearWord(self._told(near.word), near.similarity) for near in row) for row in rows
        )

    def _why_unknown(self, question: Sequence[str]) -> str | None:
        """Why a question cannot be answered, as far as the words tell."""
        if self.sentences_read == 0:
            return "nothing was told yet"
        if self.names is None:
            return None
        return self.names.why_unknown(question, self.model.vocab.index)

    def _doubt(self, best: Guess) -> str | None:
        """Why the best guess is no answer, if it is none."""
        if best.word == UNKNOWN:
            return "the story does not tell"
        if best.probability < self.manner.least_probability:
            return LIKELY_WRONG
        return None

    def _largest_value(self, keys: Tensor) -> float:
        """A bound on what a slot can hold: it is scaled to length 1, or else kept far from overflow."""
        if not self.model.slot_count:
            return len(self.model.vocab) - 1
        if not _with_slots(self.model).config.normalise:
            return 1e6
        return 1.001 * max(1.0, float(keys.detach().abs().max()) if keys.numel() else 1.0)

    @property
    def _names_slots(self) -> bool:
        """Whether slots are named as the story goes."""
        return getattr(self.model.config, "keys", "") == "named"


def load_entity_network(source: Path | str) -> EntNet:
    """The entity network in a directory, or one that comes with the package."""
    try:
        return _with_slots(StoryModel.from_pretrained(source))
    except NoSlotsError as error:
        raise NoSlotsError(f"{source}: {error}") from error


def _with_slots(model: StoryModel) -> EntNet:
    if not isinstance(model, EntNet) or not model.slot_count:
        raise NoSlotsError(f"a {model.config.kind} network, which has no slots to look into")
    return model


def words_of(model: StoryModel, text: str) -> tuple[str, list[str]]:
    """A sentence in one line, and its words."""
    text = " ".join(text.split())
    tokens = tokenise(text, model.config.lowercase)
    if model.vocab.reads_running_text:
        tokens = [word for piece in running_pieces(text, MOST_WORDS) for word in piece.words]
    if not tokens:
        raise TextError("nothing to read: a sentence or question needs at least one word")
    return text, tokens


def encode_words(
    model: StoryModel, tokens: Sequence[str], strict: bool = False
) -> tuple[list[int], tuple[str, ...]]:
    """Words as L numbers, and those that have none.

    A sentence that is longer than those of training is read without its unknown words, which say nothing.
    """
    numbers = model.vocab.encode(tokens)
    unknown: tuple[str, ...] = ()
    if model.vocab.other in numbers:
        unknown = tuple(model.vocab.unknown(word for word in tokens if word))
    if unknown and strict:
        raise TextError(f"words never seen in training: {', '.join(unknown)}")
    longest = model.config.sentence_length
    if len(numbers) > longest and not model.reads_any_length:
        numbers = [number for number in numbers if number]
        if len(numbers) > longest:
            raise TextError(
                f"{len(numbers)} words are too many for this network, which reads sentences of up to "
                f"{longest}: {_shortened(' '.join(tokens))!r}"
            )
    numbers += [0] * (longest - len(numbers))
    return numbers, unknown


def _not_known(guess: Guess, why: str) -> Guess:
    """That the answer is not known: as sure as the guess is unlikely, or certain from the words alone."""
    return Guess(UNKNOWN, 1 - guess.probability if why == LIKELY_WRONG else 1.0)


@torch.inference_mode()
def nearest_words(model: StoryModel, state: MemoryState, count: int) -> list[list[list[NearWord]]]:
    """For every memory (S) and slot (m): the ``count`` words nearest to what the slot says."""
    similarities = _with_slots(model).slot_words(state)
    return [_top_words(model, similarity, count) for similarity in similarities]


@torch.inference_mode()
def followed_words(model: StoryModel, state: MemoryState, count: int) -> list[list[NearWord]]:
    """For every slot: the words whose embeddings are nearest to its key, by cosine similarity."""
    keys = state.keys[0] if state.keys.dim() == 3 else state.keys
    normal = torch.nn.functional.normalize
    return _top_words(
        model, normal(keys, dim=-1) @ normal(_with_slots(model).embedding, dim=-1).T, count
    )


def _top_words(model: StoryModel, similarity: Tensor, count: int) -> list[list[NearWord]]:
    """Of similarities (m, |V|), the best words of every slot; the null word is not one of them."""
    best = similarity[:, 1:].topk(min(count, len(model.vocab) - 1), dim=-1)
    words = model.vocab.words
    return [
        [NearWord(words[i + 1], value) for i, value in zip(ids, values, strict=True)]
        for ids, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


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


def _key_words(model: StoryModel, given: Sequence[str] | None) -> tuple[str, ...]:
    wanted = model.keys_per_story
    if not wanted:
        own: tuple[str, ...] = getattr(model.config, "key_words", ())
        if given is not None and tuple(given) != own:
            raise EntNetError("this network has keys of its own; it takes none from the story")
        return () if getattr(model.config, "keys", "") == "named" else own
    if given is None or len(given) != wanted:
        count = "none" if given is None else str(len(given))
        raise EntNetError(
            f"this network takes its keys from the story: {wanted} words, and {count} came"
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


def _position(text: str) -> Position:
    """How far a text had been read; snapshots from before there were such texts do not say."""
    try:
        return Position(**{name: int(value) for name, value in json.loads(text).items()})
    except (TypeError, ValueError, AttributeError) as error:
        raise SnapshotError("a snapshot that says wrongly how far it has read") from error


def _floats(row: Tensor) -> list[float]:
    values: list[float] = row.tolist()
    return values


def _shortened(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
