"""What a tracker says: of a sentence read, of a question asked, of slots; and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from entnet.binding import Bound, Unbound
from entnet.errors import EntNetError


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
    """Words never seen in training, which were read as nothing; before a clause of a sentence that was too
    long to be read whole, those that are in no clause."""
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
