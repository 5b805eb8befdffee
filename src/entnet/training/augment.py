"""Augmentation by permuting interchangeable words (names, places, objects) within each story.

Who goes where does not depend on the names. With ``TrainConfig.permute``, each time a story is read, the
words of each group are permuted among themselves, in sentences, questions and answers alike. It is not in
the paper: it tells the network which words are of a kind, as tied keys tell which are entities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from entnet.config import Permute
from entnet.config.stories import Blocks
from entnet.data.story import Ints, RaggedBatch
from entnet.text import Vocab

NO_WORD = -1


@dataclass(frozen=True)
class Group:
    """Words of a kind, in blocks of one size that may change places as their members may."""

    words: Ints
    """(B, M, W): blocks, their members, and the words of a member, as numbers."""

    def draw(self, stories: int, generator: np.random.Generator) -> Ints:
        """For each story, what stands in for each member: (S, B, M, W)"""
        blocks, members, _ = self.words.shape
        member = generator.random((stories, blocks, members)).argsort(2)
        block = np.zeros((stories, 1), dtype=np.int64)
        if blocks > 1:
            block = generator.random((stories, blocks)).argsort(1)
        drawn: Ints = self.words[block[:, :, None], member]
        return drawn


class Exchange:
    """Groups of interchangeable words, and the stories in which they are permuted."""

    def __init__(
        self,
        permute: Permute,
        vocab: Vocab,
        swaps: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """``swaps`` say what each word becomes, all at once; they may move words of groups too."""
        self.size = len(vocab)
        named = permute.blocks()
        # List answers such as "apple,football" are single tokens. Number their parts too, including parts
        # that are not words of the vocabulary, so that a permuted list can be looked up.
        lists = {vocab.index[word]: word.split(",") for word in vocab.words if "," in word}
        together = [word for blocks in named for block in blocks for m in block for word in m]
        swapped = [word for swap in swaps for word in swap]
        parts = dict.fromkeys(
            [*(part for list_ in lists.values() for part in list_), *together, *swapped]
        )
        beside = {part: len(vocab) + i for i, part in enumerate(vocab.unknown(parts))}
        number = {**vocab.index, **beside}
        self.groups = [group for blocks in named for group in _known(blocks, vocab, number)]
        self.lists = {list_: tuple(number[part] for part in lists[list_]) for list_ in lists}
        self.numbers = len(number)
        self.swaps = np.tile(np.arange(self.numbers), (len(swaps), 1))
        """What each word becomes by each of the swaps."""
        for row, swap in zip(self.swaps, swaps, strict=True):
            row[[number[word] for word in swap]] = [number[image] for image in swap.values()]
        self.listed = {
            length: self._by_key([one for one, parts in self.lists.items() if len(parts) == length])
            for length in {len(parts) for parts in self.lists.values()}
        }
        self.unless, self.where = (
            torch.tensor(vocab.encode([word for word in words if word in vocab]))
            for words in (permute.skip_if, permute.only_if)
        )
        self.anywhere = not permute.only_if

    def tables(self, stories: int, generator: np.random.Generator) -> Ints:
        """For each story, the word that stands in for each word, if there is one: (S, |V|)"""
        table = np.tile(np.arange(self.numbers), (stories, 1))
        for group in self.groups:
            table[:, group.words] = group.draw(stories, generator)
        # Twice round, as swaps that share words reach more permutations one after the other.
        for swap in [*self.swaps, *self.swaps]:
            chosen = generator.random(stories) < 0.5
            table[chosen] = swap[table[chosen]]
        for list_, parts in self.lists.items():
            keys, numbers = self.listed[len(parts)]
            wanted = self._key(table[:, parts])
            place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
            table[:, list_] = np.where(keys[place] == wanted, numbers[place], NO_WORD)
        return table[:, : self.size]

    def _key(self, parts: Ints) -> Ints:
        """One number for each list of parts: (…, W) → (…)

        Of long lists it is a remainder; an odd base keeps every part in it.
        """
        return parts @ ((self.numbers | 1) ** np.arange(parts.shape[-1]))

    def _by_key(self, lists: list[int]) -> tuple[Ints, Ints]:
        """These lists' keys in order, and their numbers in the vocabulary."""
        numbers = np.array(lists)
        keys = self._key(np.array([self.lists[list_] for list_ in lists]))
        order = keys.argsort()
        return keys[order], numbers[order]

    def __call__(self, batch: RaggedBatch, generator: np.random.Generator) -> RaggedBatch:
        """The same stories, told of others."""
        stories = len(batch.story_offsets) - 1
        story = torch.repeat_interleave(torch.arange(stories), batch.story_offsets.diff())
        as_it_is = torch.arange(self.size)
        # Row 0 of the tables is for stories that stay as they are.
        row = torch.arange(1, stories + 1)
        if not self.anywhere:
            named = self._has(batch, story, self.where)
            row = torch.where(named, named.cumsum(0), 0)
        drawn = torch.from_numpy(self.tables(int((row > 0).sum()), generator))
        table = torch.cat([as_it_is.unsqueeze(0), drawn])
        if len(self.unless):
            row[self._has(batch, story, self.unless)] = 0
        asked_of = batch.question_story
        # Where an answer would be a list that the vocabulary lacks, the story stays as it is.
        impossible = asked_of[table[row[asked_of], batch.answers] == NO_WORD]
        row[impossible] = 0
        return replace(
            batch,
            words=table[row[story].unsqueeze(1), batch.words],
            question_words=table[row[asked_of].unsqueeze(1), batch.question_words],
            answers=table[row[asked_of], batch.answers],
        )

    def _has(self, batch: RaggedBatch, story: Tensor, words: Tensor) -> Tensor:
        """Which stories have one of the words: (S)"""
        found = torch.zeros(len(batch.story_offsets) - 1, dtype=torch.bool)
        found[story[torch.isin(batch.words, words).any(1)]] = True
        return found


def _known(blocks: Blocks, vocab: Vocab, number: dict[str, int]) -> list[Group]:
    """What of a group a vocabulary has: the whole, or, where members are missing, each block alone.

    A member is there if its first word is.
    """
    there = [[member for member in block if member[0] in vocab] for block in blocks]
    whole = all(len(block) == len(blocks[0]) for block in there)
    parts = [there] if whole else [[block] for block in there if len(block) > 1]
    return [
        Group(np.array([[[number[word] for word in m] for m in block] for block in part]))
        for part in parts
        if len(part) * len(part[0]) > 1
    ]
