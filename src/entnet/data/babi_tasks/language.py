"""How the world is put into words: verbs and their synonyms, asides, and the story as it is told."""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting
from entnet.data.babi_tasks.world import Event
from entnet.data.story import Question, Story

VERBS = {
    "go": ("went", "went back", "journeyed", "travelled", "moved"),
    "get": ("took", "got", "grabbed", "picked up"),
    "drop": ("dropped", "left", "discarded", "put down"),
    "give": ("gave", "handed", "passed"),
}
"""Synonyms of each action. The first is used alone where language noise is off."""

THERE = 0.2
"""Share of the sentences about taking and dropping that end in "there"."""


class Storyteller:
    """Puts a story together, sentence by sentence and question by question."""

    def __init__(self, dice: Dice, setting: Setting) -> None:
        self.dice = dice
        self.noise = setting.noise
        self.sentences: list[str] = []
        self.questions: list[Question] = []

    def verb(self, kind: str) -> str:
        return self.dice.pick(VERBS[kind]) if self.noise else VERBS[kind][0]

    def say(self, sentence: str) -> int:
        """Tell a sentence; returns its position, to be cited as a supporting fact."""
        self.sentences.append(sentence)
        return len(self.sentences) - 1

    def tell(self, event: Event) -> int:
        """Tell what happened."""
        verb = self.verb(event.kind)
        if event.kind == "go":
            return self.say(f"{event.actor} {verb} to the {event.what}.")
        if event.kind == "give":
            return self.say(f"{event.actor} {verb} the {event.what} to {event.to}.")
        there = " there" if self.noise and self.dice.chance(THERE) else ""
        return self.say(f"{event.actor} {verb} the {event.what}{there}.")

    def ask(self, question: str, answer: str, supports: tuple[int, ...]) -> None:
        self.questions.append(Question(len(self.sentences), question, answer, supports))

    @property
    def asked(self) -> int:
        return len(self.questions)

    def story(self) -> Story:
        return Story(tuple(self.sentences), tuple(self.questions))
