"""How the world is put into words: verbs, asides, pronouns, and the story as it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.world import Event
from entnet.data.story import Question, Story

Topic = TypeVar("Topic")

VERBS = {
    "go": ("went", "went back", "journeyed", "travelled", "moved"),
    "get": ("took", "got", "grabbed", "picked up"),
    "drop": ("dropped", "left", "discarded", "put down"),
    "give": ("gave", "handed", "passed"),
}
"""Synonyms of each action. The first is used alone where language noise is off."""

THEN = ("Then", "After that", "Afterwards", "Following that")

WINDOW = 5
"""Questions are about one of the last few things told."""

ATTEMPTS = 25
"""How many of them are tried before the story goes on without a question."""


class Asked(NamedTuple):
    """A question with its answer and supporting facts (positions of sentences)."""

    text: str
    answer: str
    supports: tuple[int, ...]


class Storyteller:
    """Puts a story together, sentence by sentence and question by question."""

    def __init__(self, dice: Dice, setting: Setting, there_after_get: float = 1.0) -> None:
        self.dice = dice
        self.setting = setting
        self.there = {"get": there_after_get, "drop": 0.2}
        """Share of the sentences that end in "there"."""
        self.sentences: list[str] = []
        self.questions: list[Question] = []

    @property
    def asking(self) -> bool:
        """Whether the story still lacks questions."""
        return len(self.questions) < self.setting.questions_per_story

    def wording(self, synonyms: Sequence[str]) -> str:
        """One of several ways to say a thing."""
        return self.dice.pick(synonyms) if self.setting.noise else synonyms[0]

    def say(self, sentence: str) -> int:
        """Tell a sentence; returns its position, to be cited as a supporting fact."""
        self.sentences.append(sentence)
        return len(self.sentences) - 1

    def tell(self, event: Event) -> int:
        """Tell what happened in the house."""
        verb = self.wording(VERBS[event.kind])
        if event.kind == "go":
            return self.say(f"{event.actor} {verb} to the {event.what}.")
        if event.kind == "give":
            return self.say(f"{event.actor} {verb} the {event.what} to {event.to}.")
        aside = self.setting.noise and self.dice.chance(self.there[event.kind])
        return self.say(f"{event.actor} {verb} the {event.what}{' there' if aside else ''}.")

    def tell_place(self, event: Event, plain: float) -> int:
        """Tell where somebody went, for that share of the sentences as "is in the …"."""
        if self.setting.noise and self.dice.chance(plain):
            return self.say(f"{event.actor} is in the {event.what}.")
        return self.tell(event)

    def ask(self, asked: Asked) -> None:
        self.questions.append(
            Question(len(self.sentences), asked.text, asked.answer, asked.supports)
        )

    def ask_about_recent(
        self, topics: Sequence[Topic], question: Callable[[Topic], Asked | None]
    ) -> bool:
        """Ask about one of the last few topics, if one of them allows a question."""
        recent = topics[-WINDOW:]
        roll, count = self.dice.random, len(recent)
        for _ in range(ATTEMPTS):
            asked = question(recent[int(roll() * count)])
            if asked is not None:
                self.ask(asked)
                return True
        return False

    def story(self) -> Story:
        return Story(tuple(self.sentences), tuple(self.questions))


def pronoun(person: str, setting: Setting) -> str:
    """People stand alternately for she and he in the list of their names."""
    return "she" if setting.people.index(person) % 2 == 0 else "he"


def plural(noun: str) -> str:
    return {"mouse": "mice", "wolf": "wolves", "sheep": "sheep"}.get(noun, noun + "s")
