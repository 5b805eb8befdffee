"""What readers of whole sentences share: a story with ten candidates for the word that a query lacks.

code        shape       meaning
words       (T)         words laid end to end, without the null words that fill up sentences
lengths     (D)         how many of them each sequence has
keys        (S, m)      the candidates that come with a story
blank                   the word that stands for the missing one; the end of a query without it
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from entnet.config import ModelConfig
from entnet.data.cbt.format import BLANK, CANDIDATES
from entnet.data.cbt.windows import OOV_WORD, known_words
from entnet.data.story import RaggedBatch
from entnet.errors import EntNetError
from entnet.models.base import Answers, StoryModel
from entnet.models.entnet import EntNet
from entnet.text import Vocab


class PassageReader(StoryModel):
    """Scores the candidates of one question, asked when its story has been read."""

    def __init__(self, config: ModelConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        self.blank = vocab.index.get(BLANK.lower(), -1)

    embedding: nn.Parameter
    """(V, d)"""

    def start_from(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Begin with these embeddings, where words have one."""
        for word, vector in vectors.items():
            if len(vector) != self.embedding.shape[1]:
                raise EntNetError(
                    f"the vectors have {len(vector)} numbers each, width is {self.embedding.shape[1]}: "
                    f"set width={len(vector)}"
                )
            if word in self.vocab:
                with torch.no_grad():
                    self.embedding[self.vocab.index[word]] = torch.from_numpy(vector)

    @torch.no_grad()
    def begin_as(self, simple: EntNet, frozen: bool = False) -> None:
        """Take over the embeddings of a network on windows, those of its spare rows for new words included.

        ``frozen``: they are not trained.
        """
        if simple.embedding.shape[1] != self.embedding.shape[1]:
            raise EntNetError(
                f"a network with width {self.embedding.shape[1]} is needed to begin as, "
                f"not {simple.embedding.shape[1]}"
            )
        self.embedding.requires_grad_(not frozen)
        known = known_words(self.vocab)
        spare = len(simple.vocab) - known_words(simple.vocab)
        for number, word in enumerate(self.vocab.words):
            if word in simple.vocab:
                self.embedding[number] = simple.embedding[simple.vocab.index[word]]
            elif spare and number >= known:
                row = simple.vocab.index[OOV_WORD.format((number - known) % spare)]
                self.embedding[number] = simple.embedding[row]

    def after_update(self) -> None:
        """The null word stays zero."""
        with torch.no_grad():
            self.embedding[0] = 0

    @property
    def answers(self) -> Answers:
        return "candidates"

    @property
    def keys_per_story(self) -> int:
        return CANDIDATES

    @property
    def reads_any_length(self) -> bool:
        return True


class Sequences(NamedTuple):
    """Rows of words without what fills them up."""

    words: Tensor
    """(T)"""
    lengths: Tensor
    """(D)"""

    @property
    def starts(self) -> Tensor:
        """(D) where each sequence begins in ``words``."""
        return self.lengths.cumsum(0) - self.lengths


def sequences(rows: Tensor) -> Sequences:
    """Rows (D, L) of words, null words behind; a row of null words keeps one, so that it can be read."""
    real = rows != 0
    real[:, 0] |= ~real.any(1)
    return Sequences(rows[real], real.sum(1))


def joined(*parts: Sequences) -> Sequences:
    return Sequences(*(torch.cat(pieces) for pieces in zip(*parts, strict=True)))


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Each distinct row once (D, L), and which of these every row (N) is."""
    given = np.ascontiguousarray(rows.cpu().numpy())
    whole = given.view(np.dtype((np.void, given.shape[1] * given.itemsize))).ravel()
    _, first, which = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")  # as they are met
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    device = rows.device
    return rows[torch.from_numpy(first[order]).to(device)], torch.from_numpy(rank[which]).to(device)


def places_of(word: int, asked: Sequences) -> Tensor:
    """(D) where in ``words`` each query has its blank; else its last word."""
    last = asked.lengths.cumsum(0) - 1
    found = (asked.words == word).nonzero().squeeze(1)
    of = torch.searchsorted(last, found)
    # Where there are several blanks, the first counts.
    return last.scatter_reduce(0, of, found, "amin")


def story_keys(batch: RaggedBatch) -> Tensor:
    """(S, m) the candidates that every story must bring."""
    if batch.story_keys is None:
        raise EntNetError("this network scores the candidates of a question, and none were given")
    return batch.story_keys
