"""Stories being read: each session is a tracker with the sentences it read; how many there are is bounded.

Nothing but the sentences and the present memory is kept of a session. Earlier moments are read again when
somebody looks back at them, which takes a fraction of a millisecond per sentence. All of it happens on the
event loop, so nothing here needs a thread's lock.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import secrets
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from entnet.data.plain import split_sentences
from entnet.models.base import StoryModel
from entnet.models.card import Manner
from entnet.models.entnet import EntNet
from entnet.serve.problems import ClientError, NoSessionError, StoryFullError
from entnet.serve.settings import ServeSettings
from entnet.serve.work import LongWork, pieces
from entnet.tracker import (
    Answer,
    SentenceRead,
    SlotContent,
    SnapshotError,
    TextError,
    Tracker,
    encode_words,
    words_of,
)

Ending = Literal["deleted", "expired", "evicted"]
SHORT = 32
"""So many sentences are read at once; more are long work."""


@dataclass
class Session:
    """A story being read. Its lock is held by whoever reads or asks, as long work lets others in."""

    id: str
    model_name: str
    tracker: Tracker
    settings: ServeSettings
    work: LongWork
    client: str = ""
    sentences: list[str] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last_used: float = 0.0
    characters: int = 0
    on_growth: Callable[[int], None] = lambda characters: None
    """Told how many characters came, or went."""

    @property
    def model(self) -> StoryModel:
        return self.tracker.model

    async def read(self, text: str) -> list[SentenceRead]:
        """Read all sentences of a text, or none of them."""
        sentences = split_sentences(text)
        if not sentences:
            raise TextError("nothing to read: the text has no sentence in it")
        return await self.read_sentences(sentences)

    async def read_sentences(self, sentences: Sequence[str]) -> list[SentenceRead]:
        characters = self.characters + _size(sentences)
        self._check_room(len(self.sentences) + len(sentences), characters)
        if len(sentences) <= SHORT:
            done = self.tracker.read_sentences(sentences)
        else:
            reader = self.tracker.fork()
            done = await self._read_long(reader, sentences)
            self.tracker = reader
        self._keep([*self.sentences, *(read.sentence for read in done)], characters)
        return done

    async def ask(self, question: str, after: int | None = None, alternatives: int = 4) -> Answer:
        return (await self.at(after)).ask(question, alternatives)

    async def slots(self, after: int | None, words: int) -> list[SlotContent]:
        return (await self.at(after)).slots(words)

    async def at(self, after: int | None) -> Tracker:
        """The tracker as it was when so many sentences had been read."""
        if after is None or after == len(self.sentences):
            return self.tracker
        if after > len(self.sentences):
            raise ClientError(
                f"after is {after}, but {len(self.sentences)} sentences have been read"
            )
        earlier = self.tracker.fork()
        earlier.reset()
        if after <= SHORT:
            earlier.read_sentences(self.sentences[:after])
        else:
            await self._read_long(earlier, self.sentences[:after])
        return earlier

    async def undo(self, count: int) -> None:
        if count > len(self.sentences):
            raise ClientError(
                f"{count} sentences to undo, but {len(self.sentences)} have been read"
            )
        left = len(self.sentences) - count
        self.tracker = await self.at(left)
        self._keep(self.sentences[:left], self.characters - _size(self.sentences[left:]))

    def reset(self) -> None:
        self.tracker.reset()
        self._keep([], 0)

    def go_back(self, tracker: Tracker, sentences: list[str]) -> None:
        """To what was before, where something could not be done to its end."""
        self.tracker = tracker
        self._keep(sentences, _size(sentences))

    def state(self) -> str:
        """The memory as text, for a snapshot in JSON."""
        return base64.b64encode(self.tracker.snapshot()).decode("ascii")

    def restore(self, state: str, sentences: list[str]) -> None:
        """Go back to a snapshot; one that does not fit changes nothing."""
        self._check_room(len(sentences), _size(sentences))
        try:
            content = base64.b64decode(state, validate=True)
        except (binascii.Error, ValueError) as error:
            raise SnapshotError("not a snapshot: its state is not base64") from error
        told = [self._readable(sentence) for sentence in sentences]
        self.tracker.restore(content)
        self._keep(told, _size(sentences))

    def _readable(self, sentence: str) -> str:
        """The sentence in one line; one that this network cannot read is an error."""
        text, words = words_of(self.model, sentence)
        encode_words(self.model, words)
        return text

    async def _read_long(self, tracker: Tracker, sentences: Sequence[str]) -> list[SentenceRead]:
        done: list[SentenceRead] = []
        async with self.work:
            async for part in self.work.slices(pieces(sentences, SHORT)):
                done += tracker.read_sentences(part)
        return done

    def _check_room(self, sentences: int, characters: int) -> None:
        if sentences > self.settings.max_sentences:
            raise StoryFullError(self.settings.max_sentences)
        if characters > self.settings.max_session_characters:
            raise StoryFullError(self.settings.max_session_characters, "characters")

    def _keep(self, sentences: list[str], characters: int) -> None:
        self.sentences = sentences
        before, self.characters = self.characters, characters
        self.on_growth(characters - before)


def _size(sentences: Sequence[str]) -> int:
    return sum(map(len, sentences))


class SessionStore:
    """Sessions by id, bounded in number and size, for each client and for all.

    Where there is no more room, the client that has most loses the session that it used longest ago: one
    that opens many ends its own, not those of others. Sessions idle too long go by themselves.
    """

    def __init__(
        self,
        settings: ServeSettings,
        work: LongWork | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_end: Callable[[Ending], None] = lambda ending: None,
    ) -> None:
        self.settings = settings
        self.work = work or LongWork()
        self.clock = clock
        self.on_end = on_end
        self.characters = 0
        # In both, the least recently used comes first, which is also the first to expire.
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._clients: dict[str, OrderedDict[str, Session]] = defaultdict(OrderedDict)

    def __len__(self) -> int:
        self._expire()
        return len(self._sessions)

    def create(
        self, model_name: str, model: EntNet, client: str = "", manner: Manner | None = None
    ) -> Session:
        """A new session, not yet found by its id; ``keep`` puts it in."""
        name, tracker = secrets.token_urlsafe(18), Tracker(model, manner=manner)
        return Session(name, model_name, tracker, self.settings, self.work, client)

    def keep(self, session: Session) -> None:
        self._expire()
        own = self._clients[session.client]
        while len(own) >= self.settings.max_sessions_per_client:
            self._end(next(iter(own.values())), "evicted")
        while len(self._sessions) >= self.settings.max_sessions:
            self._end(self._least_used_of_greediest(len), "evicted")
        session.last_used = self.clock()
        self._sessions[session.id] = session
        self._clients[session.client][session.id] = session
        session.on_growth = lambda characters: self._grow(session, characters)
        self._grow(session, session.characters)

    def get(self, session_id: str) -> Session:
        self._expire()
        session = self._sessions.get(session_id)
        if session is None:
            raise NoSessionError
        self._sessions.move_to_end(session_id)
        self._clients[session.client].move_to_end(session_id)
        session.last_used = self.clock()
        return session

    def delete(self, session_id: str) -> None:
        self._expire()
        if session_id not in self._sessions:
            raise NoSessionError
        self._end(self._sessions[session_id], "deleted")

    def _grow(self, grown: Session, characters: int) -> None:
        self.characters += characters
        while self.characters > self.settings.max_characters and len(self._sessions) > 1:
            self._end(self._least_used_of_greediest(_characters, but=grown), "evicted")

    def _least_used_of_greediest(
        self,
        amount: Callable[[OrderedDict[str, Session]], int],
        but: Session | None = None,
    ) -> Session:
        others = [
            sessions
            for sessions in self._clients.values()
            if any(session is not but for session in sessions.values())
        ]
        most = max(others, key=amount)
        return next(session for session in most.values() if session is not but)

    def _end(self, session: Session, ending: Ending) -> None:
        del self._sessions[session.id]
        own = self._clients[session.client]
        del own[session.id]
        if not own:
            del self._clients[session.client]
        self.characters -= session.characters
        session.on_growth = lambda characters: None
        self.on_end(ending)

    def _expire(self) -> None:
        oldest = self.clock() - self.settings.session_seconds
        while self._sessions and next(iter(self._sessions.values())).last_used < oldest:
            self._end(next(iter(self._sessions.values())), "expired")


def _characters(sessions: OrderedDict[str, Session]) -> int:
    return sum(session.characters for session in sessions.values())
