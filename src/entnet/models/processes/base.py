"""What all networks on processes share: scores of events and places, their losses, predictions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from entnet.config import ModelConfig
from entnet.data.propara.encode import TAGS, Places, ProcessBatch, collate, encode
from entnet.data.propara.process import NOWHERE, Process, with_states
from entnet.data.propara.spans import LONGEST_SPAN
from entnet.data.propara.vectors import Vectors
from entnet.errors import EntNetError
from entnet.models.base import Answers, StoryModel
from entnet.models.processes.chain import EventChain, Floats, best_states, greedy_states
from entnet.models.state import MemoryState
from entnet.text import Vocab


@dataclass(frozen=True)
class ProcessConfig(ModelConfig):
    """What networks on processes have in common."""

    kind: ClassVar[str] = "process"

    width: int = 100
    """d: units of a slot."""
    embedding_width: int = 100
    """Units of a word's embedding."""
    dropout: float = 0.3
    """Share of units dropped in training."""
    word_dropout: float = 0.1
    """Share of words read as new ones in training."""
    place_weight: float = 1.0
    """Of the loss on places, beside that on events."""
    chain: bool = False
    """Events are scored as a chain in which some cannot follow others, or each by itself."""
    known_places: int = 0
    """Phrases that training has as places, or more than once."""
    decode_place_weight: float = 1.0
    """Of places beside events in the search for the best grid."""
    decode_caution: float = 0.0
    """Added to the scores of events in which nothing happens, when a grid is predicted."""

    def check(self) -> None:
        super().check()
        self.at_least(1, "width", "embedding_width")
        for name in ("dropout", "word_dropout"):
            value = getattr(self, name)
            self.require(0 <= value < 1, f"{name} is {value}, but must be in [0, 1)")


class ProcessScores(NamedTuple):
    """What a network makes of a batch, before any softmax."""

    events: Tensor
    """(Q, tags) what happens to a participant in a sentence."""
    places: Tensor
    """(Q, C) where it is then."""
    first_places: Tensor
    """(R, C) where it is before the first sentence."""


