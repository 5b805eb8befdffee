"""Questions of the Children's Book Test as windows of words round the candidates' occurrences.

A story becomes the windows of five words centred on every place where a candidate stands, in the order of
reading, those of the query last. The query is the window round its blank. Words are read in lower case.

A network knows a word if its training books have it often enough. The others are *new*: within a question
they are numbered from ``len(vocab)`` on, in the order in which they are met, and a network has a few rows
of its embedding for them. So a name that no training book has is still told apart from other candidates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from entnet.data.cbt.format import BLANK, CANDIDATES, CbtQuestion, iterate_cbt
from entnet.data.cbt.kept import Arrays, kept_beside
from entnet.data.story import Corpus
from entnet.text import NULL_WORD, Vocab

WINDOW = 5
"""Words in a window."""
QUERY_REACH = 10
"""Words kept to either side of the blank; a network may look at fewer."""
OOV_WORD = "<new-{}>"
"""Name of the embedding rows for new words."""

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class WindowedQuestions:
    """Many questions in numbers, laid end to end."""

    windows: Ints
    """(N, 5)"""
    centres: Ints
    """(N) the candidate in the middle of each window."""
    offsets: NDArray[np.int64]
    """(Q + 1) where each question's windows start."""
    candidates: Ints
    """(Q, 10)"""
    queries: Ints
    """(Q, 21) words round the blank, which is in the middle."""
    answers: Ints
    """(Q) the answer's place among the candidates."""
    known: int
    """Words from this number on are new."""

    def __len__(self) -> int:
        return len(self.answers)

    def choose(self, chosen: NDArray[np.int64]) -> WindowedQuestions:
        """These questions, in this order."""
        lengths = np.diff(self.offsets)[chosen]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        rows = np.repeat(self.offsets[chosen], lengths) + within
        return WindowedQuestions(
            self.windows[rows],
            self.centres[rows],
            offsets,
            self.candidates[chosen],
            self.queries[chosen],
            self.answers[chosen],
            self.known,
        )

    def query_windows(self, width: int) -> Ints:
        """(Q, width) the words nearest to the blank."""
        middle = self.queries.shape[1] // 2
        return np.ascontiguousarray(
            self.queries[:, middle - width // 2 : middle + (width + 1) // 2]
        )

    def corpus(
        self,
        oov_rows: int,
        query_width: int = WINDOW,
        draw: np.random.Generator | None = None,
        oov_probability: float = 0.0,
    ) -> Corpus:
        """The same questions as stories, one window per sentence, for networks that read those.

        Out-of-vocabulary words share ``oov_rows`` embedding rows after the vocabulary: assigned in order,
        or from a random offset if ``draw`` is given. With ``draw``, each candidate is also replaced by
        such a row with probability ``oov_probability``.
        """
        width = max(WINDOW, query_width)
        story = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        shift = np.zeros(len(self), dtype=np.int64)
        words = [self.windows, self.query_windows(query_width), self.candidates]
        owner = [story, np.arange(len(self)), np.arange(len(self))]
        if draw is not None and oov_rows:
            shift = draw.integers(0, oov_rows, len(self))
        rows = [
            as_rows(part, self.known, oov_rows, shift[of][:, None])
            for part, of in zip(words, owner, strict=True)
        ]
        if draw is not None and oov_rows and oov_probability:
            hidden = draw.random(self.candidates.shape) < oov_probability
            for part, of, out in zip(words, owner, rows, strict=True):
                for slot in range(self.candidates.shape[1]):
                    same = (part == self.candidates[of, slot][:, None]) & hidden[of, slot][:, None]
                    spare = self.known + (shift[of] + oov_rows - 1 - slot) % oov_rows
                    np.copyto(out, np.broadcast_to(spare[:, None], out.shape), where=same)
        return Corpus(
            words=_pad(rows[0], width),
            story_offsets=self.offsets,
            question_words=_pad(rows[1], width),
            question_story=np.arange(len(self)),
            question_after=np.diff(self.offsets),
            answers=self.answers.astype(np.int64),
            unknown_answers=np.full(len(self), False),
            story_keys=rows[2],
        )


def as_rows(
    words: NDArray[np.integer], known: int, oov_rows: int, shift: int | NDArray[np.int64] = 0
) -> NDArray[np.int64]:
    """Rows of the embedding: new words take the OOV rows in turn, ``shift`` on from the first."""
    words = words.astype(np.int64)
    if not oov_rows:
        return np.where(words < known, words, 0)
    return np.where(words < known, words, known + (words - known + shift) % oov_rows)


def _pad(words: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    return np.pad(words, ((0, 0), (0, width - words.shape[1])))


def question_words(question: CbtQuestion) -> Iterator[str]:
    """Every token of a question, in lower case."""
    for text in (*question.sentences, question.query):
        yield from text.lower().split(" ")
    yield from (candidate.lower() for candidate in question.candidates)


class _Numbering:
    """Numbers for words as they are met, and for sentences once."""

    def __init__(self, words: Iterable[str] = (NULL_WORD,)) -> None:
        self.index = {word: number for number, word in enumerate(words)}
        self.sentences: dict[str, Ints] = {}
        self.counts: Counter[str] = Counter()

    def word(self, word: str) -> int:
        return self.index.setdefault(word, len(self.index))

    def sentence(self, text: str) -> Ints:
        numbers = self.sentences.get(text)
        if numbers is None:
            tokens = text.lower().split(" ")
            self.counts.update(tokens)
            numbers = np.array([self.word(token) for token in tokens], dtype=np.int32)
            if len(self.sentences) > 50_000:  # a few books' worth; memory stays bounded
                self.sentences.clear()
            self.sentences[text] = numbers
        return numbers


class _Collector:
    """Gathers questions, with words numbered as they come."""

    def __init__(self, numbering: _Numbering) -> None:
        self.numbering = numbering
        self.windows: list[Ints] = []
        self.centres: list[Ints] = []
        self.candidates: list[Ints] = []
        self.queries: list[Ints] = []
        self.answers: list[int] = []
        self.slot_of = np.full(1 << 16, -1, dtype=np.int32)

    def add(self, question: CbtQuestion) -> None:
        number = self.numbering
        query = question.query.lower().split(" ")
        blank = query.index(BLANK.lower())
        parts = [number.sentence(text) for text in question.sentences]
        number.sentence(question.query.replace(BLANK, question.answer, 1))  # for the counts alone
        asked = np.array([number.word(word) for word in query], dtype=np.int32)
        candidates = np.array(
            [number.word(word.lower()) for word in question.candidates], dtype=np.int32
        )
        text = np.concatenate([*parts, asked])
        reach = WINDOW // 2
        padded = np.pad(text, reach)
        if len(number.index) > len(self.slot_of):
            more = np.full(len(number.index), -1, dtype=np.int32)
            self.slot_of = np.concatenate([self.slot_of, more])
        self.slot_of[candidates[::-1]] = np.arange(len(candidates), dtype=np.int32)[::-1]
        found = np.flatnonzero(self.slot_of[text] >= 0)
        self.centres.append(self.slot_of[text[found]])
        self.slot_of[candidates] = -1
        self.windows.append(padded[found[:, None] + np.arange(WINDOW)])
        around = np.pad(asked, QUERY_REACH)[blank : blank + 2 * QUERY_REACH + 1]
        self.queries.append(around)
        # A question with fewer than ten candidates repeats one that is not the answer.
        answer = question.answer_index
        spare = candidates[0 if answer else -1]
        fill = np.full(CANDIDATES - len(candidates), spare, dtype=np.int32)
        self.candidates.append(np.concatenate([candidates, fill]))
        self.answers.append(answer)

    def finish(self, known: int, row_of: Ints | None) -> WindowedQuestions:
        """All questions; ``row_of`` says which of the numbers are known words, and as what."""
        offsets = np.concatenate(([0], np.cumsum([len(windows) for windows in self.windows])))
        if row_of is not None:
            for one in zip(self.candidates, self.windows, self.queries, strict=True):
                _renumber(one, known, row_of)
        return WindowedQuestions(
            np.concatenate(self.windows).astype(np.int32),
            np.concatenate(self.centres),
            offsets.astype(np.int64),
            np.stack(self.candidates),
            np.stack(self.queries),
            np.array(self.answers, dtype=np.int32),
            known,
        )


def _renumber(one: tuple[Ints, ...], known: int, row_of: Ints) -> None:
    """Known words by their row; new ones from ``known`` on, in the order in which they are met."""
    new: dict[int, int] = {}
    for words in one:
        rows = row_of[words]
        for place in np.argwhere(rows < 0):
            word = int(words[tuple(place)])
            rows[tuple(place)] = new.setdefault(word, known + len(new))
        words[...] = rows


def encode_training(
    questions: Iterable[CbtQuestion], least: int = 2
) -> tuple[WindowedQuestions, Vocab]:
    """Questions to learn from, and the vocabulary of words that they have at least so often."""
    numbering = _Numbering()
    collector = _Collector(numbering)
    for question in questions:
        collector.add(question)
    counts = numbering.counts
    vocab = Vocab.build(
        [BLANK.lower(), *(word for word in numbering.index if counts[word] >= least)]
    )
    row_of = np.array([vocab.index.get(word, -1) for word in numbering.index], dtype=np.int32)
    return collector.finish(len(vocab), row_of), vocab


def encode_with(questions: Iterable[CbtQuestion], vocab: Vocab) -> WindowedQuestions:
    """Questions for networks that know these words; OOV rows may stand at the vocabulary's end."""
    known = known_words(vocab)
    numbering = _Numbering(vocab.words[:known])
    collector = _Collector(numbering)
    for question in questions:
        collector.add(question)
    rows = np.arange(len(numbering.index), dtype=np.int32)
    return collector.finish(known, np.where(rows < known, rows, -1).astype(np.int32))


def known_words(vocab: Vocab) -> int:
    """How many words of the vocabulary are words, not rows for new ones."""
    first = OOV_WORD.format(0)
    return vocab.index.get(first, len(vocab))


def with_oov_rows(vocab: Vocab, oov_rows: int) -> Vocab:
    """The vocabulary with rows for new words behind it."""
    return Vocab(
        [*vocab.words[: known_words(vocab)], *(OOV_WORD.format(n) for n in range(oov_rows))]
    )


def load_training(path: Path, least: int = 2) -> tuple[WindowedQuestions, Vocab]:
    """``encode_training`` of a file, kept beside it."""

    def make() -> tuple[Arrays, Vocab]:
        encoded, vocab = encode_training(iterate_cbt(path), least)
        names = WindowedQuestions.__dataclass_fields__
        return {name: getattr(encoded, name) for name in names if name != "known"}, vocab

    layout = f"2 {least} {WINDOW} {QUERY_REACH}"
    arrays, vocab = kept_beside(path, f"{least}.windows", layout, make)
    return WindowedQuestions(**arrays, known=len(vocab)), vocab


def shuffled(count: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """The order in which an epoch reads the questions."""
    generator = torch.Generator().manual_seed(seed * 100_003 + epoch)
    return torch.randperm(count, generator=generator).numpy()
