"""What a network does with a story, sentence by sentence: gates, slots, words, attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from entnet.data.story import Question, Story
from entnet.models.entnet import EntNet
from entnet.tracker import Answer, NearWord, Tracker, followed_words, nearest_words

EXAMPLE = Story(
    sentences=(
        "Mary got the milk there.",
        "John moved to the bedroom.",
        "Sandra went back to the kitchen.",
        "Mary travelled to the hallway.",
        "John got the football there.",
        "John went to the hallway.",
        "John put down the football.",
        "Mary went to the garden.",
        "John went to the kitchen.",
        "Sandra travelled to the hallway.",
        "Daniel went to the hallway.",
        "Mary discarded the milk.",
    ),
    questions=(Question(12, "Where is the milk?", "garden", (11, 7)),),
)
"""The story of task 2 whose slots the paper shows in its Table 3."""


@dataclass(frozen=True, slots=True)
class SlotName:
    """A slot, and what it stands for."""

    slot: int
    key: str | None
    """The word its key is tied to, if it is."""
    follows: tuple[NearWord, ...]
    """Words whose embeddings are nearest to its key."""

    @property
    def label(self) -> str:
        """The key's word or, in brackets, the one or two words nearest to the key."""
        if self.key is not None:
            return self.key
        enough = max(0.25, 0.4 * self.follows[0].similarity)
        close = [
            self.follows[0],
            *(near for near in self.follows[1:2] if near.similarity >= enough),
        ]
        return f"({', '.join(near.word for near in close)})"


@dataclass(frozen=True, slots=True)
class Step:
    """A sentence, what it did to every slot, and what the slots hold after it."""

    sentence: str
    gates: tuple[float, ...]
    movement: tuple[float, ...]
    unknown: tuple[str, ...]
    words: tuple[tuple[NearWord, ...], ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, when it was asked, what was answered and, if known, what is right."""

    after: int
    expected: str
    answer: Answer

    @property
    def right(self) -> bool | None:
        return self.answer.answer == self.expected.lower() if self.expected else None


@dataclass(frozen=True, slots=True)
class Trace:
    """A story as a network read it."""

    model: str
    slots: tuple[SlotName, ...]
    start: tuple[tuple[NearWord, ...], ...]
    """What the slots hold before the first sentence."""
    steps: tuple[Step, ...]
    questions: tuple[Asked, ...]

    def words(self, after: int) -> tuple[tuple[NearWord, ...], ...]:
        """What the slots hold when ``after`` sentences have been read."""
        return self.steps[after - 1].words if after else self.start

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, numbers to four places."""
        return {
            "model": self.model,
            "slots": [
                {"slot": name.slot, "key": name.key, "follows": near_dicts(name.follows)}
                for name in self.slots
            ],
            "start": [near_dicts(words) for words in self.start],
            "steps": [
                {
                    "sentence": step.sentence,
                    "gates": rounded(step.gates),
                    "movement": rounded(step.movement),
                    "unknown": list(step.unknown),
                    "words": [near_dicts(words) for words in step.words],
                }
                for step in self.steps
            ],
            "questions": [
                {"after": asked.after, "expected": asked.expected, **answer_dict(asked.answer)}
                for asked in self.questions
            ],
        }


def trace_story(model: EntNet, story: Story, name: str = "", words: int = 3) -> Trace:
    """Read a story with all its questions, and keep what happened."""
    tracker = Tracker(model)
    start = tracker.state
    steps: list[Step] = []
    asked: list[Asked] = []
    waiting = sorted(story.questions, key=lambda question: question.after)
    for position, sentence in enumerate((None, *story.sentences)):
        if sentence is not None:
            steps.extend(_read(tracker, sentence, words))
        while waiting and waiting[0].after <= position:
            question = waiting.pop(0)
            asked.append(Asked(question.after, question.answer, tracker.ask(question.text)))
    return Trace(
        model=name,
        slots=slot_names(tracker, words),
        start=_tuples(nearest_words(model, start, words)[0]),
        steps=tuple(steps),
        questions=tuple(asked),
    )


def slot_names(tracker: Tracker, words: int = 3) -> tuple[SlotName, ...]:
    """What the slots of a tracker stand for."""
    follows = followed_words(tracker.model, tracker.state, words)
    keys = tracker.key_words or [None] * tracker.model.config.slots
    return tuple(SlotName(slot, key, tuple(follows[slot])) for slot, key in enumerate(keys))


def _read(tracker: Tracker, sentence: str, words: int) -> list[Step]:
    steps = []
    for read in tracker.read_sentences([sentence]):
        held = _tuples(nearest_words(tracker.model, tracker.state, words)[0])
        steps.append(Step(read.sentence, read.gates, read.movement, read.unknown, held))
    return steps


def answer_dict(answer: Answer) -> dict[str, Any]:
    """An answer as plain values."""
    return {
        "question": answer.question,
        "answer": answer.answer,
        "probability": answer.probability,
        "alternatives": [guess._asdict() for guess in answer.alternatives],
        "attention": rounded(answer.attention),
        "unknown": list(answer.unknown),
    }


def rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in values]


def near_dicts(words: Sequence[NearWord]) -> list[dict[str, Any]]:
    return [{"word": near.word, "similarity": round(near.similarity, 4)} for near in words]


def _tuples(rows: list[list[NearWord]]) -> tuple[tuple[NearWord, ...], ...]:
    return tuple(tuple(row) for row in rows)
