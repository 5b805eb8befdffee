"""The End-to-End Memory Network (Sukhbaatar et al. 2015) that the paper compares with.

    code            letter          shape           meaning
    input_memory    m_i             (Q, M, d)       sentences, as attention sees them
    output_memory   c_i             (Q, M, d)       sentences, as they are read out
    state           u               (Q, d)          the question, and what was found so far
    age             i               (Q, M)          sentences back from the question, the last being 0

Every sentence before a question is kept as it was said. A hop attends over all of them with the state,
p = softmax(u·m_i), and adds what it finds: o = Σ p_i c_i, u ← u + o (adjacent) or H u + o (layer-wise),
or the ReLU of that. Preset ``memn2n`` has the settings behind its published figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from entnet.config import ModelConfig
from entnet.data.story import RaggedBatch
from entnet.models.base import StoryModel, register
from entnet.ops.hops import memory_hops
from entnet.text import Vocab


@dataclass(frozen=True)
class MemN2NConfig(ModelConfig):
    """A memory network. The defaults are those of its own paper for bAbI, but for linear start."""

    kind: ClassVar[str] = "memn2n"

    memory_limit: int | None = 50
    """Sentences a question can look back on."""
    width: int = 20
    """d: units of every embedding."""
    hops: int = 3
    """K: rounds of attention."""
    tying: Literal["adjacent", "layer-wise"] = "adjacent"
    """Weights of the hops: a hop's output embedding is the next one's input embedding, the question's
    is the first and the answer's the last; or all hops share theirs, with a matrix H between them."""
    encoder: Literal["position", "bow"] = "position"
    """Position encoding as in its authors' code (see ``position_weights``), or a sum of words."""
    times: int | None = 50
    """Ages that have a vector of their own, added to a sentence of that age; beyond, the oldest
    counts. None for no time features."""
    time_noise: float = 0.1
    """In training, the share of empty memories among the sentences; they age those before them."""
    noise: Literal["gaps", "authors"] = "gaps"
    """Each sentence is preceded by an empty memory with the chance ``time_noise`` (default), or any number
    of them up to that share, all being equally likely, lies among the sentences (authors' code)."""
    empty_slots: int | None = None
    """Slots of the memory; those without a sentence hold nothing, and attention may go there (authors'
    code: 50, or the sentences of the longest story if fewer). None for sentences only."""
    time_position: bool = False
    """A sentence's age counts as its last word, and its vector is weighted by its position too (authors'
    code)."""
    activation: Literal["identity", "relu"] = "identity"
    """What the state goes through after every hop; ReLU in the enlarged model of the 10k figures."""
    linear_start: int = 0
    """Updates at the start of training during which attention is not passed through the softmax."""
    weight_scale: float = 0.1
    """Standard deviation of all weights at the start."""

    def check(self) -> None:
        super().check()
        self.at_least(1, "width", "hops")
        self.require(
            self.times is None or self.times >= 1,
            f"times is {self.times}, but must be at least 1, or none",
        )
        self.require(
            0 <= self.time_noise < 1, f"time_noise is {self.time_noise}, but must be in [0, 1)"
        )
        self.require(
            self.empty_slots is None
            or (self.memory_limit is not None and self.memory_limit <= self.empty_slots),
            f"empty_slots is {self.empty_slots}, but must be at least memory_limit, "
            f"which is {self.memory_limit}",
        )
        self.at_least(0, "linear_start")
        self.at_least(0, "weight_scale")


def position_weights(length: int, width: int) -> Tensor:
    """l_jk = 1 + 4 (j − (J + 1)/2) (k − (d + 1)/2) / (J d), words j and units k counted from 1: (J, d)

    This is the code of the network's authors. Their text has (1 − j/J) − (k/d)(1 − 2j/J), which is half
    of it but for the centre; with that, bAbI task 4 stays at 20% error.
    """
    j = torch.arange(1, length + 1).unsqueeze(1) - (length + 1) / 2
    k = torch.arange(1, width + 1).unsqueeze(0) - (width + 1) / 2
    return 1 + 4 * j * k / (length * width)


