"""The published comparison: a slot per participant, and everything read from it alone.

What happened in a sentence is read from the slot before and after it. Where the participant is: attention
of the slot over the candidates' names. EntNet, LSTM and QRN differ in what the slot is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from entnet.config import EntNetConfig
from entnet.data.propara.encode import TAGS, ProcessBatch
from entnet.models.base import register
from entnet.models.layers import position_encoding
from entnet.models.memory import Memory
from entnet.models.processes.base import (
    ProcessConfig,
    ProcessModel,
    ProcessScores,
    mean_embedding,
    padded_place,
)
from entnet.ops import memory_scan
from entnet.ops.reductions import reductions
from entnet.text import Vocab


@dataclass(frozen=True)
class SlotConfig(ProcessConfig):
    """Slots are as wide as the words' embeddings."""

    sentence_length: int = 40
    """L: words of a sentence that have a weight of their own; those beyond have the last one's."""

    def check(self) -> None:
        super().check()
        self.require(
            self.embedding_width == self.width, "slots are as wide as embeddings: set both alike"
        )


class SlotModel(ProcessModel):
    """Subclasses say what a slot holds."""

    def __init__(self, config: SlotConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        d = config.width
        self.dropout = nn.Dropout(config.dropout)
        self.event = nn.Sequential(
            nn.Linear(2 * d, d), nn.PReLU(d), self.dropout, nn.Linear(d, len(TAGS))
        )
        self.match = nn.Linear(d, config.embedding_width)
        self.unknown = nn.Parameter(torch.zeros(config.embedding_width))

    def slots(self, batch: ProcessBatch, keys: Tensor) -> tuple[Tensor, Tensor]:
        """(Q, d) the slots after each sentence, and (R, d) before the first."""
        raise NotImplementedError

    def forward(self, batch: ProcessBatch) -> ProcessScores:  # type: ignore[override]
        keys = self.dropout(mean_embedding(batch.participant_words, self.embedding))
        after, first = self.slots(batch, keys)
        before = after.roll(1, 0)
        before = before.index_copy(0, batch.participant_offsets[:-1], first)
        events = self.event(self.dropout(torch.cat((before, after), 1)))
        story = batch.participant_story
        return ProcessScores(
            events,
            self._places(after, story[batch.row_participant], batch),
            self._places(first, story, batch),
        )

    def _places(self, slots: Tensor, story: Tensor, batch: ProcessBatch) -> Tensor:
        """Attention of slots over the names of their paragraphs' candidates, before the softmax."""
        names = mean_embedding(batch.candidate_words, self.embedding)
        names = torch.cat((self.unknown.expand(len(names), 1, -1), names[:, 1:]), 1)[story]
        scores = (names @ self.match(self.dropout(slots)).unsqueeze(2)).squeeze(2)
        masked: Tensor = scores.masked_fill(~batch.candidates[story], -1e9)
        return masked


@dataclass(frozen=True)
class ProcessEntNetConfig(SlotConfig):
    """The general model of the paper with its keys tied to participants."""

    kind: ClassVar[str] = "process-entnet"


@register
class ProcessEntNet(SlotModel):
    """(1) to (5): masked sums of words, read into slots whose keys are the participants' names."""

    config: ProcessEntNetConfig
    config_class = ProcessEntNetConfig

    def __init__(self, config: ProcessEntNetConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        self.mask = nn.Parameter(torch.ones(config.sentence_length, config.embedding_width))
        self.memory = Memory(
            EntNetConfig(width=config.width, keys="story", gate_bias=False, bias_init="zero")
        )

    def slots(self, batch: ProcessBatch, keys: Tensor) -> tuple[Tensor, Tensor]:
        sentences = self.dropout(self._sentences(batch))
        number = torch.arange(batch.participants) - _first_of_story(batch)[batch.participant_story]
        laid = keys.new_zeros(
            (batch.story_offsets.numel() - 1, int(number.max()) + 1, keys.shape[1])
        )
        laid = laid.index_put((batch.participant_story, number), keys)
        states = memory_scan(
            self.memory.candidate_input(sentences),
            sentences,
            laid,
            self.memory.scan_parameters(laid),
            batch.story_offsets,
            torch.arange(batch.sentences),
        )
        return states[batch.row_sentence, number[batch.row_participant]], keys

    def _sentences(self, batch: ProcessBatch) -> Tensor:
        """(1): (N, d)"""
        e = self.read_words(batch.words)
        place = torch.arange(e.shape[1]).clamp_max(len(self.mask) - 1)
        return (e * self.mask[place]).sum(1)


def _first_of_story(batch: ProcessBatch) -> Tensor:
    """(B) the first participant of each paragraph."""
    counts = torch.bincount(batch.participant_story, minlength=batch.story_offsets.numel() - 1)
    return counts.cumsum(0) - counts


@dataclass(frozen=True)
class ProcessLSTMConfig(SlotConfig):
    """An LSTM over the words of the paragraph."""

    kind: ClassVar[str] = "process-lstm"


@register
class ProcessLSTM(SlotModel):
    """Reads the words one by one; a participant's slot is what its name makes of the state."""

    config: ProcessLSTMConfig
    config_class = ProcessLSTMConfig

    def __init__(self, config: ProcessLSTMConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        self.words = nn.LSTM(config.embedding_width, config.width, batch_first=True)
        self.ask = nn.Linear(config.width + config.embedding_width, config.width)

    def slots(self, batch: ProcessBatch, keys: Tensor) -> tuple[Tensor, Tensor]:
        state = self._sentences(batch)[batch.row_sentence]
        asked = keys[batch.row_participant]
        first = torch.cat((state.new_zeros((len(keys), self.config.width)), keys), 1)
        return torch.tanh(self.ask(torch.cat((state, asked), 1))), torch.tanh(self.ask(first))

    def _sentences(self, batch: ProcessBatch) -> Tensor:
        """(N, d) the state after each sentence's last word."""
        tokens = batch.words > 0
        ends = nn.functional.pad(tokens.sum(1).cumsum(0), (1, 0))
        word_offsets = ends[batch.story_offsets]
        place = padded_place(word_offsets)
        e = self.dropout(self.read_words(batch.words[tokens]))
        packed = pack_padded_sequence(
            e[place.clamp_min(0)], word_offsets.diff(), batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.words(packed)[0], batch_first=True)
        return states[place >= 0][ends[1:] - 1]


@dataclass(frozen=True)
class ProcessQRNConfig(SlotConfig):
    """A query-reduction network whose questions are the participants."""

    kind: ClassVar[str] = "process-qrn"

    layers: int = 2
    """Rounds of reduction."""
    update_bias: float = -2.5
    """Added to the update gate's argument: questions pass unchanged at first."""


@register
class ProcessQRN(SlotModel):
    """Each sentence reduces the question "where is it?"; a slot is the question as reduced so far."""

    config: ProcessQRNConfig
    config_class = ProcessQRNConfig

    def __init__(self, config: ProcessQRNConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        d = config.width
        self.reduce = nn.Linear(2 * d, d)
        self.gates = nn.Linear(d, 3)
        weights = position_encoding(config.sentence_length, config.embedding_width)
        self.register_buffer("weights", weights, persistent=False)

    def slots(self, batch: ProcessBatch, keys: Tensor) -> tuple[Tensor, Tensor]:
        lengths = batch.participant_offsets.diff()
        sentences = self.dropout(self._sentences(batch))
        m = sentences.index_select(0, batch.row_sentence)  # (M, d)
        u = keys.repeat_interleave(lengths, 0)
        for layer in range(self.config.layers):
            gates = self.gates(u * m).T
            argument = gates[0] + self.config.update_bias
            weights = argument.sigmoid().unsqueeze(0)
            if layer < self.config.layers - 1:
                weights = weights * gates[1:].sigmoid()
            u = reductions(
                self.reduce(torch.cat((u, m), 1)), weights, (-argument).sigmoid(), lengths
            )
        return u, torch.zeros_like(keys)

    def _sentences(self, batch: ProcessBatch) -> Tensor:
        """Σ_j l_j ⊙ e_j: (N, d)"""
        e = self.read_words(batch.words)
        place = torch.arange(e.shape[1]).clamp_max(self.config.sentence_length - 1)
        return (e * self.get_buffer("weights")[place]).sum(1)
