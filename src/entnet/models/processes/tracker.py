"""Ours: gated slots that read, in both directions, what each sentence says about their participant.

A bidirectional GRU reads the words. What a sentence says about a participant is gathered where it is
mentioned, and by attention that knows how far each word is from there; besides, what it says about the
others. The slot of each participant is an entity network's: (2) to (5) with the participant as its key,
once from the first sentence to the last and once back. Places are scored by what stands around their names.
Nothing depends on the order of participants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from entnet.data.propara.encode import (
    DISTANCES,
    ENDINGS,
    FAMILIARITIES,
    PREPOSITIONS,
    RECENCIES,
    RELATIONS,
    TAGS,
    ProcessBatch,
)
from entnet.models.base import register
from entnet.models.processes.base import (
    ProcessConfig,
    ProcessModel,
    ProcessScores,
    mean_embedding,
    padded_place,
)
from entnet.ops import memory_scan
from entnet.ops.reference import ScanParameters
from entnet.text import Vocab


@dataclass(frozen=True)
class TrackerConfig(ProcessConfig):
    """The defaults are what was chosen on development."""

    kind: ClassVar[str] = "process-tracker"

    width: int = 64
    embedding_width: int = 64
    chain: bool = True
    decode_place_weight: float = 0.1
    decode_caution: float = 1.0
    units: int = 64
    """Units of the GRU over words, in each direction."""
    words: Literal["gru", "alone"] = "gru"
    """Words are read in their sentence by a bidirectional GRU, or each alone."""
    both_ways: bool = True
    """Slots are read from the first sentence and from the last; else from the first alone."""
    others: bool = True
    """A slot hears what the sentence says about the other participants."""
    place_context: bool = True
    """Places are scored by what stands around their names; else by their names alone."""
    memory: Literal["slots", "gru"] = "slots"
    """What a participant's state is kept in: an entity network's slot, or a GRU."""

    @property
    def state_width(self) -> int:
        """Units of what events and places are read from: the states, and what the sentence says."""
        return (3 if self.both_ways else 2) * self.width


@register
class ProcessTracker(ProcessModel):
    """See the module."""

    config: TrackerConfig
    config_class = TrackerConfig

    def __init__(self, config: TrackerConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        d, read = config.width, 2 * config.units
        self.endings = nn.Embedding(len(ENDINGS) + 1, 8)
        spelled = config.embedding_width + 8
        self.words: nn.Module = (
            nn.GRU(spelled, config.units, batch_first=True, bidirectional=True)
            if config.words == "gru"
            else nn.Sequential(nn.Linear(spelled, read), nn.Tanh())
        )
        self.key = nn.Linear(config.embedding_width, d)
        self.distance = nn.Embedding(DISTANCES, d)
        self.near = nn.Linear(read, d)
        self.asked = nn.Linear(d, d)
        self.view = nn.Linear(2 * read + d, d)
        self.mention = nn.Embedding(16, d)
        if config.others:
            self.others = nn.Linear(d, d)
            self.join = nn.Linear(2 * d, d)
        if config.memory == "gru":
            self.steps = nn.GRU(d, d, batch_first=True, bidirectional=config.both_ways)
        else:
            self.forward_slot = SlotReader(d)
            if config.both_ways:
                self.backward_slot = SlotReader(d)
        self.event = nn.Sequential(
            nn.Linear(config.state_width, d),
            nn.Tanh(),
            nn.Dropout(config.dropout),
            nn.Linear(d, len(TAGS)),
        )
        self.place = PlaceScorer(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, batch: ProcessBatch) -> ProcessScores:  # type: ignore[override]
        read = self._read(batch)
        names = mean_embedding(batch.participant_words, self.embedding)
        keys = torch.tanh(self.key(self.dropout(names)))
        view = self._view(batch, read, keys)
        states = torch.cat((self._states(batch, view, keys), view), 1)
        events = self.event(self.dropout(states))
        places, first_places = self.place(batch, self.embedding, read, states)
        return ProcessScores(events, places, first_places)

    def _read(self, batch: ProcessBatch) -> Tensor:
        """(N, L, read) every word in its sentence."""
        e = torch.cat((self.read_words(batch.words), self.endings(batch.endings)), 2)
        e = self.dropout(e)
        if isinstance(self.words, nn.GRU):
            read = read_packed(self.words, e, (batch.words > 0).sum(1))
        else:
            read = self.words(e)
        return nn.functional.dropout(read, self.config.dropout, self.training)

    def _view(self, batch: ProcessBatch, read: Tensor, keys: Tensor) -> Tensor:
        """(Q, d) what each sentence says about each participant, and about the others."""
        row = batch.row_sentence
        own = keys.index_select(0, batch.row_participant)
        words = read.index_select(0, row)  # (Q, L, read)
        near = torch.tanh(self.near(read).index_select(0, row) + self.distance(batch.distances))
        fit = (near @ self.asked(own).unsqueeze(2)).squeeze(2)
        attention = fit.masked_fill(batch.words[row] == 0, -1e9).softmax(1)
        inside = batch.mentioned.float()
        inside = inside / inside.sum(1, keepdim=True).clamp_min(1)
        mention, about = (torch.stack((inside, attention), 1) @ words).unbind(1)
        gathered = torch.cat((mention, about, (attention.unsqueeze(1) @ near).squeeze(1)), 1)
        view = self.view(self.dropout(gathered)) + self.mention(mention_flags(batch)) + own
        view = torch.relu(view)
        if not self.config.others:
            return view
        others = mean_of_others(torch.relu(self.others(view)), row, batch.sentences)
        return torch.relu(self.join(self.dropout(torch.cat((view, others), 1))))

    def _states(self, batch: ProcessBatch, view: Tensor, keys: Tensor) -> Tensor:
        """Each participant's state after each sentence: read from the start, and from the end (Q, 2d)."""
        offsets = batch.participant_offsets
        if self.config.memory == "gru":
            place = padded_place(offsets)
            return read_packed(self.steps, view[place.clamp_min(0)], offsets.diff())[place >= 0]
        ahead: Tensor = self.forward_slot(view, keys, offsets)
        if not self.config.both_ways:
            return ahead
        back = reversed_rows(offsets)
        return torch.cat((ahead, self.backward_slot(view[back], keys, offsets)[back]), 1)


