"""What all verbs share, and plain values for what they say."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from entnet.data.plain import is_question, split_sentences
from entnet.inspection.trace import answer_dict, binding_value, rounded
from entnet.models.entnet import EntNet
from entnet.serve.library import Library
from entnet.serve.metrics import Metrics
from entnet.serve.problems import ClientError, StoryFullError
from entnet.serve.sessions import Session, SessionStore
from entnet.serve.settings import ServeSettings
from entnet.serve.work import LongWork
from entnet.tracker import Answer, SentenceRead, TextError


@dataclass(frozen=True)
class Service:
    """What the verbs share."""

    settings: ServeSettings
    library: Library
    sessions: SessionStore
    metrics: Metrics
    work: LongWork

    async def network(self, name: str) -> EntNet:
        """Loading takes milliseconds, and so is done elsewhere; mostly it is loaded already."""
        loaded = self.library.loaded(name)
        return await asyncio.to_thread(self.library.load, name) if loaded is None else loaded

    async def new_session(
        self, model: str | None, snapshot: Any | None, client: str = ""
    ) -> Session:
        """A session of a network, or of a snapshot's network and as in the snapshot; not kept yet."""
        if snapshot and model not in (None, snapshot.model):
            raise ClientError(f"the snapshot is of the network {snapshot.model!r}; leave out model")
        name = snapshot.model if snapshot else model or self.library.default
        network, manner = await self.network(name), self.library.manner(name)
        session = self.sessions.create(name, network, client, manner)
        if snapshot:
            session.restore(snapshot.state, snapshot.sentences)
        return session

    async def read(self, session: Session, text: str) -> list[SentenceRead]:
        self.check_length(text)
        done = await session.read(text)
        self.metrics.sentences.inc(len(done))
        return done

    async def ask(
        self, session: Session, question: str, after: int | None, alternatives: int
    ) -> dict[str, Any]:
        self.check_length(question)
        answer = await session.ask(question, after, alternatives)
        self.metrics.questions.inc()
        return answer_value(answer, len(session.sentences) if after is None else after)

    async def tell(self, session: Session, text: str, alternatives: int) -> dict[str, Any]:
        """Read the sentences and ask the questions of a text, each where it stands; all, or none of it."""
        self.check_length(text)
        parts = runs(split_sentences(text))
        if sum(len(run) for _, run in parts) > self.settings.max_sentences:
            raise StoryFullError(self.settings.max_sentences)
        if not parts:
            raise TextError("nothing to read: the text has no sentence in it")
        before = session.tracker, session.sentences
        session.tracker = session.tracker.fork()
        read: list[SentenceRead] = []
        answers: list[dict[str, Any]] = []
        try:
            for asks, run in parts:
                if not asks:
                    read += await session.read_sentences(run)
                    continue
                async for question in self.work.slices(run):
                    answer = session.tracker.ask(question, alternatives)
                    answers.append(answer_value(answer, len(session.sentences)))
        except BaseException:
            session.go_back(*before)
            raise
        self.metrics.sentences.inc(len(read))
        self.metrics.questions.inc(len(answers))
        return {
            "sentences_read": len(session.sentences),
            "read": [sentence_value(item) for item in read],
            "answers": answers,
        }

    def check_length(self, text: str) -> None:
        limit = self.settings.max_text_characters
        if len(text) > limit:
            raise ClientError(
                f"a text of {len(text):,} characters; at most {limit:,} are read at a time"
            )


def runs(pieces: list[str]) -> list[tuple[bool, list[str]]]:
    """Sentences and questions in the order of the text, as (whether these are questions, these)."""
    found: list[tuple[bool, list[str]]] = []
    for piece in pieces:
        asks = is_question(piece)
        if not found or found[-1][0] != asks:
            found.append((asks, []))
        found[-1][1].append(piece)
    return found


def session_value(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "model": session.model_name,
        "sentences": session.sentences,
        "idle_seconds": session.settings.session_seconds,
    }


def snapshot_value(session: Session) -> dict[str, Any]:
    return {
        "format": "entnet-session",
        "version": 1,
        "model": session.model_name,
        "sentences": session.sentences,
        "state": session.state(),
    }


def sentence_value(read: SentenceRead) -> dict[str, Any]:
    return {
        "sentence": read.sentence,
        "gates": rounded(read.gates),
        "movement": rounded(read.movement),
        "unknown": read.unknown,
        **binding_value(read),
    }


def answer_value(answer: Answer, after: int) -> dict[str, Any]:
    return {**answer_dict(answer), "after": after}
