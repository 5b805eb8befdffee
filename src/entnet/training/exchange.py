"""Stories told of other people, in other places: words exchanged for others of their kind.

Who goes where does not depend on the names. With ``TrainConfig.exchange`` every story is told, each time it
is read, with the words of a group permuted among themselves, in sentences, questions and answers alike. It
is not in the paper: it tells the network which words are of a kind, as tied keys tell which are entities.

    mary sandra                             two words that may stand for one another
    north+n south+s                         words that go together: with north, n is exchanged too
    north south / east west                 pairs: they may change places, and the words of each
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from entnet.config import ConfigError
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
    """Groups of exchangeable words, as texts.

    Stories in which a word of ``unless`` occurs stay as they are, and so do, if ``where`` is given, stories
    without a word of it.
    """

    def __init__(
        self, groups: Sequence[str], vocab: Vocab, unless: str = "", where: str = ""
    ) -> None:
        self.size = len(vocab)
        named = [parse_group(group) for group in groups]
        # A list of things is an answer of its own, and names the things it lists; what it names beside
        # the words of the vocabulary is numbered after them.
        lists = {vocab.index[word]: word.split(",") for word in vocab.words if "," in word}
        together = [word for blocks in named for block in blocks for m in block for word in m]
        _require_apart(together)
        parts = dict.fromkeys([*(part for list_ in lists.values() for part in list_), *together])
        beside = {part: len(vocab) + i for i, part in enumerate(vocab.unknown(parts))}
        number = {**vocab.index, **beside}
        self.groups = [group for blocks in named for group in _known(blocks, vocab, number)]
        self.lists = {list_: tuple(number[part] for part in lists[list_]) for list_ in lists}
        self.numbers = len(number)
        self.listed = {
            length: self._by_key([one for one, parts in self.lists.items() if len(parts) == length])
            for length in {len(parts) for parts in self.lists.values()}
        }
        self.unless, self.where = (
            torch.tensor(vocab.encode([word for word in words.split() if word in vocab]))
            for words in (unless, where)
        )
        self.anywhere = not where

    def tables(self, stories: int, generator: np.random.Generator) -> Ints:
        """For each story, the word that stands in for each word, if there is one: (S, |V|)"""
        table = np.tile(np.arange(self.numbers), (stories, 1))
        for group in self.groups:
            table[:, group.words] = group.draw(stories, generator)
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


def parse_group(text: str) -> list[list[list[str]]]:
    """The blocks of a group, their members, and the words of each."""
    blocks = [[member.split("+") for member in block.split()] for block in text.split("/")]
    if len({len(member) for block in blocks for member in block}) > 1:
        raise ConfigError(f"exchange: {text!r}: every member needs as many words joined by +")
    if len({len(block) for block in blocks}) > 1 or not all(blocks):
        raise ConfigError(f"exchange: {text!r}: blocks with / between them need as many members")
    return blocks


def _known(blocks: list[list[list[str]]], vocab: Vocab, number: dict[str, int]) -> list[Group]:
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


def _require_apart(words: Iterable[str]) -> None:
    for word, count in Counter(words).items():
        if count > 1:
            raise ConfigError(f"exchange: {word!r} is in two groups, but must be in one")
