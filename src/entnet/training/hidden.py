"""Training on short documents: stories whose sentences stand among those of books, drawn anew every epoch.

Most sentences of a book are easily told from facts, and those that are not are rare. Two shares of a
document's book sentences are therefore chosen: some by drawing a word that the network knows and then a
sentence with it, so that all known words are met in books equally often; and some because they are
hard: before every epoch the network reads the training books, each sentence once, and what presses its
gates open furthest is taken. Short sentences are rare and all the harder ("John!", "In the park."):
fragments of the others stand in for those that other books have. Where words are permuted within a story,
so they are in the books around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from torch import Tensor

from entnet.config import Config, TrainConfig
from entnet.data.story import Corpus, Ints, RaggedBatch
from entnet.models.entnet import EntNet
from entnet.models.pressure import pressures
from entnet.training.loop import StorySource

Rows = NDArray[np.int16]
"""(N, L) sentences of books, and pieces of long ones, as word numbers."""

MEMORIES = 8
"""Stories whose memories are looked at with each book sentence."""

FRAGMENT = 4
"""Words of the longest fragments."""


@dataclass(frozen=True)
class HidingOptions(Config):
    """How facts are hidden in training."""

    words: int = 400
    """Words of books in a document: up to so many, drawn for each."""
    even_share: float = 0.25
    """Share of sentences drawn evenly by the known words in them."""
    hard: int = 1000
    """Book sentences and fragments that press gates open furthest, looked for before every epoch."""
    hard_share: float = 0.25
    """Share of these among the book sentences of a document."""

    def check(self) -> None:
        self.at_least(0, "words")
        self.require(
            0 <= self.hard_share + self.even_share <= 1,
            "hard_share and even_share are shares of the sentences, in [0, 1] together",
        )


def rows_by_word(rows: Rows, vocabulary: int, other: int) -> list[Ints]:
    """For each known word that occurs: the rows that have it."""
    place, _ = np.nonzero((rows != 0) & (rows != other))
    word = rows[(rows != 0) & (rows != other)]
    order = np.argsort(word, kind="stable")
    bounds = np.searchsorted(word[order], np.arange(vocabulary + 1))
    found = (place[order[a:b]] for a, b in pairwise(bounds.tolist()))
    return [one for one in found if len(one)]


def distinct(rows: Rows) -> Rows:
    """Each row once."""
    weights = np.random.default_rng(5).integers(1 << 62, size=rows.shape[1]) * 2 + 1
    _, first = np.unique(
        rows.astype(np.int64) @ weights, return_index=True
    )  # sums wrap, as hashes do
    found: Rows = rows[np.sort(first)]
    return found


def with_fragments(rows: Rows, longest: int) -> Rows:
    """Each row, and each run of up to ``longest`` words in one, once."""
    found = [rows]
    for size in range(1, min(longest, rows.shape[1]) + 1):
        runs = sliding_window_view(rows, size, axis=1).reshape(-1, size)
        runs = distinct(runs[(runs != 0).all(1)])
        found.append(np.pad(runs, ((0, 0), (0, rows.shape[1] - size))))
    return distinct(np.concatenate(found))


def hide(
    batch: RaggedBatch,
    counts: Ints,
    books: Rows,
    rng: np.random.Generator,
) -> RaggedBatch:
    """Put ``counts[s]`` sentences of books among those of story s, at places drawn evenly.

    ``books`` has those of all stories, one after the other. A question is asked right before
    the fact that follows it, or at the end.
    """
    offsets = batch.story_offsets.numpy()
    lengths = np.diff(offsets)
    story = np.repeat(np.arange(len(lengths)), lengths)
    place = rng.random(len(story))
    place = place[np.lexsort((place, story))]  # sorted within each story
    before = (place * (counts[story] + 1)).astype(np.int64)
    new_offsets = np.concatenate(([0], np.cumsum(lengths + counts)))
    rows = new_offsets[:-1][story] + np.arange(len(story)) - offsets[:-1][story] + before
    total = int(new_offsets[-1])
    quiet = np.ones(total, np.bool_)
    quiet[rows] = False
    words = np.empty((total, batch.words.shape[1]), np.int64)
    words[rows] = batch.words.numpy()
    words[quiet] = books
    # The place of the next fact of the story, or its end.
    following = np.append(rows[1:], total)
    last = np.append(story[1:] != story[:-1], True)
    following[last] = new_offsets[1:][story[last]]
    facts = batch.supports
    if facts is not None:
        facts = torch.where(facts < 0, -1, torch.from_numpy(rows)[facts])
    return replace(
        batch,
        words=torch.from_numpy(words),
        story_offsets=torch.from_numpy(new_offsets),
        question_step=torch.from_numpy(following[batch.question_step.numpy()] - 1),
        quiet=torch.from_numpy(quiet),
        supports=facts,
    )


def stretches_of(books: Rows, counts: Ints, rng: np.random.Generator) -> Rows:
    """Stretches of books of these lengths, one after the other."""
    starts = rng.integers(len(books), size=len(counts))
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    rows: Rows = books[(np.repeat(starts, counts) + within) % len(books)]
    return rows


class HiddenSource(StorySource):
    """Stories as ``StorySource`` tells them, hidden in the sentences of books."""

    def __init__(
        self,
        train: Corpus,
        model: EntNet,
        config: TrainConfig,
        books: Rows,
        options: HidingOptions,
    ) -> None:
        super().__init__(train, model, config)
        self.model, self.books, self.options = model, books, options
        self.average = max(float((books != 0).sum(1).mean()), 1.0)
        self.by_word = rows_by_word(books, len(model.vocab), model.vocab.other)
        self.searched = with_fragments(distinct(books), FRAGMENT) if options.hard else books[:0]

    def _change(self, epoch: int) -> Callable[[RaggedBatch], RaggedBatch]:
        other_words = super()._change(epoch)
        rng = np.random.default_rng([self.config.seed, epoch, 2])
        hard = self._hardest(rng)

        def change(batch: RaggedBatch) -> RaggedBatch:
            stories = batch.story_offsets.numel() - 1
            counts = (rng.random(stories) * self.options.words / self.average).astype(np.int64)
            hidden = hide(batch, counts, self._draw(counts, hard, rng), rng)
            return hidden if other_words is None else other_words(hidden)

        return change

    def _draw(self, counts: Ints, hard: Rows, rng: np.random.Generator) -> Rows:
        """For each story a stretch of a book, some of its sentences replaced by chosen ones."""
        rows = stretches_of(self.books, counts, rng)
        dice, options = rng.random(len(rows)), self.options
        even = dice < options.even_share
        rows[even] = self._even(int(even.sum()), rng)
        if len(hard):
            replaced = dice >= 1 - options.hard_share
            rows[replaced] = hard[rng.integers(len(hard), size=int(replaced.sum()))]
        return rows

    def _even(self, count: int, rng: np.random.Generator) -> Rows:
        """Sentences drawn evenly by the known words in them."""
        if not self.by_word:
            return self.books[rng.integers(len(self.books), size=count)]
        words = rng.integers(len(self.by_word), size=count)
        places = rng.random(count)
        rows = [
            found[int(place * len(found))]
            for found, place in zip(
                (self.by_word[word] for word in words.tolist()), places, strict=True
            )
        ]
        found: Rows = self.books[np.array(rows, dtype=np.int64)]
        return found

    def _hardest(self, rng: np.random.Generator) -> Rows:
        """Of the books' sentences and fragments, those that press the network's gates open furthest."""
        if not len(self.searched):
            return self.searched
        stories = rng.integers(len(self.entries), size=MEMORIES)
        pressed = pressures(self.model, self._memories(stories), self.searched)
        furthest = np.argsort(-pressed, kind="stable")[: self.options.hard]
        hardest: Rows = self.searched[furthest]
        return hardest

    @torch.no_grad()
    def _memories(self, stories: Ints) -> list[Tensor]:
        """What the network holds after these stories."""
        found = []
        for story in stories:
            state = self.model.initial_state()
            for words in self.entries.batch(np.array([story])).words:
                state, _ = self.model.step(state, words.unsqueeze(0))
            found.append(state.memory[0])
        return found
