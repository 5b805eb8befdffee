"""A whole story traced: long work, in slices, straight to JSON."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_core import to_json

from entnet.inspection.trace import binding_value, filled, near_dicts, rounded, slot_names
from entnet.serve.problems import ClientError
from entnet.serve.sessions import Session
from entnet.serve.work import pieces
from entnet.tracker import SentenceRead, Tracker

_TOGETHER = 8
"""Sentences whose nearest words are looked for at once."""


async def trace(session: Session, words: int, first: int, count: int | None) -> bytes:
    """``TraceOut`` as JSON: what happened in ``count`` sentences from ``first`` on."""
    sentences = list(session.sentences)
    _check(session, len(sentences), words, first, count)
    last = len(sentences) if count is None else min(first + count, len(sentences))
    tracker = session.tracker.fork()
    tracker.reset()
    # Of the whole story: slots may be named on the way, and are shown empty before.
    names = [
        {"slot": name.slot, "key": name.key, "follows": near_dicts(name.follows)}
        for name in slot_names(session.tracker, words)
    ]
    steps: list[bytes] = []
    async with session.work:
        async for part in session.work.slices(pieces(sentences[:first], _TOGETHER)):
            tracker.read_sentences(part)
        start = _held([tracker], words)[0]
        async for part in session.work.slices(pieces(sentences[first:last], _TOGETHER)):
            steps += _steps(tracker, part, words, len(names))
    start += [[] for _ in names[len(start) :]]
    head = to_json({"model": session.model_name, "slots": names, "start": start})
    return head[:-1] + b',"steps":[' + b",".join(steps) + b"]}"


def _check(session: Session, sentences: int, words: int, first: int, count: int | None) -> None:
    if first > sentences:
        raise ClientError(f"first is {first}, but {sentences} sentences have been read")
    asked = sentences - first if count is None else min(count, sentences - first)
    most = session.settings.max_trace_words // words
    if asked > most:
        raise ClientError(
            f"a trace of {asked} sentences with {words} words per slot is too long: ask for at most "
            f"{most} sentences at a time, with first and count, or for fewer words"
        )


def _steps(tracker: Tracker, sentences: Sequence[str], words: int, slots: int) -> list[bytes]:
    reads: list[SentenceRead] = []
    moments: list[Tracker] = []
    for sentence in sentences:
        reads += tracker.read_sentences([sentence])
        moments.append(tracker.fork())
    return [
        to_json(
            {
                "sentence": read.sentence,
                "gates": filled(rounded(read.gates), slots, 0.0),
                "movement": filled(rounded(read.movement), slots, 0.0),
                "unknown": read.unknown,
                **binding_value(read),
                "words": filled(held, slots, []),
            }
        )
        for read, held in zip(reads, _held(moments, words), strict=True)
    ]


def _held(moments: list[Tracker], words: int) -> list[list[list[dict[str, object]]]]:
    """For every moment and slot, the nearest words as plain values."""
    return [[near_dicts(slot) for slot in slots] for slots in Tracker.hold(moments, words)]