def read_packed(network: nn.GRU, x: Tensor, lengths: Tensor) -> Tensor:
    """Sequences of different lengths, padded (S, L, …), read by a recurrent network: (S, L, units)"""
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    out: Tensor
    out, _ = pad_packed_sequence(network(packed)[0], batch_first=True, total_length=x.shape[1])
    return out


def mean_of_others(rows: Tensor, sentence: Tensor, sentences: int) -> Tensor:
    """(Q, d) for each row the mean of the other rows of its sentence; 0 where it is alone."""
    total = rows.new_zeros((sentences, rows.shape[1])).index_add(0, sentence, rows)
    others = torch.bincount(sentence, minlength=sentences)[sentence] - 1
    return (total.index_select(0, sentence) - rows) / others.clamp_min(1).unsqueeze(1)


def mention_flags(batch: ProcessBatch) -> Tensor:
    """(Q) whether a participant is mentioned in the sentence, before, later, and if it is the first."""
    now = batch.mentioned.any(1).long()
    total = torch.nn.functional.pad(now.cumsum(0), (1, 0))
    start = total[batch.participant_offsets[:-1]][batch.row_participant]
    end = total[batch.participant_offsets[1:]][batch.row_participant]
    before = (total[:-1] - start) > 0
    later = (end - total[1:]) > 0
    step = torch.arange(batch.questions) - batch.participant_offsets[batch.row_participant]
    return now + 2 * before + 4 * later + 8 * (step == 0)


def reversed_rows(offsets: Tensor) -> Tensor:
    """(Q) rows so that each participant's stand last to first. Doing it twice changes nothing."""
    lengths = offsets.diff()
    owner = torch.repeat_interleave(lengths)
    return offsets[owner] + offsets[owner + 1] - 1 - torch.arange(int(offsets[-1]))


