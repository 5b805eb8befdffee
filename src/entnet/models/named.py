"""Slots that a story names: some for each entity, from the sentence on that first has its word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from entnet.data.story import RaggedBatch


class NamedSlots(NamedTuple):
    """The slots of a batch of stories, padded to those of the largest cast."""

    words: Tensor
    """(S, m) the word that each slot stands for; the null word where there is no slot"""
    ordinals: Tensor
    """(S, m) which of its word's slots it is, counted from 0"""
    born: Tensor
    """(S, m) the sentence of its story, counted from 0, that first names it; past the end if none does"""

    def absent(self, batch: RaggedBatch) -> Tensor:
        """(Q, m): slots that are not there yet when a question is asked."""
        story = batch.question_story
        return self.born[story] > (batch.question_step - batch.story_offsets[story]).unsqueeze(1)


def newly_named(
    words: Sequence[int], named: Sequence[int], entities: Mapping[int, int], most: int
) -> list[int]:
    """Of a sentence, the words that get slots with it, as often as they get one.

    named: the words of the slots that are there; entities: how many each word gets; most: slots in all. A
    word for which there is not room enough gets none.
    """
    new: list[int] = []
    for word in dict.fromkeys(words):
        count = entities.get(word, 0)
        if count and word not in named and len(named) + len(new) + count <= most:
            new += [word] * count
    return new


def ordinals_of(named: Sequence[int]) -> list[int]:
    """Which of its word's slots each slot is."""
    return [list(named[:j]).count(word) for j, word in enumerate(named)]


def name_slots(batch: RaggedBatch, entities: Mapping[int, int], most: int) -> NamedSlots:
    """Give each story the slots of each entity, in the order in which they are named, up to ``most``."""
    casts: list[tuple[list[int], list[int]]] = []
    for first, last in pairwise(batch.story_offsets.tolist()):
        named: list[int] = []
        born: list[int] = []
        for row, sentence in enumerate(batch.words[first:last].tolist()):
            new = newly_named(sentence, named, entities, most)
            named += new
            born += [row] * len(new)
        casts.append((named, born))
    slots = max((len(named) for named, _ in casts), default=0)
    words, ordinals = torch.zeros((2, len(casts), slots), dtype=torch.int64)
    births = torch.full((len(casts), slots), batch.sentences)
    for story, (named, born) in enumerate(casts):
        words[story, : len(named)] = torch.tensor(named, dtype=torch.int64)
        ordinals[story, : len(named)] = torch.tensor(ordinals_of(named), dtype=torch.int64)
        births[story, : len(named)] = torch.tensor(born, dtype=torch.int64)
    return NamedSlots(words, ordinals, births)
