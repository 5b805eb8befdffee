"""Stories as numbered words: sentences, questions, and the parts of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entnet.data.story import Story
from entnet.text import answer_token, tokenise

Words = tuple[int, ...]
MOST_SENTENCES = 40_000
"""Of more than these a part is read, evenly spread: enough to tell, and read in a few seconds."""


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
    def read(cls, stories: Sequence[Story]) -> Telling:
        """Number the words in the order in which they come; of many stories, read every second, third, …"""
        sentences = sum(len(story.sentences) for story in stories)
        stories = stories[:: -(-sentences // MOST_SENTENCES) or 1]
        index: dict[str, int] = {}

        def numbers(tokens: Sequence[str]) -> Words:
            return tuple(index.setdefault(token, len(index)) for token in tokens)

        told = tuple(
            Told(
                tuple(numbers(tokenise(sentence)) for sentence in story.sentences),
                tuple(
                    Asked(
                        question.after,
                        numbers(tokenise(question.text)),
                        numbers(answer_token(question.answer).split(",")),
                    )
                    for question in story.questions
                ),
            )
            for story in stories
        )
        return cls(told, tuple(index))
