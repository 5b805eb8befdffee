"""Connections with limits: how many there are, and how long each may take.

uvicorn closes a connection that is idle between requests, but waits for ever for a request that never
arrives, and holds as many connections as come. A connection here has so long to bring a whole request, so
long to take an answer, and where there are too many, the one that has been idle longest makes room.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

MOST_HEAD_BYTES = 64_000
"""Of a request, what is not its body: address, headers, and what may stand between and behind chunks."""

MOST_PIPELINED = 100
"""Requests that a connection may send before the first of them is answered."""
MOST_FRAGMENTS = 1000
"""Of a message on a WebSocket, which may be empty each."""


def _last_words(status: bytes, detail: bytes, header: bytes = b"") -> bytes:
    """An answer after which the connection is closed."""
    said = b'{"detail":"%s"}' % detail
    return (
        b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
        b"connection: close\r\n%s\r\n%s" % (status, len(said), header, said)
    )


_FULL = _last_words(
    b"503 Service Unavailable",
    b"the service has too many connections; try again in a moment",
    b"retry-after: 1\r\n",
)
_TOO_LONG = _last_words(
    b"431 Request Header Fields Too Large",
    b"the headers are too long; at most %d bytes are read" % MOST_HEAD_BYTES,
)


class Limited(HttpToolsProtocol):
    """A connection. Limits and the connections that wait for a request belong to a subclass per service."""

    most: ClassVar[int]
    request_seconds: ClassVar[float]
    waiting: ClassVar[OrderedDict[Limited, None]]
    """Connections without a whole request, the one that has been so longest first."""

    @classmethod
    def limited_to(cls, most: int, request_seconds: float) -> type[Limited]:
        limits = {"most": most, "request_seconds": request_seconds, "waiting": OrderedDict()}
        return type("LimitedConnection", (cls,), limits)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        """How much has come of this request that is not its body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if len(self.connections) >= self.most:
            if not self.waiting:
                super().connection_made(transport)
                self._close_with(_FULL)
                return
            longest, _ = self.waiting.popitem(last=False)
            longest.transport.abort()
            longest.connections.discard(longest)
        super().connection_made(transport)
        self.waiting[self] = None
        self._must_end_within(self.request_seconds)

    def data_received(self, data: bytes) -> None:
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > MOST_HEAD_BYTES:
            self._refuse_the_rest()
        if self.transport.get_protocol() is not self:
            self._forget()  # a WebSocket from here on, with time limits of its own
        elif self.cycle is not None and not self.cycle.response_complete:
            if not self.cycle.more_body:
                self._forget()
        elif self._deadline is None and not self.transport.is_closing():
            self._must_end_within(self.request_seconds)  # the request has begun to arrive

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MOST_PIPELINED:
            self.transport.abort()
            raise ConnectionAbortedError  # ends the reading of what has come
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head_bytes -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._head_bytes = 0

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and not self.pipeline:
            self.waiting[self] = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._must_end_within(self.request_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _refuse_the_rest(self) -> None:
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering and self.cycle.response_started:
            self.transport.abort()
        elif not self.transport.is_closing():
            self._close_with(_TOO_LONG)

    def _close_with(self, answer: bytes) -> None:
        self.transport.write(answer)
        self.transport.close()

    def _forget(self) -> None:
        self.waiting.pop(self, None)
        self._cancel_deadline()

    def _must_end_within(self, seconds: float) -> None:
        self._cancel_deadline()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class LimitedStream(WebSocketsSansIOProtocol):
    """A WebSocket whose client takes what it is sent, and ends its messages."""

    def handle_ping(self) -> None:
        super().handle_ping()
        if not self.writable.is_set():  # it asks on and takes no answer
            self.transport.abort()

    def handle_cont(self, event: Frame) -> None:
        super().handle_cont(event)
        if len(self.frames) > MOST_FRAGMENTS:
            self.transport.abort()
