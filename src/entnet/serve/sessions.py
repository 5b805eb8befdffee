"""Stories being read: a bounded number of sessions, each a tracker with the sentences it read.

Nothing but the sentences and the present memory is kept of a session, some kilobytes. Earlier moments
are read again when somebody looks back at them, which takes a fraction of a millisecond a sentence.
"""

from __future__ import annotations

import base64
import binascii
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from entnet.data.plain import split_sentences
from entnet.data.story import Story
from entnet.inspection.trace import Trace, trace_story
from entnet.models.entnet import EntNet
from entnet.serve.problems import ClientError, NoSessionError, StoryFullError
from entnet.tracker import (
    Answer,
    SentenceRead,
    SlotContent,
    SnapshotError,
    TextError,
    Tracker,
    encode_text,
)

Ending = Literal["deleted", "expired", "evicted"]


@dataclass
class Session:
    """A story being read. Its lock is held by whoever reads or asks."""

    id: str
    model_name: str
    tracker: Tracker
    max_sentences: int
    sentences: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    last_used: float = 0.0

    @property
    def model(self) -> EntNet:
        return self.tracker.model

    def read(self, text: str) -> list[SentenceRead]:
        """Read all sentences of a text, or none of them."""
        sentences = split_sentences(text)
        if not sentences:
            raise TextError("nothing to read: the text has no sentence in it")
        if len(self.sentences) + len(sentences) > self.max_sentences:
            raise StoryFullError(self.max_sentences)
        done = self.tracker.read_sentences(sentences)
        self.sentences.extend(read.sentence for read in done)
        return done

    def ask(self, question: str, after: int | None, alternatives: int) -> Answer:
        return self.at(after).ask(question, alternatives)

    def slots(self, after: int | None, words: int) -> list[SlotContent]:
        return self.at(after).slots(words)

    def trace(self, words: int) -> Trace:
        story = Story(tuple(self.sentences), ())
        return trace_story(self.model, story, self.model_name, words)

    def at(self, after: int | None) -> Tracker:
        """The tracker as it was when so many sentences had been read."""
        if after is None or after == len(self.sentences):
            return self.tracker
        if after > len(self.sentences):
            raise ClientError(
                f"after is {after}, but {len(self.sentences)} sentences have been read"
            )
        earlier = self.tracker.fork()
        earlier.reset()
        earlier.read_sentences(self.sentences[:after])
        return earlier

    def undo(self, count: int) -> None:
        if count > len(self.sentences):
            raise ClientError(
                f"{count} sentences to undo, but {len(self.sentences)} have been read"
            )
        self.tracker = self.at(len(self.sentences) - count)
        del self.sentences[len(self.sentences) - count :]

    def reset(self) -> None:
        self.tracker.reset()
        self.sentences.clear()

    def state(self) -> str:
        """The memory as text, for a snapshot in JSON."""
        return base64.b64encode(self.tracker.snapshot()).decode("ascii")

    def restore(self, state: str, sentences: list[str]) -> None:
        """Go back to a snapshot; one that does not fit changes nothing."""
        if len(sentences) > self.max_sentences:
            raise StoryFullError(self.max_sentences)
        try:
            content = base64.b64decode(state, validate=True)
        except (binascii.Error, ValueError) as error:
            raise SnapshotError("not a snapshot: its state is not base64") from error
        told = [encode_text(self.model, sentence)[0] for sentence in sentences]
        self.tracker.restore(content)
        self.sentences = told


class SessionStore:
    """Sessions by id. Those least recently used go first, those idle too long go by themselves."""

    def __init__(
        self,
        limit: int,
        idle_seconds: float,
        max_sentences: int,
        clock: Callable[[], float] = time.monotonic,
        on_end: Callable[[Ending], None] = lambda ending: None,
    ) -> None:
        self.limit = limit
        self.idle_seconds = idle_seconds
        self.max_sentences = max_sentences
        self.clock = clock
        self.on_end = on_end
        self._lock = threading.Lock()
        # The least recently used comes first, which is also the first to expire.
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def __len__(self) -> int:
        with self._lock:
            self._expire()
            return len(self._sessions)

    def create(self, model_name: str, model: EntNet) -> Session:
        """A new session, not yet found by its id; ``keep`` puts it in."""
        return Session(secrets.token_urlsafe(18), model_name, Tracker(model), self.max_sentences)

    def keep(self, session: Session) -> None:
        with self._lock:
            self._expire()
            while len(self._sessions) >= self.limit:
                self._sessions.popitem(last=False)
                self.on_end("evicted")
            session.last_used = self.clock()
            self._sessions[session.id] = session

    def get(self, session_id: str) -> Session:
        with self._lock:
            self._expire()
            session = self._sessions.get(session_id)
            if session is None:
                raise NoSessionError
            self._sessions.move_to_end(session_id)
            session.last_used = self.clock()
            return session

    def delete(self, session_id: str) -> None:
        with self._lock:
            self._expire()
            if self._sessions.pop(session_id, None) is None:
                raise NoSessionError
            self.on_end("deleted")

    def _expire(self) -> None:
        oldest = self.clock() - self.idle_seconds
        while self._sessions and next(iter(self._sessions.values())).last_used < oldest:
            self._sessions.popitem(last=False)
            self.on_end("expired")
