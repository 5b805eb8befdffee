"""Batches for the recipe auto: some stories as they are, the others with interchangeable words permuted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from entnet.config import Permute, TrainConfig
from entnet.data.story import Corpus, Entries, Ints, RaggedBatch
from entnet.models.base import StoryModel
from entnet.symmetries import Symmetries
from entnet.training.augment import Exchange
from entnet.training.phrases import PhraseExchange
from entnet.training.trainer import Epoch

FEWEST_STORIES = 16
"""In a batch, however many questions each has: those of one story are alike."""
UPDATES_PER_EPOCH = 250
"""An epoch reads small files several times, so that measuring costs the same for all."""
PERMUTED_SHARE = 0.8
"""Of the stories; the others keep a network to what the stories really say."""


Change = Callable[[RaggedBatch, np.random.Generator], RaggedBatch]


class Augmentation:
    """The permutations of a run: none until it has confirmed some."""

    def __init__(self, model: StoryModel) -> None:
        self.model = model
        self.symmetries: Symmetries | None = None
        self.exchange: Change | None = None

    def use(self, symmetries: Symmetries | None) -> None:
        self.symmetries = symmetries
        self.exchange = exchange_of(symmetries, self.model) if symmetries else None


def exchange_of(symmetries: Symmetries, model: StoryModel) -> Change:
    """The augmentation that found symmetries make: the only place where the two meet."""
    permute = Permute(tuple(map(tuple, symmetries.groups)))
    joint = [swap.mapping for swap in symmetries.swaps if len(swap.left) > 1]
    words = Exchange(permute, model.vocab, joint)
    if not symmetries.phrase_groups:
        return words
    phrases = PhraseExchange(
        sorted(symmetries.phrases.whole), symmetries.phrase_groups, model.vocab
    )
    return lambda batch, generator: words(phrases(batch, generator), generator)


class AutoSource:
    """Batches of whole stories, and from the second phase on with words permuted."""

    def __init__(
        self, train: Corpus, model: StoryModel, config: TrainConfig, augmentation: Augmentation
    ) -> None:
        self.seed = config.seed
        self.augmentation = augmentation
        self.entries = train.entries(config.example, model.config.memory_limit)
        self.size = config.batch_size
        per_pass = len(self._groups(np.random.default_rng([self.seed, 0])))
        self.passes = max(1, round(UPDATES_PER_EPOCH / per_pass))
        self.updates = self.passes * per_pass
        """In an epoch, about."""

    def epoch(self, number: int) -> Epoch:
        generator = np.random.default_rng([self.seed, number])
        groups = [group for _ in range(self.passes) for group in self._groups(generator)]
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        return Epoch(self._batches(groups, generator), len(groups), seed)

    def _groups(self, generator: np.random.Generator) -> list[Ints]:
        """A pass over the stories in batches."""
        return cut(self.entries, generator.permutation(len(self.entries)), self.size)

    def _batches(
        self, groups: Sequence[Ints], generator: np.random.Generator
    ) -> Iterator[RaggedBatch]:
        exchange = self.augmentation.exchange
        if exchange is None:
            return self.entries.batches(groups)
        return self.entries.batches(groups, lambda batch: _partly(exchange, batch, generator))


def cut(entries: Entries, order: Ints, questions: int) -> list[Ints]:
    """Groups of at least so many questions and FEWEST_STORIES stories."""
    closes, held, since = [], 0, 0
    for place, count in enumerate(entries.questions_per_entry[order].tolist(), start=1):
        held += count
        if held >= questions and place - since >= FEWEST_STORIES:
            closes.append(place)
            held, since = 0, place
    return [group for group in np.split(order, closes) if len(group)]


def _partly(exchange: Change, batch: RaggedBatch, generator: np.random.Generator) -> RaggedBatch:
    """The batch with the words of some of its stories permuted."""
    permuted = exchange(batch, generator)
    stories = len(batch.story_offsets) - 1
    chosen = torch.from_numpy(generator.random(stories) < PERMUTED_SHARE)
    of_sentence = chosen.repeat_interleave(batch.story_offsets.diff())
    of_question = chosen[batch.question_story]
    return replace(
        batch,
        words=torch.where(of_sentence.unsqueeze(1), permuted.words, batch.words),
        question_words=torch.where(
            of_question.unsqueeze(1), permuted.question_words, batch.question_words
        ),
        answers=torch.where(of_question, permuted.answers, batch.answers),
    )
