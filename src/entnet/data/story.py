"""Stories with questions in them, and many of them laid end to end for a network to read.

A story is read once. All of its questions are answered from the states that one pass goes through, so a
batch holds each story once, however many questions it has. That is exact, with one exception: a question
whose past is longer than the memory limit must not see the sentences beyond it, and so it gets an entry
of its own, which starts later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from entnet.data.context import Context, Held
from entnet.text import Vocab, answer_token, tokenise

Draw = Literal["story", "question"]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Question:
    """A question asked when ``after`` sentences of its story have been read."""

    after: int
    text: str
    answer: str
    supports: tuple[int, ...] = ()
    """Supporting facts: positions of sentences in the story, counted from 0, in the file's order."""


@dataclass(frozen=True, slots=True)
class Story:
    """Sentences in order, and the questions asked among them."""

    sentences: tuple[str, ...]
    questions: tuple[Question, ...]


def story_words(stories: Iterable[Story], lowercase: bool = True) -> set[str]:
    """Every word of the stories: sentences, questions and answers."""
    texts: set[str] = set()
    words: set[str] = set()
    for story in stories:
        texts.update(story.sentences)
        for question in story.questions:
            texts.add(question.text)
            words.add(answer_token(question.answer, lowercase))
    for text in texts:
        words.update(tokenise(text, lowercase))
    return words


def longest_sentence(stories: Iterable[Story]) -> int:
    """Words in the longest sentence or question."""
    texts = {text for story in stories for text in story.sentences}
    texts |= {question.text for story in stories for question in story.questions}
    return max((len(tokenise(text)) for text in texts), default=1)


@dataclass(frozen=True)
class RaggedBatch:
    """S stories laid end to end: N sentences, Q questions, nothing padded along the story."""

    words: Tensor
    """(N, L) words of every sentence, the null word filling up."""
    story_offsets: Tensor
    """(S + 1) where each story starts in ``words``; the last is N."""
    question_words: Tensor
    """(Q, L) words of every question."""
    question_step: Tensor
    """(Q) the row of ``words`` after which the question is asked."""
    answers: Tensor
    """(Q) the answer's word or, where slots are the candidates, its slot."""
    story_keys: Tensor | None = None
    """(S, m) words that the slots of each story stand for, where keys differ per story."""
    quiet: Tensor | None = None
    """(N) sentences that are known to mean nothing, and should open no gate; only training looks at it."""
    supports: Tensor | None = None
    """(Q, F) rows of ``words`` that each answer follows from, as far as they are read, −1 filling up; none
    where the data do not say. No network of the package looks at them."""

    same_ends: RaggedBatch | None = None
    """For each story another that ends in the same state of the world, without questions."""

    @property
    def questions(self) -> int:
        return int(self.answers.shape[0])

    @property
    def sentences(self) -> int:
        return int(self.words.shape[0])

    @property
    def question_story(self) -> Tensor:
        """(Q) the story that each question belongs to."""
        return torch.searchsorted(self.story_offsets, self.question_step, right=True) - 1

    def to(self, device: torch.device | str) -> RaggedBatch:
        keys = None if self.story_keys is None else self.story_keys.to(device)
        return RaggedBatch(
            self.words.to(device),
            self.story_offsets.to(device),
            self.question_words.to(device),
            self.question_step.to(device),
            self.answers.to(device),
            keys,
            None if self.quiet is None else self.quiet.to(device),
            None if self.supports is None else self.supports.to(device),
            None if self.same_ends is None else self.same_ends.to(device),
        )


