"""Augmentation by permuting interchangeable phrases within each story: "red square" for "triangle".

Like the permuting of words, but sentences may become longer or shorter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from entnet.data.story import Ints, RaggedBatch
from entnet.text import Vocab

NONE = -1


class PhraseExchange:
    """Groups of interchangeable phrases, some of a single word, permuted in batches."""

    def __init__(
        self, phrases: Sequence[str], groups: Sequence[Sequence[str]], vocab: Vocab
    ) -> None:
        """``phrases`` are read as one word each, wherever they stand. Those of unknown words are none."""
        moved = [member for group in groups for member in group]
        units = dict.fromkeys([*phrases, *moved])
        units = dict.fromkeys(unit for unit in units if not vocab.unknown(unit.split()))
        self.units = sorted(units, key=lambda unit: -len(unit.split()))
        number = {unit: i for i, unit in enumerate(self.units)}
        self.words = [np.array(vocab.encode(unit.split())) for unit in self.units]
        self.groups = [
            np.array([number[member] for member in group if member in number], dtype=np.int64)
            for group in groups
        ]
        longest = max((len(words) for words in self.words), default=1)
        self.spelled = np.zeros((len(self.units), longest), dtype=np.int64)
        for row, words in zip(self.spelled, self.words, strict=True):
            row[: len(words)] = words
        self.lengths = np.array([len(words) for words in self.words], dtype=np.int64)
        self.answers = np.array(vocab.encode(self.units), dtype=np.int64)
        """Each unit as an answer, which is one token; the null word if no answer of training is it."""
        self.unit_of_answer = np.full(len(vocab), NONE)
        self.unit_of_answer[self.answers] = np.arange(len(self.units))
        self.unit_of_answer[0] = NONE

    def __call__(self, batch: RaggedBatch, generator: np.random.Generator) -> RaggedBatch:
        """The same stories, told of others; a story stays as it is where a sentence would be too long."""
        if not self.units:
            return batch
        stories = len(batch.story_offsets) - 1
        drawn = np.tile(np.arange(len(self.units)), (stories, 1))
        for group in self.groups:
            drawn[:, group] = group[generator.random((stories, len(group))).argsort(1)]
        of_sentence = np.repeat(np.arange(stories), np.diff(batch.story_offsets.numpy()))
        of_question = batch.question_story.numpy()
        words, fits = self._told(batch.words.numpy(), of_sentence, drawn)
        asked, asked_fits = self._told(batch.question_words.numpy(), of_question, drawn)
        answers, answerable = self._answers(batch.answers.numpy(), of_question, drawn)
        stays = np.zeros(stories, dtype=np.bool_)
        stays[of_sentence[~fits]] = True
        stays[of_question[~(asked_fits & answerable)]] = True
        told, questioned = (
            torch.from_numpy(~stays[of_sentence]),
            torch.from_numpy(~stays[of_question]),
        )
        return replace(
            batch,
            words=torch.where(told.unsqueeze(1), torch.from_numpy(words), batch.words),
            question_words=torch.where(
                questioned.unsqueeze(1), torch.from_numpy(asked), batch.question_words
            ),
            answers=torch.where(questioned, torch.from_numpy(answers), batch.answers),
        )

    def _told(self, words: Ints, story: Ints, drawn: Ints) -> tuple[Ints, Ints]:
        """Texts with each unit replaced by what its story's draw puts there, and which of them fit."""
        texts, length = words.shape
        unit, inside = self._units(words)
        image = _image(drawn, story[:, None], unit)
        sizes = np.where(image == NONE, (words > 0) & ~inside, self.lengths[image])
        total = sizes.sum(1)
        flat = sizes.ravel()
        source = np.repeat(np.arange(texts * length), flat)
        first = np.cumsum(flat) - flat
        part = np.arange(len(source)) - first[source]
        image_of = image.ravel()[source]
        spelled = np.where(image_of == NONE, words.ravel()[source], self.spelled[image_of, part])
        row = source // length
        column = np.arange(len(source)) - (np.cumsum(total) - total)[row]
        made = np.zeros_like(words)
        there = column < length
        made[row[there], column[there]] = spelled[there]
        return made, total <= length

    def _units(self, words: Ints) -> tuple[Ints, Ints]:
        """At which word which unit begins, and which words are in a unit that began before: (N, L) both."""
        length = words.shape[1]
        begins = np.full(words.shape, NONE)
        covered = np.zeros(words.shape, dtype=np.bool_)
        # As texts are read: from the left, at each word the longest unit that begins there.
        for at in range(length):
            for number, unit in enumerate(self.words):
                if at + len(unit) <= length:
                    span = slice(at, at + len(unit))
                    here = ~covered[:, at] & (words[:, span] == unit).all(1)
                    begins[here, at] = number
                    covered[here, span] = True
        return begins, covered & (begins == NONE)

    def _answers(self, answers: Ints, story: Ints, drawn: Ints) -> tuple[Ints, Ints]:
        """The answers of the permuted stories, and which of them a network can give."""
        unit = self.unit_of_answer[answers]
        image = _image(drawn, story, unit)
        permuted = np.where(image == NONE, answers, self.answers[image])
        return permuted, (image == NONE) | (permuted > 0)


def _image(drawn: Ints, story: Ints, unit: Ints) -> Ints:
    """What each story's draw puts in the place of a unit; NONE where there is none."""
    image: Ints = np.where(unit == NONE, NONE, drawn[story, unit])
    return image
