"""Which words stand in the same places, beside the same words: counts per story, and a test of them.

If a permutation π of words is a symmetry, a story is as likely as its permuted form. Then the difference
between how often a story has something and how often it has the permuted thing is as likely positive as
negative, story by story. With d the differences, Σd / √Σd² exceeds t in size with a probability of at most
2·exp(−t²/2), whatever the stories are: sentences of one story need not be independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from entnet.symmetries.telling import Asked, Telling, Told, Words

Ints = NDArray[np.int64]
Row = tuple[int, tuple[object, ...], int]
"""A word, the kind of place it stands in, and the word beside it, if any."""
Part = tuple[Callable[..., list[Row]], tuple[object, ...]]
"""What is counted of one text or of two: a function that lists the rows, and the texts."""

NOTHING = -1
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
        self.kinds: dict[tuple[object, ...], int] = {}
        common, topics = common_words(telling), topic_words(telling)
        encode = lru_cache(maxsize=100_000)(self._encode)  # texts come again and again
        keys, stories = [], []
        for number, story in enumerate(telling.stories):
            parts = _parts(story, common, topics)
            key = np.concatenate([encode(*part) for part in parts] or [NO_KEYS])
            keys.append(key)
            stories.append(np.full(len(key), number))
        self.stories = len(keys)
        self._sort(np.concatenate(keys), np.concatenate(stories))

    def _encode(self, rows: Callable[..., list[Row]], texts: tuple[object, ...]) -> Ints:
        """(R) one number per row: word first, then the word beside it, then the kind of place."""
        kinds = self.kinds
        table = np.array(
            [
                (word, beside + 1, kinds.setdefault(kind, len(kinds)))
                for word, kind, beside in rows(*texts)
            ],
            dtype=np.int64,
        ).reshape(-1, 3)
        return (table[:, 0] * (self.size + 1) + table[:, 1]) * MOST_KINDS + table[:, 2]

    def _sort(self, keys: Ints, stories: Ints) -> None:
        combined, count = np.unique(keys * self.stories + stories, return_counts=True)
        self.story = combined % self.stories
        key = combined // self.stories
        self.count = count
        self.kind = key % MOST_KINDS
        self.beside = key // MOST_KINDS % (self.size + 1) - 1
        word = key // MOST_KINDS // (self.size + 1)
        self.start = np.searchsorted(word, np.arange(self.size + 1))

    def of(self, word: int) -> slice:
        """Where the rows of a word are."""
        return slice(int(self.start[word]), int(self.start[word + 1]))

    def row_count(self, word: int) -> int:
        """How much there is to compare of a word."""
        rows = self.of(word)
        return int(rows.stop) - int(rows.start)

    @cache  # noqa: B019 - lives as long as the counts
    def story_count(self, word: int) -> int:
        """How many stories have the word."""
        return len(np.unique(self.story[self.of(word)]))

    @cache  # noqa: B019
    def places(self, word: int) -> frozenset[int]:
        """Kinds of places the word stands in, whatever is beside it."""
        rows = self.of(word)
        return frozenset(self.kind[rows][self.beside[rows] == NOTHING].tolist())

    def differences(self, mapping: Mapping[int, int]) -> Iterator[Difference]:
        """For each moved word, where it differs most from its image."""
        image = np.arange(-1, self.size)
        for word, other in mapping.items():
            image[word + 1] = other
        for word, other in mapping.items():
            if mapping.get(other) == word and other < word:
                continue  # the same differences as of the other, with the sign changed
            yield self._compare(word, other, image)

    def _compare(self, word: int, other: int, image: Ints) -> Difference:
        mine, theirs = self.of(word), self.of(other)
        beside = np.concatenate([image[self.beside[mine] + 1], self.beside[theirs]])
        kind = np.concatenate([self.kind[mine], self.kind[theirs]])
        story = np.concatenate([self.story[mine], self.story[theirs]])
        count = np.concatenate([self.count[mine], -self.count[theirs]])
        key = ((beside + 1) * MOST_KINDS + kind) * self.stories + story
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
        found = int(feature[start[worst]])
        return Difference(
            float(z[worst]), word, found % MOST_KINDS, int(image.argsort()[found // MOST_KINDS]) - 1
        )

    def distance(self, mapping: Mapping[int, int]) -> Difference:
        """The largest difference that a permutation makes."""
        return max(self.differences(mapping), key=lambda difference: difference.z)


MOST_KINDS = 1 << 20
NO_KEYS = np.zeros(0, dtype=np.int64)


def common_words(telling: Telling) -> frozenset[int]:
    """Words in most sentences."""
    seen = np.zeros(len(telling.words))
    sentences = 0
    for story in telling.stories:
        for sentence in story.sentences:
            seen[list(set(sentence))] += 1
            sentences += 1
    return frozenset(np.flatnonzero(seen > COMMON * sentences).tolist())


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
        yield _inside, ("sentence", sentence)
        # What becomes of a thing shows in what is said of it next: what was taken can be dropped.
        for word in topics.intersection(sentence):
            if word in last:
                yield _between, (("again", last[word].index(word)), last[word], sentence)
            last[word] = sentence
    for before, after in zip(story.sentences, story.sentences[1:], strict=False):
        yield _between, ("next", before, after)
    for asked in story.questions:
        yield from _of_question(story.sentences[: asked.after], asked, common)


def _inside(name: str, words: Words) -> list[Row]:
    """Each word in its place, and with each other word of the sentence."""
    length = len(words)
    rows: list[Row] = [(word, (name, length, i), NOTHING) for i, word in enumerate(words)]
    rows += [
        (word, (name, length, i, j), other)
        for i, word in enumerate(words)
        for j, other in enumerate(words)
        if i != j
    ]
    return rows


def _between(name: object, first: Words, second: Words) -> list[Row]:
    """Each word of one text with each of another; a word that is in both is told from others."""
    rows: list[Row] = []
    shape = (name, len(first), len(second))
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            if one == other:
                rows.append((one, (*shape, "same", i, j), NOTHING))
            else:
                rows.append((one, (*shape, "ahead", i, j), other))
                rows.append((other, (*shape, "behind", i, j), one))
    return rows


def _of_question(past: tuple[Words, ...], asked: Asked, common: frozenset[int]) -> Iterator[Part]:
    """A question, its answer, and the sentences that it seems to be about."""
    yield _inside, ("question", asked.question)
    yield _inside, ("answer", asked.answer)
    yield _between, ("answered", asked.question, asked.answer)
    telling = _closest(past, asked.question, asked.answer, common)
    seen = set()
    for place, word in enumerate(asked.question):
        sentence = None if word in common else _last_naming(past, word)
        if sentence is None:
            continue
        # What an answer has to do with a sentence depends on where the two texts meet.
        yield _between, (("told", place, sentence.index(word)), sentence, asked.answer)
        if sentence not in seen:
            yield _between, ("asked", sentence, asked.question)
            if telling and telling != sentence:
                yield _between, ("both", sentence, telling)
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
        if not wanted.isdisjoint(sentence) and len(asked.intersection(sentence)) > shared:
            best, shared = sentence, len(asked.intersection(sentence))
    return best
