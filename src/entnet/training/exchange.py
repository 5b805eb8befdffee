"""Stories told of other people, in other places: words exchanged for others of their kind.

Who goes where does not depend on the names. With ``TrainConfig.exchange`` every story is told, each time it
is read, with the words of a group permuted among themselves, in sentences, questions and answers alike. It
is not in the paper: it tells the network which words are of a kind, as tied keys tell which are entities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from entnet.data.story import Ints, RaggedBatch
from entnet.text import Vocab

NO_WORD = -1


class Exchange:
    """Groups of exchangeable words, each given as words with blanks between them.

    Stories in which a word of ``unless`` occurs stay as they are, and so do, if ``where`` is given, stories
    without a word of it.
    """

    def __init__(
        self, groups: Sequence[str], vocab: Vocab, unless: str = "", where: str = ""
    ) -> None:
        self.size = len(vocab)
        known = [[vocab.index[word] for word in group.split() if word in vocab] for group in groups]
        self.groups = [np.array(group) for group in known if len(group) > 1]
        # A list of things is an answer of its own, and names the things it lists; what it names beside
        # the words of the vocabulary stays as it is, and is numbered after them.
        lists = {vocab.index[word]: word.split(",") for word in vocab.words if "," in word}
        parts = dict.fromkeys(part for list_ in lists.values() for part in list_)
        beside = {part: len(vocab) + i for i, part in enumerate(vocab.unknown(parts))}
        number = {**vocab.index, **beside}
        self.lists = {list_: tuple(number[part] for part in lists[list_]) for list_ in lists}
        self.list_number = {parts: list_ for list_, parts in self.lists.items()}
        self.numbers = len(number)
        self.unless, self.where = (
            torch.tensor(vocab.encode([word for word in words.split() if word in vocab]))
            for words in (unless, where)
        )
        self.anywhere = not where

    def tables(self, stories: int, generator: np.random.Generator) -> Ints:
        """For each story, the word that stands in for each word, if there is one: (S, |V|)"""
        table = np.tile(np.arange(self.numbers), (stories, 1))
        for group in self.groups:
            table[:, group] = group[generator.random((stories, len(group))).argsort(1)]
        for list_, parts in self.lists.items():
            table[:, list_] = [
                self.list_number.get(tuple(row), NO_WORD) for row in table[:, parts].tolist()
            ]
        return table[:, : self.size]

    def __call__(self, batch: RaggedBatch, generator: np.random.Generator) -> RaggedBatch:
        """The same stories, told of others."""
        stories = len(batch.story_offsets) - 1
        table = torch.from_numpy(self.tables(stories, generator))
        story = torch.repeat_interleave(torch.arange(stories), batch.story_offsets.diff())
        asked_of = batch.question_story
        as_it_is = torch.arange(self.size)
        if len(self.unless):
            table[story[torch.isin(batch.words, self.unless).any(1)]] = as_it_is
        if not self.anywhere:
            named = torch.zeros(stories, dtype=torch.bool)
            named[story[torch.isin(batch.words, self.where).any(1)]] = True
            table[~named] = as_it_is
        # Where an answer would be a list that the vocabulary lacks, the story stays as it is.
        impossible = asked_of[table[asked_of, batch.answers] == NO_WORD]
        table[impossible] = as_it_is
        return replace(
            batch,
            words=table[story].gather(1, batch.words),
            question_words=table[asked_of].gather(1, batch.question_words),
            answers=table[asked_of, batch.answers],
        )
