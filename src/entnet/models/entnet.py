"""The Recurrent Entity Network: encoder, memory and read-out put together."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from entnet.config import EntNetConfig
from entnet.data.story import RaggedBatch
from entnet.errors import EntNetError
from entnet.models.base import StoryModel, register
from entnet.models.compiled import stream_of
from entnet.models.encoder import Encoder, encode
from entnet.models.memory import Memory, MemoryState
from entnet.models.readout import Reading, Readout
from entnet.ops import memory_scan
from entnet.ops.reference import StepTrace, memory_step
from entnet.text import Vocab


@register
class EntNet(StoryModel):
    """Reads a story sentence by sentence into gated slots, and answers from them at any moment.

    A whole batch: ``scores = model(batch)``. In a stream:

        state = model.initial_state()
        state, gates = model.step(state, words)
        reading = model.read(state, question)
    """

    config: EntNetConfig
    config_class = EntNetConfig

    def __init__(self, config: EntNetConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        embedding = torch.randn(config.vocabulary, config.width) * config.embedding_scale
        self.embedding = nn.Parameter(embedding)
        self.encoder = Encoder(config)
        self.memory = Memory(config)
        self.readout = Readout(config)
        missing = vocab.unknown(config.key_words)
        if missing:
            raise EntNetError(
                f"keys are tied to words outside the vocabulary: {', '.join(missing)}"
            )
        self.register_buffer(
            "key_ids", torch.tensor(vocab.encode(config.key_words)), persistent=False
        )
        allowed = torch.full((config.vocabulary,), config.answer_set == "vocabulary")
        allowed[list(config.answer_words)] = True
        self.register_buffer("allowed", allowed, persistent=False)
        self.after_update()

    # A whole batch of stories.

    def forward(self, batch: RaggedBatch) -> Tensor:
        """Scores of every answer to every question of the batch: (Q, answers)"""
        return self.answer(batch).scores

    def answer(self, batch: RaggedBatch, alone: Tensor | None = None) -> Reading:
        """The same, with the attention over slots; ``alone`` as in ``Readout``."""
        keys = self.keys(batch.story_keys)
        sentences = encode(batch.words, self.embedding, self.encoder.mask_for_story())
        gate_input = self._gate_view(batch.words, sentences)
        question = encode(batch.question_words, self.embedding, self.encoder.mask_for_question())
        if self.training and self.config.dropout > 0:
            keep = self._kept_dimensions(batch)  # (S, d)
            lengths = batch.story_offsets.diff()
            sentences = sentences * keep.repeat_interleave(lengths, 0)
            gate_input = gate_input * keep.repeat_interleave(lengths, 0)
            question = question * keep[batch.question_story]
            if self.config.keys != "free":
                keys = keys * keep.unsqueeze(1)
        states = memory_scan(
            self.memory.candidate_input(sentences),
            gate_input,
            keys,
            self.memory.scan_parameters(keys),
            batch.story_offsets,
            batch.question_step,
            self._closed(batch.words),
        )
        return self._read(question, states, alone)

    # A stream: state goes in and comes out.

    def initial_state(self, story_keys: Tensor | None = None) -> MemoryState:
        """Slots at their keys: one memory, or as many as ``story_keys`` (S, m) has rows."""
        keys = self.keys(story_keys)
        return MemoryState(keys if keys.dim() == 3 else keys.unsqueeze(0), keys)

    def step(self, state: MemoryState, words: Tensor) -> tuple[MemoryState, Tensor]:
        """Read one sentence, words (S, L), into each memory; also says how far gates opened, (S, m)."""
        stream = stream_of(self, state.memory, words)
        if stream is not None:
            keys = state.keys[0] if state.keys.dim() == 3 else state.keys
            memory, gates = stream.step(state.memory[0], keys, words[0])
            return state._replace(memory=memory.unsqueeze(0)), gates.unsqueeze(0)
        sentences = encode(words, self.embedding, self.encoder.mask_for_story())
        trace: StepTrace = memory_step(
            state.memory,
            self.memory.candidate_input(sentences),
            self._gate_view(words, sentences),
            state.keys,
            self.memory.scan_parameters(state.keys),
            self._closed(words),
        )
        return state._replace(memory=trace.memory), trace.gate

    def read(self, state: MemoryState, question_words: Tensor) -> Reading:
        """Answer a question, words (S, L), from each memory."""
        stream = stream_of(self, state.memory, question_words)
        if stream is not None:
            scores, attention = stream.read(state.memory[0], question_words[0])
            return Reading(scores.unsqueeze(0), attention.unsqueeze(0))
        question = encode(question_words, self.embedding, self.encoder.mask_for_question())
        return self._read(question, state.memory)

    # What both share.

    def keys(self, story_keys: Tensor | None = None) -> Tensor:
        """w_j: (m, d), or (S, m, d) where they come with the stories."""
        if self.memory.keys is not None:
            return self.memory.keys
        if self.config.keys == "tied":
            return nn.functional.embedding(self.get_buffer("key_ids"), self.embedding)
        if story_keys is None:
            raise EntNetError("this network takes its keys from the stories, and none were given")
        return nn.functional.embedding(story_keys, self.embedding)

    def named_slots(self, words: Tensor) -> Tensor:
        """The slots tied to one of these words. words (Q, L) → (Q, m)"""
        return (words.unsqueeze(-1) == self.get_buffer("key_ids")).any(1)

    def slot_words(self, state: MemoryState) -> Tensor:
        """Cosine similarity of φ(H h_j) with every word's row of R: (S, m, |V|)"""
        rows = self.embedding if self.readout.R is None else self.readout.R
        said = self.readout.project(state.memory, self._shared_slope())
        return nn.functional.normalize(said, dim=-1) @ nn.functional.normalize(rows, dim=-1).T

    def after_update(self) -> None:
        """The null word stays zero: its embedding and, by option, its row of R."""
        with torch.no_grad():
            self.embedding[0] = 0
            if self.config.zero_null_output and self.readout.R is not None:
                self.readout.R[0] = 0

    def _read(self, question: Tensor, states: Tensor, alone: Tensor | None = None) -> Reading:
        reading: Reading = self.readout(question, states, self._shared_slope(), alone)
        if self.config.answer_set == "vocabulary" or self.config.output == "slots":
            return reading
        never = reading.scores.new_full((), -torch.inf)
        return reading._replace(scores=reading.scores.where(self.get_buffer("allowed"), never))

    def _shared_slope(self) -> Tensor | None:
        slope = self.memory.slope
        return None if slope is None else slope.expand(self.config.width)

    def _gate_view(self, words: Tensor, sentences: Tensor) -> Tensor:
        if self.encoder.gate_mask is None:
            return sentences
        return encode(words, self.embedding, self.encoder.gate_mask)

    def _closed(self, words: Tensor) -> Tensor | None:
        if not self.config.close_on_empty:
            return None
        empty = (words == 0).all(-1)
        return empty if bool(empty.any()) else None

    def _kept_dimensions(self, batch: RaggedBatch) -> Tensor:
        stories = batch.story_offsets.numel() - 1
        keep = 1 - self.config.dropout
        return torch.full((stories, self.config.width), keep).bernoulli().div(keep)