@register
class MemN2N(StoryModel):
    """Attends, hop by hop, over all sentences that were read."""

    config: MemN2NConfig
    config_class = MemN2NConfig
    H: Tensor | None
    question_embedding: Tensor | None
    R: Tensor | None
    time: Tensor | None

    def __init__(self, config: MemN2NConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        words, d = config.vocabulary, config.width
        adjacent = config.tying == "adjacent"
        self.layers = config.hops + 1 if adjacent else 2
        """Embeddings in use: layer k serves hop k as input and hop k − 1 as output."""
        self.embedding = self._weights(words, self.layers, d)
        self.time = None if config.times is None else self._weights(config.times, self.layers, d)
        self.question_embedding = None if adjacent else self._weights(words, d)
        self.R = None if adjacent else self._weights(words, d)
        self.H = None if adjacent else self._weights(d, d)
        mask = torch.ones(config.sentence_length + config.time_position, d)
        if config.encoder == "position":
            mask = position_weights(len(mask), d)
        self.register_buffer("mask", mask, persistent=False)
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))
        self.after_update()
        self.get_buffer("updates").zero_()

    def _weights(self, *shape: int) -> nn.Parameter:
        return nn.Parameter(torch.randn(shape) * self.config.weight_scale)

    @property
    def linear(self) -> bool:
        """Whether training is still in its linear start."""
        return int(self.get_buffer("updates")) < self.config.linear_start

    def after_update(self) -> None:
        """The null word stays zero, wherever it is embedded; updates are counted."""
        with torch.no_grad():
            self.get_buffer("updates").add_(1)
            for table in (self.embedding, self.question_embedding, self.R):
                if table is not None:
                    table[0] = 0

    def forward(self, batch: RaggedBatch) -> Tensor:
        rows, heard = self._window(batch)
        memories = self._memories(batch.words, rows, heard)
        if self.config.empty_slots is not None:
            heard = torch.full_like(heard, rows.shape[1])
        state = self._question(batch.question_words)
        relu = self.config.activation == "relu"
        state = memory_hops(memories, state, heard, self.H, self.config.hops, self.linear, relu)
        return state @ (self.embedding[:, -1] if self.R is None else self.R).T

    def _window(self, batch: RaggedBatch) -> tuple[Tensor, Tensor]:
        """For each question the sentences before it, the last first: (Q, M), and how many (Q) there are."""
        first = batch.story_offsets[batch.question_story]
        heard = batch.question_step - first + 1
        longest = int(heard.max()) if heard.numel() else 1
        longest = max(longest, self.config.empty_slots or 1)
        age = torch.arange(longest, device=heard.device)
        rows = (batch.question_step.unsqueeze(1) - age).maximum(first.unsqueeze(1))
        return rows, heard

    def _memories(self, words: Tensor, rows: Tensor, heard: Tensor) -> Tensor:
        """m_i = Σ_j l_j ⊙ A x_ij + T_A(i), for every layer at once: (Q, M, layers, d); 0 in empty slots"""
        length, d = words.shape[1], self.config.width
        mask = self.get_buffer("mask")
        e = nn.functional.embedding(words, self.embedding.flatten(1))
        e = e.view(-1, length, self.layers, d) * mask[:length].unsqueeze(1)
        sentences = e.sum(1).flatten(1)  # (N, layers · d)
        memories = nn.functional.embedding(rows, sentences)
        if self.time is not None:
            time = self.time * mask[-1] if self.config.time_position else self.time
            memories = memories + nn.functional.embedding(
                self._ages(rows.shape, heard), time.flatten(1)
            )
        if self.config.empty_slots is not None:
            there = torch.arange(rows.shape[1], device=rows.device) < heard.unsqueeze(1)
            memories = memories * there.unsqueeze(2)
        return memories.view(*rows.shape, self.layers, d)

    def _ages(self, shape: torch.Size, heard: Tensor) -> Tensor:
        """(Q, M) or (1, M) how old each sentence is, with gaps where noise puts empty memories."""
        device = self.embedding.device
        ages = torch.arange(shape[1], device=device).unsqueeze(0)
        share = self.config.time_noise if self.training else 0.0
        if share > 0 and self.config.noise == "gaps":
            gaps = torch.rand(shape, device=device) < share
            ages = ages + gaps.cumsum(1)
        elif share > 0:
            ages = ages + _gaps_of_any_number(shape[1], heard, share)
        return ages.clamp_max((self.config.times or 1) - 1)

    def _question(self, words: Tensor) -> Tensor:
        table = self.embedding[:, 0] if self.question_embedding is None else self.question_embedding
        mask = self.get_buffer("mask")[: words.shape[1]]
        return (nn.functional.embedding(words, table) * mask).sum(1)


def _gaps_of_any_number(sentences: int, heard: Tensor, share: float) -> Tensor:
    """(Q, M) how many empty memories lie before each sentence, the last sentence being the first.

    Their number is uniform in 0 … ⌈share · heard⌉, and so are the places where they lie.
    """
    most = (heard * share).ceil()
    empty = (torch.rand(heard.shape, device=heard.device) * (most + 1)).long()
    places = torch.arange(sentences + int(most.max()), device=heard.device)
    draws = torch.rand((len(heard), len(places)), device=heard.device)
    draws = draws.masked_fill(places >= (heard + empty).unsqueeze(1), torch.inf)
    # The places with the ``heard`` lowest draws hold sentences; their numbers, in order, are the ages.
    taken = draws.argsort(1).argsort(1) < heard.unsqueeze(1)
    ages = torch.where(taken, places, len(places)).sort(1).values[:, :sentences]
    return ages - torch.arange(sentences, device=heard.device)
