"""The Recurrent Entity Network: encoder, memory and read-out put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from entnet.config import EntNetConfig, TrainConfig
from entnet.data.story import RaggedBatch
from entnet.errors import EntNetError
from entnet.models.base import Answers, StoryModel, context_of, register
from entnet.models.compiled import stream_of
from entnet.models.encoder import Encoder, encode
from entnet.models.layers import dropout_mask
from entnet.models.memory import Memory, MemoryState
from entnet.models.named import NamedSlots, name_slots, newly_named, ordinals_of
from entnet.models.own_code import is_own_method
from entnet.models.readout import Reading, Readout
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
    encoder_class: ClassVar[type[Encoder]] = Encoder
    memory_class: ClassVar[type[Memory]] = Memory
    readout_class: ClassVar[type[Readout]] = Readout

    def __init__(self, config: EntNetConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        embedding = torch.randn(config.vocabulary, config.width) * config.embedding_scale
        self.embedding = nn.Parameter(embedding)
        self.encoder = self.encoder_class(config)
        self.memory = self.memory_class(config)
        self.readout = self.readout_class(config)
        missing = vocab.unknown(config.key_words)
        if missing:
            raise EntNetError(
                f"keys are tied to words outside the vocabulary: {', '.join(missing)}"
            )
        self.register_buffer(
            "key_ids", torch.tensor(vocab.encode(config.key_words)), persistent=False
        )
        self.entities: dict[int, int] = {}
        """Words that get slots as a story names them, and how many."""
        if config.keys == "named":
            counts = config.key_slots or (1,) * len(config.key_words)
            self.entities = dict(zip(vocab.encode(config.key_words), counts, strict=True))
        self.context = context_of(config, vocab)
        """What is read beside each sentence; None for nothing."""
        allowed = torch.full((config.vocabulary,), config.answer_set == "vocabulary")
        allowed[list(config.answer_words)] = True
        self.register_buffer("allowed", allowed, persistent=False)
        self.slot_supervision = 0.0
        """Set by ``prepare_training``: the share of training questions answered by named slots alone."""
        self.gate_penalty = 0.0
        """Set by ``prepare_training``: the price of gates that open for sentences of no meaning."""
        self.end_penalty = 0.0
        """Set by ``prepare_training``: the price of memories that differ after stories which end alike."""
        self.after_update()

    @property
    def answers(self) -> Answers:
        return "candidates" if self.config.output == "slots" else "vocabulary"

    # A whole batch of stories.

    def forward(self, batch: RaggedBatch) -> Tensor:
        """Scores of every answer to every question of the batch: (Q, answers)"""
        return self.answer(batch).scores

    def loss(self, batch: RaggedBatch) -> tuple[Tensor, Tensor]:
        """Cross-entropy; by option, a share of questions is answered from the slots they name alone."""
        if self.gate_penalty > 0 and batch.quiet is not None:
            return self._penalised(batch, batch.quiet)
        if self.end_penalty > 0 and batch.same_ends is not None:
            return self._drawn_together(batch, batch.same_ends)
        if self.slot_supervision == 0:
            return super().loss(batch)
        drawn = torch.rand(batch.questions, 1, device=batch.words.device) < self.slot_supervision
        scores = self.answer(batch, drawn & self.named_slots(batch.question_words)).scores
        return nn.functional.cross_entropy(scores, batch.answers, reduction="none"), scores

    def _penalised(self, batch: RaggedBatch, quiet: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropy, and a share of the price of gates pressed open for quiet sentences."""
        pressures: list[tuple[Tensor, Tensor]] = []
        scores = self.answer(batch, pressures=pressures).scores
        learns = self.memory.gate_shape.learns if self.memory.gate_shape else 0.0
        prices = [
            (pressed.clamp_min(learns) * quiet[rows].unsqueeze(-1)).sum()
            for rows, pressed in pressures
        ]
        price = torch.stack(prices).sum()
        losses = nn.functional.cross_entropy(scores, batch.answers, reduction="none")
        # What is reported is the loss of the answers: the price adds nothing but its gradient.
        return losses + self.gate_penalty * (price - price.detach()) / batch.questions, scores

    def _drawn_together(self, batch: RaggedBatch, others: RaggedBatch) -> tuple[Tensor, Tensor]:
        """Cross-entropy, and a share of the price of memories that differ after stories which end alike."""
        ended: list[Tensor] = []
        scores = self.answer(batch, ended=ended).scores
        apart = ended[0] - self.ends(others)
        price = 0.5 * apart.square().sum()
        losses = nn.functional.cross_entropy(scores, batch.answers, reduction="none")
        return losses + self.end_penalty * (price - price.detach()) / batch.questions, scores

    @torch.no_grad()
    def ends(self, told: RaggedBatch) -> Tensor:
        """The memory after each of these stories: (S, m, d)"""
        sentences = encode(told.words, self.embedding, self.encoder.mask_for_story())
        gate_input = self._gate_view(told.words, sentences)
        last, closed = told.story_offsets[1:] - 1, self._closed(told.words)
        keys = self.keys(told.story_keys)
        return self.memory.scan(sentences, gate_input, keys, told.story_offsets, last, closed)

    def prepare_training(self, config: TrainConfig) -> None:
        self.gate_penalty = config.gate_penalty
        self.end_penalty = config.end_penalty
        if self.config.keys == "tied" and self.config.output == "words":
            self.slot_supervision = config.slot_supervision
        else:
            super().prepare_training(config)

    def answer(
        self,
        batch: RaggedBatch,
        alone: Tensor | None = None,
        pressures: list[tuple[Tensor, Tensor]] | None = None,
        ended: list[Tensor] | None = None,
    ) -> Reading:
        """The same, with the attention over slots; ``alone`` as in ``Readout``, ``pressures`` as in the
        scan. To ``ended`` goes the memory after each story: (S, m, d)"""
        named = self._named(batch)
        keys = self.keys(batch.story_keys) if named is None else self._keys_of(*named[:2])
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
        read_at = batch.question_step
        if ended is not None:
            read_at = torch.cat([read_at, batch.story_offsets[1:] - 1])
        states = self.memory.scan(
            sentences,
            gate_input,
            keys,
            batch.story_offsets,
            read_at,
            self._closed(batch.words),
            None if named is None else named.born,
            pressures,
            self.memory_noise(batch) if self.training else None,
        )
        if ended is not None:
            states, ends = states.tensor_split([batch.questions])
            ended.append(ends)
        return self._read(question, states, alone, None if named is None else named.absent(batch))

    # A stream: state goes in and comes out.

    @property
    def streams(self) -> bool:
        """Whether ``step`` and ``read`` stand for ``forward``.

        In a subclass with a ``forward`` or ``answer`` of its own, but the ``step`` and ``read`` of this
        class, they do not: then stories are read again when they are asked about.
        """
        batches, stream = ("forward", "answer"), ("initial_state", "step", "read")
        if all(is_own_method(self, EntNet, name) for name in batches):
            return True
        return not all(is_own_method(self, EntNet, name) for name in stream)

    @property
    def slot_count(self) -> int:
        return self.config.slots if self.streams else 0

    @property
    def keys_per_story(self) -> int:
        return self.config.slots if self.config.keys == "story" else 0

    @property
    def reads_any_length(self) -> bool:
        return self.config.encoder == "bow"

    def initial_state(self, story_keys: Tensor | None = None) -> MemoryState:
        """Slots at their keys: one memory, or as many as ``story_keys`` (S, m) has rows.

        Where slots are named as the story goes, there are none yet.
        """
        if not self.streams:
            return super().initial_state(story_keys)
        if self.config.keys == "named":
            nothing = self.embedding.new_zeros((1, 0, self.config.width))
            return MemoryState(nothing, nothing)
        keys = self.keys(story_keys)
        return MemoryState(keys if keys.dim() == 3 else keys.unsqueeze(0), keys)

    def step(self, state: MemoryState, words: Tensor) -> tuple[MemoryState, Tensor]:
        """Read one sentence, words (S, L), into each memory; also says how far gates opened, (S, m)."""
        if not self.streams:
            return super().step(state, words)
        if self.config.keys == "named":
            state, numbers = self.heard(state, words[0].tolist())
            words = torch.tensor([numbers]).to(words.device)
        stream = stream_of(self, state.memory, words)
        if stream is not None:
            keys = state.keys[0] if state.keys.dim() == 3 else state.keys
            memory, gates = stream.step(state.memory[0], keys, words[0])
            return state._replace(memory=memory.unsqueeze(0)), gates.unsqueeze(0)
        sentences = encode(words, self.embedding, self.encoder.mask_for_story())
        gate_input = self._gate_view(words, sentences)
        trace = self.memory.step(
            state.memory, sentences, gate_input, state.keys, self._closed(words)
        )
        return state._replace(memory=trace.memory), trace.gate

    def heard(self, state: MemoryState, words: Sequence[int]) -> tuple[MemoryState, list[int]]:
        """The slots that a sentence finds, where stories name them, and the sentence with its context."""
        state = self._with_slots_for(state, words)
        if self.context is None:
            return state, list(words)
        beside, held = self.context.heard(words, state.context)
        own = words[: self.config.longest_sentence]
        return state._replace(context=held), [*own, *beside]

    def _with_slots_for(self, state: MemoryState, words: Sequence[int]) -> MemoryState:
        """Slots more for each entity that is named for the first time, as long as there is room."""
        new = newly_named(words, state.named, self.entities, self.config.slots)
        if not new:
            return state
        keys = self.keys_of(new)
        return state._replace(
            memory=torch.cat([state.memory, keys], 1),
            keys=torch.cat([state.keys, keys], 1),
            named=(*state.named, *new),
        )

    def keys_of(self, words: Sequence[int]) -> Tensor:
        """Keys of slots that stand for words, each as often as it has slots: (1, m, d)"""
        numbers, ordinals = (
            torch.tensor([values], dtype=torch.int64).to(self.embedding.device)
            for values in (list(words), ordinals_of(words))
        )
        return self._keys_of(numbers, ordinals).detach()

    def _keys_of(self, words: Tensor, ordinals: Tensor) -> Tensor:
        """(S, m) and (S, m) → (S, m, d)"""
        keys = nn.functional.embedding(words, self.embedding)
        if self.memory.ordinals is None:
            return keys
        none = self.memory.ordinals.new_zeros(1, self.config.width)
        return keys + nn.functional.embedding(ordinals, torch.cat([none, self.memory.ordinals]))

    def read(self, state: MemoryState, question_words: Tensor) -> Reading:
        """Answer a question, words (S, L), from each memory."""
        if not self.streams:
            return super().read(state, question_words)
        stream = stream_of(self, state.memory, question_words)
        if stream is not None:
            scores, attention = stream.read(state.memory[0], question_words[0])
            return Reading(scores.unsqueeze(0), attention.unsqueeze(0))
        question = encode(question_words, self.embedding, self.encoder.mask_for_question())
        absent = None if state.memory.numel() else state.memory.new_zeros((1, 0), dtype=torch.bool)
        return self._read(question, state.memory, absent=absent)

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

    def _named(self, batch: RaggedBatch) -> NamedSlots | None:
        if self.config.keys != "named":
            return None
        return name_slots(batch, self.entities, self.config.slots)

    def _read(
        self,
        question: Tensor,
        states: Tensor,
        alone: Tensor | None = None,
        absent: Tensor | None = None,
    ) -> Reading:
        reading: Reading = self.readout(question, states, self._shared_slope(), alone, absent)
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
        # On the CPU looking saves work; elsewhere it would wait for the device.
        return empty if empty.device.type != "cpu" or bool(empty.any()) else None

    def memory_noise(self, batch: RaggedBatch) -> Tensor | None:
        """By option: what training adds to each slot at each sentence, (N, m, d)"""
        size, config = self.config.memory_noise, self.config
        if size == 0:
            return None
        shape = (batch.sentences, config.slots, config.width)
        return torch.randn(shape, device=self.embedding.device) * size

    def _kept_dimensions(self, batch: RaggedBatch) -> Tensor:
        stories = batch.story_offsets.numel() - 1
        return dropout_mask(stories, self.config.width, self.config.dropout, self.embedding.device)