@dataclass
class Corpus:
    """Stories turned into numbers once, from which batches are gathered."""

    words: Ints
    """(N, L) all sentences of all stories."""
    story_offsets: Ints
    """(S + 1)"""
    question_words: Ints
    """(Q, L)"""
    question_story: Ints
    """(Q) which story"""
    question_after: Ints
    """(Q) how many of its sentences are read when it is asked, at least 1"""
    answers: Ints
    """(Q)"""
    unknown_answers: NDArray[np.bool_]
    """(Q) questions whose answer the vocabulary lacks; ``answers`` then has the null word."""
    unknown_words: list[str] = field(default_factory=list)
    """Words of the stories that the vocabulary lacks."""
    story_keys: Ints | None = None
    """(S, m)"""
    supports: Ints | None = None
    """(Q, F) each question's supporting facts: sentences of its story, counted from 0, −1 filling up"""

    @classmethod
    def encode(
        cls,
        stories: Sequence[Story],
        vocab: Vocab,
        sentence_length: int | None = None,
        lowercase: bool = True,
        context: Context | None = None,
    ) -> Corpus:
        """Turn stories into numbers. Sentences longer than ``sentence_length`` are an error.

        With a context, its words stand in the last of these places.
        """
        known: dict[str, list[int]] = {}
        unknown: dict[str, None] = {}

        def numbers(text: str) -> list[int]:
            ids = known.get(text)
            if ids is None:
                tokens = tokenise(text, lowercase)
                unknown.update(dict.fromkeys(vocab.unknown(tokens)))
                ids = known[text] = vocab.encode(tokens)
            return ids

        sentences = [numbers(text) for story in stories for text in story.sentences]
        asked = [(i, question) for i, story in enumerate(stories) for question in story.questions]
        questions = [numbers(question.text) for _, question in asked]
        answers = [answer_token(question.answer, lowercase) for _, question in asked]
        unknown.update(dict.fromkeys(vocab.unknown(answers)))
        longest = max((len(ids) for ids in known.values()), default=1)
        length = sentence_length or max(longest, 1)
        most = length - (context.size if context else 0)
        if longest > most:
            culprit = max(known, key=lambda text: len(known[text]))
            raise ValueError(
                f"a sentence of {longest} words, where this network reads at most {most}: "
                f"{culprit!r}"
            )
        offsets = np.cumsum([0, *(len(story.sentences) for story in stories)])
        words = _padded(sentences, length)
        if context is not None:
            for first, last in pairwise(offsets.tolist()):
                held = Held()
                for row in range(first, last):
                    beside, held = context.heard(sentences[row], held)
                    words[row, most:] = beside
        return cls(
            words=words,
            story_offsets=offsets,
            question_words=_padded(questions, length),
            question_story=np.array([i for i, _ in asked], dtype=np.int64),
            question_after=np.array([question.after for _, question in asked], dtype=np.int64),
            answers=np.array(vocab.encode(answers), dtype=np.int64),
            unknown_answers=np.array([answer not in vocab for answer in answers], dtype=np.bool_),
            unknown_words=list(unknown),
            supports=_supports([question for _, question in asked]),
        )

    @property
    def questions(self) -> int:
        return len(self.answers)

    def entries(self, draw: Draw = "story", memory_limit: int | None = None) -> Entries:
        """What is read to answer every question: one pass per story, or one per question.

        With a memory limit, a question asked after more sentences than that reads the last of them only,
        in an entry of its own.
        """
        order = np.lexsort((self.question_after, self.question_story))
        story, after = self.question_story[order], self.question_after[order]
        limited = np.full(len(order), False) if memory_limit is None else after > memory_limit
        alone = limited | (draw == "question")
        # A new entry begins at each question that stands alone, and at each story's first shared pass.
        fresh = np.full(len(order), True)
        fresh[1:] = (story[1:] != story[:-1]) | alone[1:] | alone[:-1]
        first = np.flatnonzero(fresh)
        last = np.append(first[1:], len(order)) - 1
        base = self.story_offsets[story[first]] if len(first) else np.zeros(0, dtype=np.int64)
        skip = np.where(limited[first], after[first] - (memory_limit or 0), 0)
        return Entries(
            corpus=self,
            start=base + skip,
            end=base + after[last],
            question_order=order,
            question_offsets=np.append(first, len(order)),
        )


