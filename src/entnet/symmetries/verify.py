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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from entnet.data.story import Question, Story, longest_sentence
from entnet.symmetries.phrases import Phrases
from entnet.symmetries.telling import NO_PHRASES, Asked, Telling, Words
from entnet.text import tokenise

Key = tuple[Words, ...]
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
    expected: float = 0.0
    """Contrary answers when nothing is permuted: the same questions compared with others of their kind."""
    variance: float = 0.0
    """Of that number."""

    @property
    def passed(self) -> bool:
        """No more contrary answers than the stories have anyway."""
        return self.contrary <= self.expected + 5 * math.sqrt(self.variance) + 1


@dataclass(frozen=True)
class Case:
    """A question with what it is asked of, as it is and as other stories may have it."""

    sentences: tuple[Words, ...]
    """Those that share a word with the question."""
    question: Words
    answer: Words
    moved_by: frozenset[int]
    """All words of it."""
    key: Key
    known_answer: Words


class KnownAnswers:
    """Questions by what they are asked of, told in words that symmetries leave open."""

    def __init__(self, telling: Telling, groups: Sequence[frozenset[int]], common: frozenset[int]):
        self.kind = {word: i for i, group in enumerate(groups) for word in group}
        self.kinds = len(groups)
        self.common = common
        # Asked twice in one story, a question has one answer for reasons of its own: it counts once.
        self.cases = [
            self._case(*case)
            for story in telling.stories
            for case in dict.fromkeys(
                (self._about(story.sentences[: asked.after], asked), asked.question, asked.answer)
                for asked in story.questions
            )
        ]
        self.answers: dict[Key, Counter[Words]] = defaultdict(Counter)
        for case in self.cases:
            self.answers[case.key][case.known_answer] += 1
        self.usual = self._contrary_shares()

    def _contrary_shares(self) -> dict[Words, float]:
        """How often two cases that count as the same have different answers, question by question."""
        total: Counter[Words] = Counter()
        agreeing: dict[Words, float] = defaultdict(float)
        for (question, *_), count in self.answers.items():
            cases = count.total()
            if cases > 1:
                total[question] += cases
                agreeing[question] += sum(n * (n - 1) for n in count.values()) / (cases - 1)
        return {question: 1 - agreeing[question] / total[question] for question in total}

    def check(self, mapping: Mapping[int, int]) -> Check:
        """Permute questions, and compare with the known answers of others."""
        moved = [case for case in self.cases if not case.moved_by.isdisjoint(mapping)]
        agreeing = expected = variance = 0.0
        compared = 0
        for case in moved[:: -(-len(moved) // MOST_QUESTIONS) or 1]:
            key, answer = self._canonical(case.sentences, case.question, case.answer, mapping)
            known = self.answers.get(key)
            if known is None:
                continue
            same, total = known[answer], known.total()
            if key == case.key:  # a question is no witness for itself
                same, total = same - (answer == case.known_answer), total - 1
            if total:
                usual = self.usual.get(key[0], 0.0)
                agreeing += same / total
                expected += usual
                variance += usual * (1 - usual)
                compared += 1
        return Check(agreeing, compared - agreeing, expected, variance)

    def _case(self, sentences: tuple[Words, ...], question: Words, answer: Words) -> Case:
        words = frozenset(word for text in (*sentences, question, answer) for word in text)
        key, known_answer = self._canonical(sentences, question, answer, {})
        return Case(sentences, question, answer, words, key, known_answer)

    def _about(self, past: tuple[Words, ...], asked: Asked) -> tuple[Words, ...]:
        """The sentences that share a word with the question, common words aside."""
        wanted = set(asked.question) - self.common
        return tuple(sentence for sentence in past if not wanted.isdisjoint(sentence))

    def _canonical(
        self,
        sentences: tuple[Words, ...],
        question: Words,
        answer: Words,
        mapping: Mapping[int, int],
    ) -> tuple[Key, Words]:
        """Permuted, with words of a group numbered as they come: −1 − group − groups · rank."""
        names: dict[int, int] = {}
        ranks = [0] * self.kinds

        def name(word: int) -> int:
            if word in names:
                return names[word]
            image = mapping.get(word, word)
            kind = self.kind.get(image)
            if kind is None:
                names[word] = image
            else:
                names[word] = -1 - kind - self.kinds * ranks[kind]
                ranks[kind] += 1
            return names[word]

        key = tuple([tuple([name(word) for word in text]) for text in (question, *sentences)])
        return key, tuple([name(word) for word in answer])


def changed_answers(telling: Telling, mapping: Mapping[int, int]) -> Check:
    """Questions that stay as they are, and their stories with them: their answers must stay too.

    Yes and no stand in no story and in no question, so a permutation of the two would change answers alone.
    """
    agreeing = contrary = 0
    stories = telling.stories
    for story in stories[:: -(-len(stories) // MOST_QUESTIONS) or 1]:
        first_moved = next(
            (i for i, text in enumerate(story.sentences) if not mapping.keys().isdisjoint(text)),
            len(story.sentences),
        )
        for asked in story.questions:
            if asked.after <= first_moved and mapping.keys().isdisjoint(asked.question):
                stays = mapping.keys().isdisjoint(asked.answer)
                agreeing, contrary = agreeing + stays, contrary + (not stays)
    return Check(agreeing, contrary)


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
