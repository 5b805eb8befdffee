"""Questions of the Children's Book Test as whole sentences, each distinct sentence of the books held once.

A sentence stands in up to twenty contexts, and in more questions than that: a training file of 300 MB is
some 10 million words here. Words are read in lower case.

A network knows a word if the books have it often enough. Any other takes one of a few rows of the embedding
behind the known ones, by its spelling, so that two new names are told apart.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from entnet.data.cbt.format import BLANK, CANDIDATES, CONTEXT, CbtQuestion, iterate_cbt
from entnet.data.cbt.kept import Arrays, kept_beside
from entnet.data.cbt.windows import Ints, known_words
from entnet.data.story import RaggedBatch, ranges
from entnet.text import NULL_WORD, Vocab

Longs = NDArray[np.int64]
SCATTER = 2_654_435_761
"""Odd and large: neighbouring numbers, multiplied, are far apart."""


@dataclass(frozen=True)
class Passages:
    """Many questions in numbers."""

    words: Ints
    """Words of all sentences and queries, laid end to end."""
    offsets: Longs
    """(D + 1) where each sentence or query starts."""
    contexts: Ints
    """(Q, 20) sentences before each query."""
    queries: Ints
    """(Q) the query, a sentence with the blank in it."""
    candidates: Ints
    """(Q, 10)"""
    answers: Ints
    """(Q) the answer's place among the candidates."""
    spellings: Longs
    """Of each new word, a number that depends on its letters alone; the first is word ``known``."""
    known: int
    """Words from this number on are new."""

    def __len__(self) -> int:
        return len(self.answers)

    def batch(
        self,
        chosen: Longs,
        oov_rows: int,
        draw: np.random.Generator | None = None,
        oov_probability: float = 0.0,
    ) -> RaggedBatch:
        """These questions, each as a story of twenty sentences with its candidates.

        New words take the ``oov_rows`` rows behind the known ones. With a source of chance they take other
        ones in every batch, and ``oov_probability`` is how often a candidate is read as a new word.
        """
        stories = len(chosen)
        rows = self._rows(self.candidates[chosen], oov_rows, draw, oov_probability)
        sentences = np.concatenate([self.contexts[chosen].ravel(), self.queries[chosen]])
        starts, ends = self.offsets[sentences], self.offsets[sentences + 1]
        lengths = ends - starts
        words = np.zeros((len(sentences), int(lengths.max())), dtype=np.int64)
        words[np.arange(words.shape[1]) < lengths[:, None]] = rows[self.words[ranges(starts, ends)]]
        offsets = torch.arange(stories + 1) * CONTEXT
        return RaggedBatch(
            words=torch.from_numpy(words[: CONTEXT * stories]),
            story_offsets=offsets,
            question_words=torch.from_numpy(words[CONTEXT * stories :]),
            question_step=offsets[1:] - 1,
            answers=torch.from_numpy(self.answers[chosen].astype(np.int64)),
            story_keys=torch.from_numpy(rows[self.candidates[chosen]]),
        )

    def _rows(
        self,
        candidates: Ints,
        oov_rows: int,
        draw: np.random.Generator | None,
        oov_probability: float,
    ) -> Longs:
        """The embedding's row of every word, new ones and those read as new included."""
        rows = np.arange(self.known + len(self.spellings))
        if not oov_rows:
            rows[self.known :] = 0
            return rows
        shift = 0 if draw is None else int(draw.integers(oov_rows))
        rows[self.known :] = self.known + (self.spellings + shift) % oov_rows
        if draw is not None and oov_probability:
            words = np.unique(candidates[candidates < self.known])
            hidden = words[draw.random(len(words)) < oov_probability].astype(np.int64)
            rows[hidden] = self.known + (hidden * SCATTER + shift) % oov_rows
        return rows


class _Collector:
    """Gathers questions, with words and sentences numbered as they come."""

    def __init__(self) -> None:
        self.index = {NULL_WORD: 0, BLANK.lower(): 1}
        self.counts: Counter[str] = Counter()
        """How often each word stands in the distinct sentences before the queries."""
        self.sentences: dict[str, int] = {}
        self.words: list[Ints] = []
        self.contexts: list[list[int]] = []
        self.queries: list[int] = []
        self.candidates: list[list[int]] = []
        self.answers: list[int] = []

    def add(self, question: CbtQuestion) -> None:
        self.contexts.append([self._sentence(text) for text in question.sentences])
        self.queries.append(self._new(question.query.lower().split(" ")))
        candidates = [self._word(word.lower()) for word in question.candidates]
        answer = question.answer_index
        # A question with fewer than ten candidates repeats one that is not the answer.
        spare = candidates[0 if answer else -1]
        self.candidates.append(candidates + [spare] * (CANDIDATES - len(candidates)))
        self.answers.append(answer)

    def finish(self, vocab: Vocab) -> Passages:
        """All questions, for networks that know these words; rows for new ones may stand behind them."""
        known = known_words(vocab)
        row_of = np.zeros(len(self.index), dtype=np.int32)
        spellings: list[int] = []
        for word, number in self.index.items():
            row_of[number] = vocab.index.get(word, known + len(spellings))
            if row_of[number] >= known:
                row_of[number] = known + len(spellings)
                spellings.append(zlib.crc32(word.encode()))
        return Passages(
            row_of[np.concatenate(self.words)],
            np.cumsum([0, *map(len, self.words)]),
            np.array(self.contexts, dtype=np.int32),
            np.array(self.queries, dtype=np.int32),
            row_of[np.array(self.candidates)],
            np.array(self.answers, dtype=np.int32),
            np.array(spellings, dtype=np.int64),
            known,
        )

    def _sentence(self, text: str) -> int:
        number = self.sentences.get(text)
        if number is None:
            tokens = text.lower().split(" ")
            self.counts.update(tokens)
            number = self.sentences[text] = self._new(tokens)
        return number

    def _new(self, tokens: list[str]) -> int:
        numbers = [self._word(token) for token in tokens]
        self.words.append(np.array(numbers, dtype=np.int32))
        return len(self.words) - 1

    def _word(self, word: str) -> int:
        return self.index.setdefault(word, len(self.index))


def encode_passages(
    questions: Iterable[CbtQuestion], vocab: Vocab | None = None, least: int = 2
) -> tuple[Passages, Vocab]:
    """Questions in numbers; without a vocabulary, that of words that their sentences have so often."""
    collector = _Collector()
    for question in questions:
        collector.add(question)
    if vocab is None:
        often = (word for word, count in collector.counts.items() if count >= least)
        vocab = Vocab.build([BLANK.lower(), *often])
    return collector.finish(vocab), vocab


def load_passages(path: Path, least: int = 2) -> tuple[Passages, Vocab]:
    """``encode_passages`` of a training file, kept beside it."""

    def make() -> tuple[Arrays, Vocab]:
        encoded, vocab = encode_passages(iterate_cbt(path), None, least)
        names = Passages.__dataclass_fields__
        return {name: getattr(encoded, name) for name in names if name != "known"}, vocab

    arrays, vocab = kept_beside(path, f"{least}.passages", f"1 {least}", make)
    return Passages(**arrays, known=len(vocab)), vocab