@dataclass(frozen=True)
class Entries:
    """Stretches of a corpus to be read from their first sentence to their last, with their questions."""

    corpus: Corpus
    start: Ints
    end: Ints
    question_order: Ints
    """Questions of the corpus, sorted so that each entry's stand together."""
    question_offsets: Ints
    """Where each entry's questions start in ``question_order``."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def questions_per_entry(self) -> Ints:
        return np.diff(self.question_offsets)

    def questions_of(self, chosen: Ints) -> Ints:
        """Numbers, in the corpus, of the questions that ``batch(chosen)`` asks, in its order."""
        return self.question_order[
            ranges(self.question_offsets[chosen], self.question_offsets[chosen + 1])
        ]

    def batch(self, chosen: Ints) -> RaggedBatch:
        """Lay the chosen entries end to end."""
        corpus = self.corpus
        lengths = self.end[chosen] - self.start[chosen]
        rows = ranges(self.start[chosen], self.end[chosen])
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        questions = self.questions_of(chosen)
        entry = np.repeat(np.arange(len(chosen)), self.questions_per_entry[chosen])
        story_start = corpus.story_offsets[corpus.question_story[questions]]
        read = story_start + corpus.question_after[questions] - self.start[chosen][entry]
        keys = None
        if corpus.story_keys is not None:
            story = np.searchsorted(corpus.story_offsets, self.start[chosen], side="right") - 1
            keys = torch.from_numpy(corpus.story_keys[story])
        supports = None
        if corpus.supports is not None:
            facts, first = corpus.supports[questions], self.start[chosen][entry] - story_start
            heard = (facts >= first[:, None]) & (facts < (first + read)[:, None]) & (facts >= 0)
            rows_of_facts = facts + (offsets[entry] - first)[:, None]
            supports = torch.from_numpy(np.where(heard, rows_of_facts, -1))
        return RaggedBatch(
            words=torch.from_numpy(corpus.words[rows]),
            story_offsets=torch.from_numpy(offsets),
            question_words=torch.from_numpy(corpus.question_words[questions]),
            question_step=torch.from_numpy(offsets[entry] + read - 1),
            answers=torch.from_numpy(corpus.answers[questions]),
            story_keys=keys,
            supports=supports,
        )

    def groups(
        self,
        size: int,
        order: Ints | None = None,
        of: Literal["questions", "stories"] = "questions",
    ) -> list[Ints]:
        """Cut entries, in the given order, into groups of about so many questions, or of so many stories.

        A group is closed as soon as it has at least ``size`` questions, so whole stories stay together.
        """
        order = np.arange(len(self)) if order is None else order
        if of == "stories":
            return [order[first : first + size] for first in range(0, len(order), size)]
        closes, held = [], 0
        for place, count in enumerate(self.questions_per_entry[order].tolist(), start=1):
            held += count
            if held >= size:
                closes.append(place)
                held = 0
        return [group for group in np.split(order, closes) if len(group)]

    def batches(
        self,
        groups: Sequence[Ints],
        change: Callable[[RaggedBatch], RaggedBatch] | None = None,
    ) -> Iterator[RaggedBatch]:
        """The batch of every group. All are gathered, and changed, at once and handed out as views."""
        if not groups:
            return
        everything = self.batch(np.concatenate(groups))
        if change is not None:
            everything = change(everything)
        sizes = np.array([len(group) for group in groups])
        questions = np.array([int(self.questions_per_entry[group].sum()) for group in groups])
        story = question = 0
        for stories, asked in zip(sizes.tolist(), questions.tolist(), strict=True):
            first = int(everything.story_offsets[story])
            last = int(everything.story_offsets[story + stories])
            keys, quiet = everything.story_keys, everything.quiet
            supports = everything.supports
            if supports is not None:
                supports = supports[question : question + asked]
                supports = torch.where(supports < 0, -1, supports - first)
            yield RaggedBatch(
                words=everything.words[first:last],
                story_offsets=everything.story_offsets[story : story + stories + 1] - first,
                question_words=everything.question_words[question : question + asked],
                question_step=everything.question_step[question : question + asked] - first,
                answers=everything.answers[question : question + asked],
                story_keys=None if keys is None else keys[story : story + stories],
                quiet=None if quiet is None else quiet[first:last],
                supports=supports,
            )
            story += stories
            question += asked


def _supports(questions: Sequence[Question]) -> Ints | None:
    longest = max((len(question.supports) for question in questions), default=0)
    if not longest:
        return None
    facts = np.full((len(questions), longest), -1, dtype=np.int64)
    for row, question in zip(facts, questions, strict=True):
        row[: len(question.supports)] = question.supports
    return facts


def _padded(rows: Sequence[Sequence[int]], length: int) -> Ints:
    out = np.zeros((len(rows), length), dtype=np.int64)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def ranges(starts: Ints, ends: Ints) -> Ints:
    """``starts[0] … ends[0] − 1, starts[1] … ends[1] − 1, …`` as one array."""
    lengths = ends - starts
    total = int(lengths.sum())
    first = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return first + np.arange(total)
