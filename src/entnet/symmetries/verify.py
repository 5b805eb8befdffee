"""Is a proposed permutation of words a symmetry? Rules that hold for any stories.

A symmetry carries a story, its question and its answer into another story with its question and answer. So
what is asked must decide: where the permuted story and question are known, the known answer must be the
permuted one. A story that names no moved word is its own permuted form, and its answer must stay. Stories
count as known if they agree in the sentences that share a word with the question, up to symmetries already
found: names may differ.

A network, or anything else that scores answers, can say more: if it never saw the held-out stories, its
expected loss on them and on their permuted forms is the same.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entnet.data.story import Question, Story, longest_sentence
from entnet.symmetries.phrases import Phrases
from entnet.symmetries.telling import NO_PHRASES, Telling, Words
from entnet.text import tokenise

Ints = NDArray[np.int32]
Key = tuple[bytes, bytes]
"""A question, and the sentences that it is asked of."""
Score = Callable[[Sequence[Story]], Sequence[float]]
"""The loss of each question of these stories, in order."""
MOST_QUESTIONS = 2_000
"""More than these are not permuted: enough to tell."""


@dataclass(frozen=True)
class Check:
    """What known answers say of a permutation."""

    agreeing: float
    """Permuted questions whose known answer is the permuted one; of several known answers, its share."""
    contrary: float
    """The rest of the permuted questions that have a known answer."""
    expected: float
    """Contrary answers when nothing is permuted: the same questions compared with others of their kind."""
    variance: float
    """Of that number."""

    @property
    def passed(self) -> bool:
        """No more contrary answers than the stories have anyway."""
        return self.contrary <= self.expected + 5 * math.sqrt(self.variance) + 1


class Cases:
    """Questions, what they are asked of and their answers, laid end to end as numbers."""

    def __init__(self, telling: Telling, common: frozenset[int]) -> None:
        self.size = len(telling.words)  # and the number that is between texts
        words: list[int] = []
        self.ends: list[tuple[int, int, int]] = []
        """Where each question ends, the sentences after it, and the answer."""
        for sentences, question, answer in _cases(telling, common):
            words += question
            asked = len(words)
            for sentence in sentences:
                words.append(self.size)
                words += sentence
            told = len(words)
            words += answer
            self.ends.append((asked, told, len(words)))
        self.words = np.array(words, dtype=np.int32)
        lengths = np.diff([end for *_, end in self.ends], prepend=0)
        self.case = np.repeat(np.arange(len(lengths)), lengths)
        """Of each word the case."""
        key = self.case * (self.size + 1) + self.words
        _, first, one = np.unique(key, return_index=True, return_inverse=True)
        self.first = first[one]
        """Of each word where its case has it first."""

    def named(self, groups: Sequence[frozenset[int]]) -> Ints:
        """The words, with those of a group numbered as they come: size + 1 + group + groups · rank."""
        kind_of = np.full(self.size + 1, -1)
        for number, group in enumerate(groups):
            kind_of[list(group)] = number
        of_group = kind_of[self.words] >= 0
        where = np.flatnonzero(of_group & (self.first == np.arange(len(self.first))))
        kind = kind_of[self.words[where]]
        # Sorted, the words of one case and group come together, and in the order in which it has them.
        alike = self.case[where] * len(groups) + kind
        order = np.argsort(alike, kind="stable")
        rank = np.arange(len(order)) - np.searchsorted(alike, alike[order], sorter=order)
        names = self.words.copy()
        names[where[order]] = self.size + 1 + kind[order] + len(groups) * rank
        named: Ints = names[self.first]
        return named

    def keys(self, names: Ints, chosen: Iterable[int]) -> Iterator[tuple[Key, bytes]]:
        """Of some cases the question with what it is asked of, and the answer, in these names."""
        size, text = names.itemsize, names.tobytes()
        for case in chosen:
            start = self.ends[case - 1][-1] if case else 0
            asked, told, end = self.ends[case]
            yield (
                (text[size * start : size * asked], text[size * asked : size * told]),
                text[size * told : size * end],
            )


def _cases(
    telling: Telling, common: frozenset[int]
) -> Iterator[tuple[tuple[Words, ...], Words, Words]]:
    """Each question with the sentences that share a word with it, common words aside; and its answer."""
    for story in telling.stories:
        # Asked twice in one story, a question has one answer for reasons of its own: it counts once.
        cases: dict[tuple[tuple[Words, ...], Words, Words], None] = {}
        for asked in story.questions:
            wanted = set(asked.question) - common
            past = story.sentences[: asked.after]
            about = tuple([sentence for sentence in past if not wanted.isdisjoint(sentence)])
            cases[about, asked.question, asked.answer] = None
        yield from cases


class KnownAnswers:
    """Questions by what they are asked of, told in words that symmetries leave open."""

    def __init__(self, cases: Cases, groups: Sequence[frozenset[int]]) -> None:
        self.cases = cases
        self.names = cases.named(groups)
        self.keys = list(cases.keys(self.names, range(len(cases.ends))))
        self.answers = Counter(self.keys)
        self.asked = Counter(key for key, _ in self.keys)
        self.usual = self._contrary_shares()

    def _contrary_shares(self) -> dict[bytes, float]:
        """How often two cases that count as the same have different answers, question by question."""
        same: Counter[Key] = Counter()
        for (key, _), n in self.answers.items():
            same[key] += n * (n - 1)
        total: Counter[bytes] = Counter()
        agreeing: dict[bytes, float] = defaultdict(float)
        for key, cases in self.asked.items():
            if cases > 1:
                total[key[0]] += cases
                agreeing[key[0]] += same[key] / (cases - 1)
        return {question: 1 - agreeing[question] / total[question] for question in total}

    def check(self, mapping: Mapping[int, int]) -> Check:
        """Permute questions by words that are in no group, and compare with the known answers of others."""
        image = np.arange(self.names.max(initial=0) + 1, dtype=self.names.dtype)
        image[list(mapping)] = list(mapping.values())
        names = image[self.names]
        moved = np.flatnonzero(np.bincount(self.cases.case[names != self.names])).tolist()
        chosen = moved[:: -(-len(moved) // MOST_QUESTIONS) or 1]
        agreeing = expected = variance = 0.0
        compared = 0
        for case, (key, answer) in zip(chosen, self.cases.keys(names, chosen), strict=True):
            total = self.asked.get(key, 0)
            if not total:
                continue
            same = self.answers.get((key, answer), 0)
            own, own_answer = self.keys[case]
            if key == own:  # a question is no witness for itself
                same, total = same - (answer == own_answer), total - 1
            if total:
                usual = self.usual.get(key[0], 0.0)
                agreeing += same / total
                expected += usual
                variance += usual * (1 - usual)
                compared += 1
        return Check(agreeing, compared - agreeing, expected, variance)


def changed_answers(telling: Telling, mapping: Mapping[int, int]) -> int:
    """How many questions stay as they are, and their stories with them, while their answers change.

    Yes and no stand in no story and in no question, so a permutation of the two would change answers alone.
    """
    unmoved = frozenset(mapping).isdisjoint
    stories = telling.stories
    return sum(
        all(map(unmoved, (asked.question, *story.sentences[: asked.after])))
        for story in stories[:: -(-len(stories) // MOST_QUESTIONS) or 1]
        for asked in story.questions
        if not unmoved(asked.answer)
    )


def permute_text(text: str, mapping: Mapping[str, str], phrases: Phrases = NO_PHRASES) -> str:
    """The text with words, and phrases that count as words, replaced; capitals and punctuation stay.

    >>> permute_text("North of Mary.", {"north": "south", "mary": "john"})
    'South of John.'
    >>> permute_text("The red box.", {"red box": "tin", "box": "bin"}, Phrases(frozenset({"red box"})))
    'The tin.'
    """
    pieces = [(piece, tokenise(piece)) for piece in text.split(" ")]
    words = [found[0] if len(found) == 1 else "" for _, found in pieces]
    made, at = [], 0
    for unit in phrases.join(words):
        size = unit.count(" ") + 1 if unit in phrases.whole else 1
        covered = [piece for piece, _ in pieces[at : at + size]]
        image = mapping.get(unit) if unit else None
        made.append(" ".join(covered) if image is None else _in_place_of(covered, image))
        at += size
    return " ".join(made)


def _in_place_of(pieces: Sequence[str], image: str) -> str:
    """Other words with the capital of these, and what stands before and after them."""
    (first,), (last,) = tokenise(pieces[0]), tokenise(pieces[-1])
    start, end = pieces[0].lower().index(first), pieces[-1].lower().rindex(last) + len(last)
    new = image[:1].upper() + image[1:] if pieces[0][start].isupper() else image
    return pieces[0][:start] + new + pieces[-1][end:]


def permute_story(story: Story, mapping: Mapping[str, str], phrases: Phrases = NO_PHRASES) -> Story:
    """The story with words replaced in sentences, questions and answers, lists of answers included."""

    def permuted(text: str) -> str:
        return permute_text(text, mapping, phrases)

    questions = tuple(
        Question(
            asked.after,
            permuted(asked.text),
            ",".join(permuted(part) for part in asked.answer.split(",")),
            asked.supports,
        )
        for asked in story.questions
    )
    return Story(tuple(permuted(text) for text in story.sentences), questions)


def loss_difference(
    stories: Sequence[Story],
    mapping: Mapping[str, str],
    score: Score,
    phrases: Phrases = NO_PHRASES,
) -> float:
    """z of the paired differences, story by story, between losses on permuted stories and on these.

    Large where the permuted stories are harder. Questions of one story are not independent, so a story is
    what is counted. Only stories that the permutation changes are scored, and only permuted stories that
    have no sentence longer than any here: the scoring function may read no longer ones.
    """
    longest = longest_sentence(stories)
    both = [
        (story, permuted)
        for story in stories
        if (permuted := permute_story(story, mapping, phrases)) != story
        and longest_sentence([permuted]) <= longest
    ]
    changed = [story for story, _ in both]
    if not changed:
        return 0.0
    lengths = np.cumsum([len(story.questions) for story in changed])[:-1]
    before = np.split(np.asarray(score(changed), dtype=float), lengths)
    after = np.split(
        np.asarray(score([permuted for _, permuted in both]), dtype=float),
        lengths,
    )
    difference = np.array([now.sum() - then.sum() for now, then in zip(after, before, strict=True)])
    scale = float(np.sqrt((difference**2).sum()))
    return float(difference.sum()) / scale if scale else 0.0
