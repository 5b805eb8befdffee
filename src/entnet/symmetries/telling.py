"""Stories as numbered words: sentences, questions, and the parts of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from entnet.data.story import Story
from entnet.symmetries.phrases import Phrases
from entnet.text import answer_token, tokenise

Words = tuple[int, ...]
NO_PHRASES = Phrases()
MOST_SENTENCES = 40_000
"""Of more than these a part is read, evenly spread: enough to tell, and read in a few seconds."""


def enough_of(stories: Sequence[Story]) -> Sequence[Story]:
    """The stories, or of many every second, third, …"""
    sentences = sum(len(story.sentences) for story in stories)
    return stories[:: -(-sentences // MOST_SENTENCES) or 1]


@dataclass(frozen=True)
class Asked:
    """A question, and the parts of its answer: ``n,w`` has two."""

    after: int
    """Sentences read when it is asked."""
    question: Words
    answer: Words


@dataclass(frozen=True)
class Told:
    """A story in numbered words."""

    sentences: tuple[Words, ...]
    questions: tuple[Asked, ...]


@dataclass(frozen=True)
class Telling:
    """Stories in numbered words, and the words."""

    stories: tuple[Told, ...]
    words: tuple[str, ...]

    @classmethod
    def read(cls, stories: Sequence[Story], phrases: Phrases = NO_PHRASES) -> Telling:
        """Number the words, and phrases that count as words, in the order in which they come."""
        index: dict[str, int] = {}

        def numbers(tokens: Sequence[str]) -> Words:
            return tuple([index.setdefault(token, len(index)) for token in tokens])

        @cache  # texts come again and again
        def read_text(text: str) -> Words:
            return numbers(phrases.join(tokenise(text)))

        @cache
        def read_answer(answer: str) -> Words:
            return numbers(answer_token(answer).split(","))

        told = tuple(
            Told(
                tuple([read_text(sentence) for sentence in story.sentences]),
                tuple(
                    Asked(question.after, read_text(question.text), read_answer(question.answer))
                    for question in story.questions
                ),
            )
            for story in stories
        )
        return cls(told, tuple(index))