class SlotReader(nn.Module):
    """A slot per participant: (2) to (5) over the sentences as its participant sees them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.U = nn.Parameter(torch.eye(width) * 0.5 + torch.randn(width, width) * 0.05)
        self.V = nn.Parameter(torch.randn(width, width) * 0.1)
        self.W = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)
        self.slope = nn.Parameter(torch.ones(width))

    def forward(self, view: Tensor, keys: Tensor, offsets: Tensor) -> Tensor:
        """view (Q, d), keys (R, d), offsets (R + 1) → states (Q, d)"""
        keys = keys.unsqueeze(1)
        parameters = ScanParameters(self.U, keys @ self.V.T, self.slope, None, True, 0.0)
        states = memory_scan(
            self.W(view), self.gate(view), keys, parameters, offsets, torch.arange(len(view))
        )
        return states.squeeze(1)


class PlaceScorer(nn.Module):
    """How well each candidate fits as the place of a participant after a sentence."""

    def __init__(self, config: TrackerConfig) -> None:
        super().__init__()
        d, read = config.width, 2 * config.units
        self.context = config.place_context
        self.query = nn.Linear(config.state_width, d)
        self.first_query = nn.Linear(config.state_width, d)
        if self.context:
            self.around = nn.Linear(read, d, bias=False)
        self.name = nn.Linear(config.embedding_width, d, bias=False)
        if self.context:
            self.preposition = nn.Embedding(len(PREPOSITIONS) + 1, d)
            self.recency = nn.Embedding(RECENCIES, d)
            self.familiarity = nn.Embedding(FAMILIARITIES + 1, d)
            self.relation = nn.Embedding(DISTANCES * RELATIONS, d)
        self.unknown = nn.Parameter(torch.zeros(d))
        self.score = nn.Parameter(torch.randn(d) / d**0.5)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, batch: ProcessBatch, embedding: Tensor, read: Tensor, states: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Scores (Q, C) and (R, C) from the states of the Q rows."""
        candidate = self._candidates(batch, embedding, read)
        first = batch.participant_offsets[:-1]
        query = torch.cat(
            (self.query(self.dropout(states)), self.first_query(self.dropout(states[first])))
        )
        rows = torch.cat((torch.arange(batch.questions), first))
        sentence = batch.row_sentence[rows]
        mixed = candidate.index_select(0, sentence)
        if self.context:
            mixed = mixed + self.relation(batch.relation[rows])
        mixed = torch.tanh(mixed + query.unsqueeze(1))
        # One mask for all candidates of a row: they are compared on the same units.
        scores = (mixed @ self.dropout(self.score.expand_as(query)).unsqueeze(2)).squeeze(2)
        story = batch.participant_story[batch.row_participant[rows]]
        scores = scores.masked_fill(~batch.candidates[story], -1e9)
        return scores[: batch.questions], scores[batch.questions :]

    def _candidates(self, batch: ProcessBatch, embedding: Tensor, read: Tensor) -> Tensor:
        """(N, C, d) each candidate as it stands in each sentence."""
        story = torch.repeat_interleave(batch.story_offsets.diff())
        name = self.name(self.dropout(mean_embedding(batch.candidate_words, embedding)))
        if self.context:
            candidate = (
                self._around(batch, read)
                + (name + self.familiarity(batch.familiarity)).index_select(0, story)
                + self.preposition(batch.preposition)
                + self.recency(batch.recency)
            )
        else:
            candidate = name.index_select(0, story)
        unknown = torch.zeros_like(candidate[:, :1]) + self.unknown
        return torch.cat((unknown, candidate[:, 1:]), 1)

    def _around(self, batch: ProcessBatch, read: Tensor) -> Tensor:
        """(N, C, d) the words of each candidate as they are read in each sentence."""
        total = nn.functional.pad(self.around(read).cumsum(1), (0, 0, 1, 0))
        start, end = batch.span_start.clamp_min(0), batch.span_end.clamp_min(0)
        line = total.shape[1] * torch.arange(batch.sentences).unsqueeze(1)
        until, before = (
            total.flatten(0, 1).index_select(0, (line + at).flatten()).view(*at.shape, -1)
            for at in (end, start)
        )
        return (until - before) / (end - start).clamp_min(1).unsqueeze(2)
