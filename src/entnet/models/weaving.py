"""Stories as one stream of words each, with the questions at their places, as the DNC's paper reads them.

    mary went to the kitchen . where is mary ? - john … .

A sentence ends with '.', a question with '?'. After a question come blank steps, if any, and then '-', at
which the answer is due. The answer itself is never part of the stream. As an answer is one word of the
vocabulary (lists too), there is one '-' per question; with the paper's one per word of the answer, the
input gives away how long the answer to a question of tasks 8 and 19 is.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from entnet.data.story import RaggedBatch

MARKS = 4
"""Tokens besides the vocabulary, numbered from its size on: '.', '?', '-', and the blank step."""


class Stream(NamedTuple):
    """Stories word by word, one after the other."""

    tokens: Tensor
    """(N)"""
    lengths: Tensor
    """(S) tokens of each story"""
    answers: Tensor
    """(Q) where in ``tokens`` each question's answer is due"""


def weave(batch: RaggedBatch, vocabulary: int, blank_steps: int = 0) -> Stream:
    """The stream of each story, from its sentences and questions."""
    stop, asked, due, blank = range(vocabulary, vocabulary + MARKS)
    sentences = _ended(batch.words, [stop])
    questions = _ended(batch.question_words, [asked, *[blank] * blank_steps, due])
    width = max(sentences.shape[1], questions.shape[1])
    pieces = torch.cat([_widened(sentences, width), _widened(questions, width)])
    # A question follows the sentence after which it is asked, and the questions asked there before it.
    rows = torch.arange(batch.sentences, device=pieces.device)
    order = torch.cat([2 * rows, 2 * batch.question_step + 1]).argsort(stable=True)
    stories = torch.cat(
        [
            torch.searchsorted(batch.story_offsets, rows, right=True) - 1,
            batch.question_story,
        ]
    )
    sizes = (pieces != 0).sum(1)
    lengths = sizes.new_zeros(len(batch.story_offsets) - 1).index_add(0, stories, sizes)
    laid = pieces[order]
    ends = torch.empty_like(sizes)
    ends[order] = sizes[order].cumsum(0)
    return Stream(laid[laid != 0], lengths, ends[batch.sentences :] - 1)


def _ended(words: Tensor, marks: list[int]) -> Tensor:
    """Rows of words, each followed by these marks: (N, L) → (N, L + marks)"""
    room = words.new_zeros((len(words), len(marks)))
    ended = torch.cat([words, room], 1)
    places = (words != 0).sum(1, keepdim=True) + torch.arange(len(marks), device=words.device)
    return ended.scatter(1, places, words.new_tensor(marks).expand(len(words), -1))


def _widened(pieces: Tensor, width: int) -> Tensor:
    return torch.nn.functional.pad(pieces, (0, width - pieces.shape[1]))
