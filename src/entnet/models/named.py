"""Slots that a story names: one for each entity, from the sentence on that first has its word."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from entnet.data.story import RaggedBatch


class NamedSlots(NamedTuple):
    """The slots of a batch of stories, padded to those of the largest cast."""

    words: Tensor
    """(S, m) the word that each slot stands for; the null word where there is no slot"""
    born: Tensor
    """(S, m) the sentence of its story, counted from 0, that first names it; past the end if none does"""

    def absent(self, batch: RaggedBatch) -> Tensor:
        """(Q, m): slots that are not there yet when a question is asked."""
        story = batch.question_story
        return self.born[story] > (batch.question_step - batch.story_offsets[story]).unsqueeze(1)


def name_slots(batch: RaggedBatch, entities: Collection[int], most: int) -> NamedSlots:
    """Give each story a slot for each entity, in the order in which they are named, up to ``most``.

    entities: the numbers of the words that are.
    """
    offsets = batch.story_offsets.tolist()
    casts: list[dict[int, int]] = []
    for first, last in pairwise(offsets):
        cast: dict[int, int] = {}
        for row, sentence in enumerate(batch.words[first:last].tolist()):
            for word in sentence:
                if word in entities and word not in cast and len(cast) < most:
                    cast[word] = row
        casts.append(cast)
    slots = max((len(cast) for cast in casts), default=0)
    words = torch.zeros((len(casts), slots), dtype=torch.int64)
    born = torch.full((len(casts), slots), batch.sentences)
    for story, cast in enumerate(casts):
        words[story, : len(cast)] = torch.tensor(list(cast), dtype=torch.int64)
        born[story, : len(cast)] = torch.tensor(list(cast.values()), dtype=torch.int64)
    return NamedSlots(words, born)
