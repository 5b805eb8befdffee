"""What ``entnet evaluate`` does with a network that reads running text: files of any length, as a
stream."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from entnet.data.long_files import Begin, Event, Heard, read_long
from entnet.data.story import Question
from entnet.models.entnet import EntNet
from entnet.models.stream_reader import Position, StreamReader, joined
from entnet.text import answer_token

MOST_NEEDLES = 200
"""Of a story, kept to be shown with a mistake."""


class LongAnswer(NamedTuple):
    """A question, the sentences that had opened a gate, and what the network said."""

    sentences: tuple[str, ...]
    question: str
    answer: str
    said: str


class _Events:
    """A file's events, of which the text up to the next question can be taken as blocks."""

    def __init__(self, events: Iterator[Event]) -> None:
        self.events = events
        self.stopped: Event | None = None

    def text(self) -> Iterator[str]:
        self.stopped = None
        for event in self.events:
            if not isinstance(event, Heard):
                self.stopped = event
                return
            yield event.text
            yield "\n\n"


def evaluate_long(network: EntNet, file: Path) -> tuple[dict[str, Any], list[LongAnswer]]:
    """Ask every question of a file of long documents."""
    reader = StreamReader(network)
    start = reader.memory
    events = _Events(read_long(file))
    answered: list[LongAnswer] = []
    needles: list[str] = []
    total, opened, began = 0, 0, time.monotonic()
    while True:
        for needle in reader.read(joined(events.text())):
            needles = [*needles[-MOST_NEEDLES + 1 :], needle.sentence]
        if isinstance(events.stopped, Question):
            asked = events.stopped
            said, _ = reader.ask(asked.text)
            answer = answer_token(asked.answer, network.config.lowercase)
            answered.append(LongAnswer(tuple(needles), asked.text, answer, said))
            continue
        total, opened = total + reader.position.words, opened + reader.position.opened
        if not isinstance(events.stopped, Begin):
            break
        reader.memory, reader.position, needles = start, Position(), []
    seconds = time.monotonic() - began
    errors = sum(one.said != one.answer for one in answered)
    return {
        "questions": len(answered),
        "errors": errors,
        "error_percent": round(100 * errors / len(answered), 4) if answered else 0.0,
        "words": total,
        "opened": opened,
        "seconds": round(seconds, 3),
        "words_per_second": round(total / max(seconds, 1e-9)),
    }, answered
