"""Which words stand in the same places, beside the same words: counts per story, and a test of them.

If a permutation π of words is a symmetry, a story is as likely as its permuted form. Then the difference
between how often a story has something and how often it has the permuted thing is as likely positive as
negative, story by story. With d the differences, Σd / √Σd² exceeds t in size with a probability of at most
2·exp(−t²/2), whatever the stories are: sentences of one story need not be independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from entnet.symmetries.telling import Asked, Telling, Told, Words

Ints = NDArray[np.int64]
Part = tuple[object, Words, Words | None]
"""What is counted: the words of one text, each with the others, or those of two; and what the texts are."""

NOTHING = -1
NO_ROW = -2
NO_ROWS = np.zeros((3, 0), dtype=np.int64)
COMMON = 0.5
"""Words in more sentences than this share tell nothing of what a sentence is about."""


@dataclass(frozen=True)
class Difference:
    """Where a permutation shows most: how a word and its image differ."""

    z: float
    word: int
    kind: int
    beside: int
    """The word beside it, or NOTHING."""


class Counts:
    """How often each story has each word in each kind of place, beside each other word."""

    def __init__(self, telling: Telling) -> None:
        self.size = len(telling.words)
        self.stories = len(telling.stories)
        self.common = common_words(telling)
        topics = topic_words(telling)
        numbers: dict[Part, int] = {}  # parts come again and again
        told = [
            [numbers.setdefault(part, len(numbers)) for part in _parts(story, self.common, topics)]
            for story in telling.stories
        ]
        part = np.array([number for numbered in told for number in numbered], dtype=np.int64)
        story = np.repeat(np.arange(self.stories), [len(numbered) for numbered in told])
        table, of_part, self.kinds = _rows(numbers)
        self.width = self.kinds * self.stories
        key = (table[0] * (self.size + 1) + table[1] + 1) * self.kinds + table[2]
        self._sort(*_repeated(key, of_part, part, story))

    def _sort(self, keys: Ints, stories: Ints) -> None:
        combined, self.count = np.unique(keys * self.stories + stories, return_counts=True)
        width = (self.size + 1) * self.width
        self.start = np.searchsorted(combined, np.arange(self.size + 1) * width)
        self.key = combined % width
        """Of each row the word beside it, the kind of place and the story: those of a word are in order."""

    def of(self, word: int) -> slice:
        """Where the rows of a word are."""
        return slice(int(self.start[word]), int(self.start[word + 1]))

    def _alone(self, word: int) -> slice:
        """Where the rows of a word are that have no word beside it: the first ones."""
        rows = self.of(word)
        return slice(rows.start, rows.start + int(self.key[rows].searchsorted(self.width)))

    def row_count(self, word: int) -> int:
        """How much there is to compare of a word."""
        rows = self.of(word)
        return int(rows.stop) - int(rows.start)

    @cache  # noqa: B019 - lives as long as the counts
    def story_count(self, word: int) -> int:
        """How many stories have the word."""
        return int(np.count_nonzero(np.bincount(self.key[self.of(word)] % self.stories)))

    @cache  # noqa: B019
    def places(self, word: int) -> frozenset[int]:
        """Kinds of places the word stands in, whatever is beside it."""
        return frozenset(np.unique(self.key[self._alone(word)] // self.stories).tolist())

    def differences(self, mapping: Mapping[int, int]) -> Iterator[Difference]:
        """For each moved word, where it differs most from its image."""
        for word, other in mapping.items():
            if mapping.get(other) == word and other < word:
                continue  # the same differences as of the other, with the sign changed
            yield self._compare(word, other, mapping)

    def _compare(self, word: int, other: int, mapping: Mapping[int, int]) -> Difference:
        mine = self.key[self.of(word)]
        permuted = mine.copy()
        for beside, image in mapping.items():
            rows = slice(*mine.searchsorted(np.array([beside + 1, beside + 2]) * self.width))
            permuted[rows] += (image - beside) * self.width
        z, found = self._largest(permuted, self.of(word), self.of(other))
        place, kind = divmod(found, self.kinds)
        before = {image: beside for beside, image in mapping.items()}
        return Difference(z, word, kind, before.get(place - 1, place - 1))

    def _largest(self, permuted: Ints, mine: slice, theirs: slice) -> tuple[float, int]:
        """The largest difference of some rows, permuted, from others; and where it is."""
        key = np.concatenate([permuted, self.key[theirs]])
        count = np.concatenate([self.count[mine], -self.count[theirs]])
        order = np.argsort(key, kind="stable")
        key, count = key[order], count[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        difference = np.add.reduceat(count, first)
        feature = key[first] // self.stories
        start = np.flatnonzero(np.diff(feature, prepend=-1))
        total = np.add.reduceat(difference, start)
        square = np.add.reduceat(difference**2, start)
        z = np.abs(total) / np.sqrt(np.maximum(square, 1))
        worst = int(z.argmax())
        return float(z[worst]), int(feature[start[worst]])

    def distance(self, mapping: Mapping[int, int]) -> Difference:
        """The largest difference that a permutation makes."""
        return max(self.differences(mapping), key=lambda difference: difference.z)

    def distance_alone(self, word: int, other: int) -> float:
        """The largest difference of two words in what has no word beside them: a part of their distance."""
        mine, theirs = self._alone(word), self._alone(other)
        return self._largest(self.key[mine], mine, theirs)[0]


def common_words(telling: Telling) -> frozenset[int]:
    """Words in most sentences."""
    seen: Counter[int] = Counter()
    times = Counter(sentence for story in telling.stories for sentence in story.sentences)
    for sentence, count in times.items():
        for word in set(sentence):
            seen[word] += count
    return frozenset(word for word, count in seen.items() if count > COMMON * times.total())


def topic_words(telling: Telling) -> frozenset[int]:
    """Words that some questions name, but not most: what they ask about."""
    named: Counter[int] = Counter()
    questions = 0
    for story in telling.stories:
        for asked in story.questions:
            named.update(set(asked.question))
            questions += 1
    return frozenset(word for word, count in named.items() if count <= COMMON * questions)


def _parts(story: Told, common: frozenset[int], topics: frozenset[int]) -> Iterator[Part]:
    """Everything that is counted of a story."""
    last: dict[int, Words] = {}
    for sentence in story.sentences:
        yield "sentence", sentence, None
        # What becomes of a thing shows in what is said of it next: what was taken can be dropped.
        for word in topics.intersection(sentence):
            if word in last:
                yield ("again", last[word].index(word)), last[word], sentence
            last[word] = sentence
    for before, after in pairwise(story.sentences):
        yield "next", before, after
    for asked in story.questions:
        yield from _of_question(story.sentences[: asked.after], asked, common)


def _rows(parts: Iterable[Part]) -> tuple[Ints, Ints, int]:
    """(3, R) words, words beside them and kinds of places; (R) of which part, in order; how many kinds.

    Texts that are the same things and as long as others have the same kinds of places.
    """
    shapes: dict[tuple[object, ...], tuple[list[int], list[Words]]] = {}
    for number, (name, first, second) in enumerate(parts):
        shape = (name, len(first), None if second is None else len(second))
        numbers, texts = shapes.setdefault(shape, ([], []))
        numbers.append(number)
        texts.append(first + (second or ()))
    tables, of_part, kinds = [NO_ROWS], [NO_ROWS[0]], 0
    for (_, length, other), (numbers, texts) in shapes.items():
        words = np.array(texts, dtype=np.int64).reshape(len(texts), -1)
        inside = other is None
        word, beside = _inside(words) if inside else _between(words[:, :length], words[:, length:])
        kind = np.broadcast_to(np.arange(kinds, kinds + word.shape[1]), word.shape)
        kinds += word.shape[1]
        there = beside != NO_ROW
        tables.append(np.array([word[there], beside[there], kind[there]]))
        of_part.append(np.repeat(numbers, np.count_nonzero(there, axis=1)))
    order = np.argsort(np.concatenate(of_part), kind="stable")
    return np.hstack(tables)[:, order], np.concatenate(of_part)[order], kinds


def _inside(words: Ints) -> tuple[Ints, Ints]:
    """(N, P) each word in its place, and with each other word of the sentence; and what is beside it."""
    one, other = np.indices((words.shape[1],) * 2).reshape(2, -1)
    return words[:, one], np.where(one == other, NOTHING, words[:, other])


def _between(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """(N, P) each word of one text with each of another; a word that is in both is told from others."""
    i, j = np.indices((first.shape[1], second.shape[1])).reshape(2, -1)
    one, other = first[:, i], second[:, j]
    ahead = np.where(one == other, NOTHING, other)
    behind = np.where(one == other, NO_ROW, one)
    return np.hstack([one, other]), np.hstack([ahead, behind])


def _repeated(rows: Ints, of_part: Ints, part: Ints, story: Ints) -> tuple[Ints, Ints]:
    """The rows of each part that the stories have, one after another, and the stories they are in."""
    start = np.searchsorted(of_part, np.arange(part.max(initial=0) + 2))
    length = np.diff(start)[part]
    skipped = start[part] - (np.cumsum(length) - length)
    return rows[np.arange(length.sum()) + np.repeat(skipped, length)], np.repeat(story, length)


def _of_question(past: tuple[Words, ...], asked: Asked, common: frozenset[int]) -> Iterator[Part]:
    """A question, its answer, and the sentences that it seems to be about."""
    yield "question", asked.question, None
    yield "answer", asked.answer, None
    yield "answered", asked.question, asked.answer
    telling = _closest(past, asked.question, asked.answer, common)
    seen = set()
    for place, word in enumerate(asked.question):
        sentence = None if word in common else _last_naming(past, word)
        if sentence is None:
            continue
        # What an answer has to do with a sentence depends on where the two texts meet.
        yield ("told", place, sentence.index(word)), sentence, asked.answer
        if sentence not in seen:
            yield "asked", sentence, asked.question
            if telling and telling != sentence:
                yield "both", sentence, telling
        seen.add(sentence)


def _last_naming(past: tuple[Words, ...], word: int) -> Words | None:
    """The last sentence that has the word."""
    return next((sentence for sentence in reversed(past) if word in sentence), None)


def _closest(
    past: tuple[Words, ...], question: Words, answer: Words, common: frozenset[int]
) -> Words | None:
    """The last of the sentences with the answer in it that have most words of the question."""
    asked, wanted = set(question) - common, set(answer)
    best, shared = None, 0
    for sentence in reversed(past):
        if not wanted.isdisjoint(sentence) and (both := len(asked.intersection(sentence))) > shared:
            best, shared = sentence, both
    return best
