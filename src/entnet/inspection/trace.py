"""What a network does with a story, sentence by sentence: gates, slots, words, attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from entnet.binding import Bound, Unbound
from entnet.data.story import Question, Story
from entnet.models.card import Manner
from entnet.models.entnet import EntNet
from entnet.tracker import Answer, NearWord, SentenceRead, Tracker

T = TypeVar("T")

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
    bound: tuple[Bound, ...] = ()
    unbound: tuple[Unbound, ...] = ()


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
                    **binding_value(step),
                    "words": [near_dicts(words) for words in step.words],
                }
                for step in self.steps
            ],
            "questions": [
                {"after": asked.after, "expected": asked.expected, **answer_dict(asked.answer)}
                for asked in self.questions
            ],
        }


def trace_story(
    model: EntNet, story: Story, name: str = "", words: int = 3, manner: Manner | None = None
) -> Trace:
    """Read a story with all its questions, and keep what happened."""
    tracker = Tracker(model, manner=manner)
    start = tracker.holds(words)
    steps: list[Step] = []
    asked: list[Asked] = []
    waiting = sorted(story.questions, key=lambda question: question.after)
    for position, sentence in enumerate((None, *story.sentences)):
        if sentence is not None:
            steps.extend(_read(tracker, sentence, words))
        while waiting and waiting[0].after <= position:
            question = waiting.pop(0)
            asked.append(Asked(question.after, question.answer, tracker.ask(question.text)))
    slots = slot_names(tracker, words)
    return Trace(
        model=name,
        slots=slots,
        start=filled(start, len(slots), ()),
        steps=tuple(_of_all_slots(step, len(slots)) for step in steps),
        questions=tuple(_attending(one, len(slots)) for one in asked),
    )


def slot_names(tracker: Tracker, words: int = 3) -> tuple[SlotName, ...]:
    """What the slots of a tracker stand for."""
    return tuple(SlotName(each.slot, each.key, each.follows) for each in tracker.slots(words))


def _read(tracker: Tracker, sentence: str, words: int) -> list[Step]:
    steps = []
    for read in tracker.read_sentences([sentence]):
        steps.append(step_of(read, tracker.holds(words)))
    return steps


def step_of(read: SentenceRead, held: tuple[tuple[NearWord, ...], ...]) -> Step:
    return Step(
        read.sentence, read.gates, read.movement, read.unknown, held, read.bound, read.unbound
    )


def _of_all_slots(step: Step, slots: int) -> Step:
    """The step with slots that were named only later: shut, and holding nothing."""
    return replace(
        step,
        gates=filled(step.gates, slots, 0.0),
        movement=filled(step.movement, slots, 0.0),
        words=filled(step.words, slots, ()),
    )


def _attending(asked: Asked, slots: int) -> Asked:
    attention = filled(asked.answer.attention, slots, 0.0)
    return replace(asked, answer=replace(asked.answer, attention=attention))


def filled(values: Sequence[T], count: int, missing: T) -> tuple[T, ...]:
    """The values, and what stands for those of slots that are named later."""
    return (*values, *[missing] * (count - len(values)))


def binding_value(read: Step | SentenceRead) -> dict[str, Any]:
    """What became of new words, as plain values."""
    return {
        "bound": [bound._asdict() for bound in read.bound],
        "unbound": [unbound._asdict() for unbound in read.unbound],
    }


def answer_dict(answer: Answer) -> dict[str, Any]:
    """An answer as plain values."""
    return {
        "question": answer.question,
        "answer": answer.answer,
        "probability": answer.probability,
        "alternatives": [guess._asdict() for guess in answer.alternatives],
        "attention": rounded(answer.attention),
        "unknown": list(answer.unknown),
        "known": answer.known,
        "why_unknown": answer.why_unknown,
    }


def rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in values]


def near_dicts(words: Sequence[NearWord]) -> list[dict[str, Any]]:
    return [{"word": near.word, "similarity": round(near.similarity, 4)} for near in words]
