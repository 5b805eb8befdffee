"""What a service allows, and whom."""

from __future__ import annotations

from dataclasses import dataclass

from entnet.config import Config


@dataclass(frozen=True)
class ServeSettings(Config):
    """Limits of a service. Each is an option of ``entnet serve``."""

    max_sessions: int = 1024
    """Sessions held at a time; with one more, whoever has most loses the one used longest ago."""
    max_sessions_per_client: int = 256
    """Sessions held for one client; with one more, it loses the one it used longest ago."""
    session_seconds: float = 3600.0
    """A session that nobody used for so long is dropped."""
    max_sentences: int = 500
    """Sentences a session can read."""
    max_session_characters: int = 100_000
    """Characters of all sentences of a session."""
    max_characters: int = 8_000_000
    """Characters of all sessions; beyond, sessions end as with ``max_sessions``."""
    max_body_bytes: int = 256_000
    """Largest request."""
    max_text_characters: int = 20_000
    """Longest text or question in a request."""
    max_trace_words: int = 2_000
    """Sentences × words per slot that one trace gives."""
    max_connections: int = 1000
    """Connections held at a time; with one more, the one that has been idle longest is closed."""
    request_seconds: float = 15.0
    """A request that has not arrived, or an answer not taken, within so long ends its connection."""
    idle_seconds: float = 60.0
    """A connection without a request for so long is closed."""
    max_models: int = 32
    """Networks held in memory at a time."""
    api_key: str | None = None
    """With a key, every request must carry it, but for the page and ``/health``. Several are separated by
    commas; each is then a client of its own."""
    hosts: tuple[str, ...] = ()
    """Host names that requests may be addressed to; none given means any.

    A service on loopback names its own, so that a page elsewhere cannot reach it through a name
    that its owner points at this machine.
    """
    sessions: bool = True
    """Without sessions, only what needs no memory between requests is offered: for replicas."""

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.api_key.split(",")) if self.api_key is not None else ()

    def check(self) -> None:
        self.at_least(
            1,
            "max_sessions",
            "max_sessions_per_client",
            "max_sentences",
            "max_session_characters",
            "max_characters",
            "max_text_characters",
            "max_trace_words",
            "max_connections",
            "max_models",
        )
        self.require(self.max_body_bytes >= 1000, "max_body_bytes must be at least 1000")
        for name in ("session_seconds", "request_seconds", "idle_seconds"):
            self.require(getattr(self, name) > 0, f"{name} must be above 0")
        self.require(
            all(len(key) >= 8 for key in self.keys),
            "api_key is too short: each key needs 8 characters",
        )
