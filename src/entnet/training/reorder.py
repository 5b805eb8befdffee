"""Stories told in another order.

Where sentences are facts and nothing happens, their order means nothing. With ``TrainConfig.reorder``
stories in which one of these words occurs are told, each time they are read, with their sentences shuffled;
a question still comes after the sentences that it came after. It is not in the paper.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from entnet.data.story import RaggedBatch
from entnet.text import Vocab
from entnet.training.exchange import known_words, stories_with


class Reorder:
    """Shuffles the sentences of stories in which one of the words occurs."""

    def __init__(self, words: str, vocab: Vocab) -> None:
        self.words = known_words(words, vocab)

    def __call__(self, batch: RaggedBatch, generator: np.random.Generator) -> RaggedBatch:
        """The same stories in another order."""
        stretch = stretches(batch)
        chance = torch.from_numpy(generator.random(batch.sentences))
        lengths = batch.story_offsets.diff()
        shuffled = torch.repeat_interleave(stories_with(batch, self.words), lengths)
        place = torch.arange(batch.sentences) / batch.sentences
        order = torch.where(shuffled, chance, place.double()).add_(stretch).argsort()
        return replace(batch, words=batch.words[order])


def stretches(batch: RaggedBatch) -> Tensor:
    """(N) a number each: the same for sentences with no question and no story's end in between."""
    begins = torch.zeros(batch.sentences + 1, dtype=torch.int64)
    begins[batch.story_offsets] = 1
    begins[batch.question_step + 1] = 1
    return begins[:-1].cumsum(0)