class ProcessModel(StoryModel):
    """Reads paragraphs; networks of this kind differ in how."""

    config: ProcessConfig
    config_class = ProcessConfig

    def __init__(self, config: ProcessConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        self.embedding = nn.Parameter(torch.randn(len(vocab), config.embedding_width) * 0.1)
        self.chain = EventChain() if config.chain else None
        self.register_buffer("place_table", torch.zeros(config.known_places, 2 + LONGEST_SPAN))
        self.after_update()

    @functools.cached_property
    def places(self) -> Places:
        """What training knows of places, which is kept with the weights."""
        return Places.from_table(self.get_buffer("place_table").long().numpy(), self.vocab)

    @property
    def answers(self) -> Answers:
        return "candidates"

    def initial_state(self, story_keys: Tensor | None = None) -> MemoryState:
        raise EntNetError(
            f"a {self.config.kind} network reads whole paragraphs with their participants, not sentence by "
            "sentence: see `entnet inspect`, or predict_processes in Python"
        )

    def after_update(self) -> None:
        """The null word fills up sentences and stays zero."""
        with torch.no_grad():
            self.embedding[0] = 0

    def forward(self, batch: ProcessBatch) -> ProcessScores:  # type: ignore[override]
        raise NotImplementedError

    def loss(self, batch: ProcessBatch) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """A loss for each participant (R), and the scores of events (Q, tags)."""
        scores = self(batch)
        events = self._event_loss(scores.events, batch)
        lost = _place_loss(scores.places, batch.places)
        by_participant = events.new_zeros(batch.participants).index_add(
            0, batch.row_participant, lost
        ) + _place_loss(scores.first_places, batch.first_places)
        return events + self.config.place_weight * by_participant, scores.events

    def _event_loss(self, events: Tensor, batch: ProcessBatch) -> Tensor:
        lengths = batch.participant_offsets.diff()
        if self.chain is None:
            lost = nn.functional.cross_entropy(events, batch.answers, reduction="none")
            return events.new_zeros(batch.participants).index_add(0, batch.row_participant, lost)
        place = padded_place(batch.participant_offsets)
        scores = events.new_zeros((*place.shape, len(TAGS)))
        inside = place >= 0
        scores[inside] = events[place[inside]]
        tags = torch.zeros_like(place)
        tags[inside] = batch.answers[place[inside]]
        return self.chain.loss(scores, tags, lengths)

    def read_words(self, words: Tensor) -> Tensor:
        """Embeddings (…, d); in training, words are now and then read as new ones."""
        if self.training and self.config.word_dropout > 0:
            drawn = torch.rand(words.shape, device=words.device) < self.config.word_dropout
            words = torch.where(drawn & (words > 0), 1, words)
        return nn.functional.embedding(words, self.embedding)

    def start_from(self, vectors: Vectors) -> None:
        """Begin with these embeddings; a stem has the mean of its words' vectors."""
        if vectors.width != self.config.embedding_width:
            raise EntNetError(
                f"the vectors have {vectors.width} numbers each, embedding_width is "
                f"{self.config.embedding_width}"
            )
        with torch.no_grad():
            for word, vector in vectors.by_stem().items():
                if word in self.vocab:
                    self.embedding[self.vocab.index[word]] = torch.from_numpy(vector)

    def predict_processes(self, processes: Sequence[Process]) -> list[Process]:
        """The same paragraphs with the states that this network predicts."""
        predicted: list[Process] = []
        for first in range(0, len(processes), 32):
            part = processes[first : first + 32]
            read = [encode(one, self.vocab, self.places) for one in part]
            states = iter(self.predict(collate(read)))
            for process, paragraph in zip(part, read, strict=True):
                rows = [
                    [paragraph.candidates[s] if s >= 0 else NOWHERE for s in next(states)]
                    for _ in process.participants
                ]
                predicted.append(with_states(process, rows))
        return predicted

    @torch.no_grad()
    def predict(self, batch: ProcessBatch) -> list[list[int]]:
        """For each participant its states: a candidate's number, or -1 for what does not exist."""
        self.eval()
        scores = self(batch)
        events = scores.events.log_softmax(1) if self.chain is None else scores.events
        events[:, :3] += self.config.decode_caution
        places = _log_softmax(scores.places).numpy()
        first_places = _log_softmax(scores.first_places).numpy()
        offsets = batch.participant_offsets.tolist()
        counts = batch.candidates.sum(1)[batch.participant_story].tolist()
        out = []
        for person, count in enumerate(counts):
            rows = slice(offsets[person], offsets[person + 1])
            out.append(
                self._best_grid(
                    events[rows].numpy(),
                    places[rows, :count],
                    first_places[person, :count],
                )
            )
        return out

    def _best_grid(self, events: Floats, places: Floats, first_place: Floats) -> list[int]:
        if self.chain is None:
            return greedy_states(events, places, first_place)
        weight = self.config.decode_place_weight
        transition, first = (table.numpy() for table in self.chain.scores())
        return best_states(events, transition, first, weight * places, weight * first_place)


def _place_loss(scores: Tensor, places: Tensor) -> Tensor:
    """Cross-entropy, and nothing where a place is not known."""
    known = places >= 0
    lost = scores.new_zeros(places.shape)
    lost[known] = nn.functional.cross_entropy(scores[known], places[known], reduction="none")
    return lost


def _log_softmax(scores: Tensor) -> Tensor:
    return scores.log_softmax(1)


def padded_place(offsets: Tensor) -> Tensor:
    """(R, T) the row of each participant's sentences; -1 beyond its last."""
    lengths = offsets.diff()
    step = torch.arange(int(lengths.max()), device=offsets.device)
    place = offsets[:-1].unsqueeze(1) + step
    return torch.where(step < lengths.unsqueeze(1), place, -1)


def mean_embedding(words: Tensor, embedding: Tensor) -> Tensor:
    """The mean of the words' embeddings, blanks left out: (…, W) → (…, d)"""
    total = nn.functional.embedding(words, embedding).sum(-2)
    return total / (words > 0).sum(-1, keepdim=True).clamp_min(1)
