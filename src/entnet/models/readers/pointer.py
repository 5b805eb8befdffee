"""Readers that point: a candidate's probability is the attention to all the places where it stands.

    code        letter   shape      meaning
    states      d_i      (T, 2H)    the words of the documents, as the reader sees them
    weights     s_i      (Q, n)     attention to a document's words: sums to one, nothing on filling
    p           p(c)     (Q, m)     Σ over the i where word i is candidate c of s_i: the pointer sum

A document is the twenty sentences in one piece. Questions of a batch that have the same document share it,
as long as what is read of it does not depend on the query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from entnet.config import ModelConfig
from entnet.data.story import RaggedBatch
from entnet.models.gru import rows
from entnet.models.readers.passage import (
    PassageReader,
    Sequences,
    distinct_rows,
    places_of,
    sequences,
    story_keys,
)
from entnet.text import Vocab

LEAST = 1e-12
"""Added to probabilities before the logarithm: a candidate that does not occur has none."""


@dataclass(frozen=True)
class PointerConfig(ModelConfig):
    """What all readers have."""

    width: int = 128
    """E: units of an embedding."""
    units: int = 128
    """H: units of each direction of an encoder."""
    dropout: float = 0.0
    """Share of units dropped in training."""
    loss: Literal["candidates", "document"] = "candidates"
    """-log p of the answer among the candidates, or among all words of the document (the AS Reader's paper
    and code)."""
    embedding_scale: float = 0.1
    """Embeddings begin evenly spread up to this."""

    def check(self) -> None:
        super().check()
        self.at_least(1, "width", "units")
        self.require(0 <= self.dropout < 1, f"dropout is {self.dropout}, but must be in [0, 1)")
        self.at_least(0, "embedding_scale")


class Documents(NamedTuple):
    """The documents of a batch, the queries, and the words that both have."""

    told: Sequences
    """Distinct documents, their words as rows of ``table``."""
    of: Tensor
    """(Q) which document each question is about."""
    asked: Sequences
    """Queries, their words as rows of ``table``."""
    blank: Tensor
    """(Q) places of the blanks among the queries' words."""
    table: Tensor
    """(V', E) embeddings of the words that occur."""
    held: Tensor
    """(Q, n, m) which candidate each word of a question's document is."""

    @property
    def there(self) -> Tensor:
        """(Q, n) where a question's document has a word, and not filling."""
        return filled(self.told.lengths)[self.of]

    def by_question(self, states: Tensor) -> Tensor:
        """(T, …) of the documents → (Q, n, …), filled up with anything"""
        return rows(states, layout(self.told)[self.of])

    def match(self, states: Tensor, asked: Tensor) -> Tensor:
        """d_i·q of every word of a question's document: (T, k), (Q, k) → (Q, n), with anything as filling.

        Every question against all documents is one product, and quicker than laying out what each needs.
        """
        return (asked @ states.T).gather(1, layout(self.told)[self.of])

    def mixed(self, states: Tensor, weights: Tensor) -> Tensor:
        """Σ_i s_i d_i over a question's document: (T, k), (Q, n) → (Q, k); filling must weigh nothing"""
        whole = weights.new_zeros((len(weights), len(states)))
        return whole.scatter_add(1, layout(self.told)[self.of], weights) @ states

    def by_query(self, states: Tensor) -> Tensor:
        """(T', …) of the queries → (Q, m', …), filled up with anything"""
        return rows(states, layout(self.asked))


def filled(lengths: Tensor, longest: int | None = None) -> Tensor:
    """(D, n) the first so many of each row."""
    if longest is None:
        longest = int(lengths.max()) if len(lengths) else 0
    return torch.arange(longest, device=lengths.device) < lengths.unsqueeze(1)


def layout(read: Sequences) -> Tensor:
    """(D, n) the place in ``words`` of every word; where there is none, some other place."""
    longest = int(read.lengths.max())
    steps = torch.arange(longest, device=read.words.device)
    return (read.starts.unsqueeze(1) + steps).clamp_max(len(read.words) - 1)


def softmax_over(scores: Tensor, there: Tensor, dim: int = -1) -> Tensor:
    """Softmax over what is there; all zeros where nothing is."""
    hidden = scores.masked_fill(~there, -torch.inf)
    some = there.any(dim, keepdim=True)
    return torch.where(some, hidden, 0.0).softmax(dim) * there


class PointerReader(PassageReader):
    """Attention to the words of a document, added up by candidate."""

    config: PointerConfig
    config_class = PointerConfig

    def __init__(self, config: PointerConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        scale = config.embedding_scale
        self.embedding = nn.Parameter(torch.empty(len(vocab), config.width).uniform_(-scale, scale))

    def attention(self, documents: Documents) -> Tensor:
        """(Q, n) s"""
        raise NotImplementedError

    def forward(self, batch: RaggedBatch) -> Tensor:
        """(Q, m) log p of the candidates"""
        documents = self.documents(batch)
        return (self.pointer_sum(documents, self.attention(documents)) + LEAST).log()

    def pointer_sum(self, documents: Documents, weights: Tensor) -> Tensor:
        """p(c) = Σ s_i over the places i of candidate c: (Q, n) → (Q, m)"""
        return (weights.unsqueeze(2) * documents.held).sum(1)

    def loss(self, batch: RaggedBatch) -> tuple[Tensor, Tensor]:
        scores = self(batch)
        if self.config.loss == "document":
            return -scores.gather(1, batch.answers.unsqueeze(1)).squeeze(1), scores
        return nn.functional.cross_entropy(scores, batch.answers, reduction="none"), scores

    def documents(self, batch: RaggedBatch) -> Documents:
        """What a batch has to read, each distinct document once."""
        keys = story_keys(batch)
        told, of_story = distinct_stories(batch)
        asked = sequences(batch.question_words)
        of = of_story[batch.question_story]
        words, at = torch.unique(torch.cat([told.words, asked.words]), return_inverse=True)
        read = told._replace(words=at[: len(told.words)])
        padded = told.words[layout(told)].masked_fill(~filled(told.lengths), -1)[of]
        held = padded.unsqueeze(2) == keys[batch.question_story].unsqueeze(1)
        return Documents(
            read,
            of,
            asked._replace(words=at[len(told.words) :]),
            places_of(self.blank, asked),
            self._dropped(rows(self.embedding, words)),
            held,
        )

    def _dropped(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, self.config.dropout, self.training)


def distinct_stories(batch: RaggedBatch) -> tuple[Sequences, Tensor]:
    """Each distinct story once, in one piece, and which of these every story (S) is."""
    sentences, which = distinct_rows(batch.words)
    lengths = batch.story_offsets.diff()
    padded = torch.full((len(lengths), int(lengths.max())), len(sentences), device=which.device)
    padded[filled(lengths)] = which
    stories, of = distinct_rows(padded)
    nothing = torch.zeros_like(sentences[:1])
    whole = torch.cat([sentences, nothing])[stories].flatten(1)
    return sequences(whole), of
