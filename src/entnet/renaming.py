"""Stories told again with names that nobody ever saw."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence

from entnet.data.story import Question, Story
from entnet.text import answer_token, tokenise

SYLLABLES = tuple(
    consonant + vowel for consonant in "bdfgjklmnprstvwz" for vowel in ("a", "e", "i", "o", "u")
)


def new_names(dice: random.Random, avoid: Collection[str]) -> Iterator[str]:
    """Made-up words without end, each once, none of those to avoid."""
    seen: set[str] = set()
    while True:
        word = "".join(dice.choice(SYLLABLES) for _ in range(dice.randint(2, 4)))
        if word not in seen and word not in avoid:
            seen.add(word)
            yield word


def rename(
    stories: Sequence[Story], names: Collection[str], avoid: Collection[str], seed: int = 1
) -> list[Story]:
    """Each story with new words for all of these names, others in each story."""
    dice = random.Random(seed)
    return [_renamed(story, names, new_names(dice, avoid)) for story in stories]


def _renamed(story: Story, names: Collection[str], new: Iterator[str]) -> Story:
    called: dict[str, str] = {}

    def said(words: Sequence[str]) -> list[str]:
        for word in words:
            if word in names and word not in called:
                called[word] = next(new)
        return [called.get(word, word) for word in words]

    sentences = tuple(" ".join(said(tokenise(text))) for text in story.sentences)
    questions = tuple(
        Question(
            asked.after,
            " ".join(said(tokenise(asked.text))),
            ",".join(said(answer_token(asked.answer).split(","))),
            asked.supports,
        )
        for asked in story.questions
    )
    return Story(sentences, questions)
