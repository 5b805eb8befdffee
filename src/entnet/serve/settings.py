"""What a service allows, and whom."""

from __future__ import annotations

from dataclasses import dataclass

from entnet.config import Config


@dataclass(frozen=True)
class ServeSettings(Config):
    """Limits of a service. Each is an option of ``entnet serve``."""

    max_sessions: int = 256
    """Sessions held at a time; with one more, the least recently used goes."""
    session_seconds: float = 3600.0
    """A session that nobody used for so long is dropped."""
    max_sentences: int = 500
    """Sentences a session can read."""
    max_body_bytes: int = 256_000
    """Largest request."""
    max_text_characters: int = 20_000
    """Longest text or question in a request."""
    max_models: int = 32
    """Networks held in memory at a time."""
    api_key: str | None = None
    """With a key, every request must carry it, but for the page and ``/health``."""
    hosts: tuple[str, ...] = ()
    """Host names that requests may be addressed to; none given means any.

    A service on loopback names its own, so that a page elsewhere cannot reach it through a name
    that its owner points at this machine.
    """

    def check(self) -> None:
        for name in ("max_sessions", "max_sentences", "max_text_characters", "max_models"):
            value = getattr(self, name)
            self.require(value >= 1, f"{name} is {value}, but must be at least 1")
        self.require(self.max_body_bytes >= 1000, "max_body_bytes must be at least 1000")
        self.require(self.session_seconds > 0, "session_seconds must be above 0")
        self.require(self.api_key is None or len(self.api_key) >= 8, "api_key is too short (8)")
