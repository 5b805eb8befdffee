"""Mistakes of a client, and a service that can take no more, each with a status and help."""

from __future__ import annotations

from entnet.errors import EntNetError


class ClientError(EntNetError):
    """Answered with this status and this message."""

    status = 422


class NoSessionError(ClientError):
    status = 404

    def __init__(self) -> None:
        super().__init__(
            "no such session: it ended, was idle too long, or never was; "
            "start one with POST /sessions"
        )


class NoModelError(ClientError):
    status = 404

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"no network named {shortened(name)!r}; there are: {', '.join(known)}")


class NoTaskError(ClientError):
    status = 404

    def __init__(self, known: list[int]) -> None:
        super().__init__(f"no such task; there are: {', '.join(map(str, known))}")


class StoryFullError(ClientError):
    status = 409

    def __init__(self, limit: int, unit: str = "sentences") -> None:
        super().__init__(
            f"a session reads at most {limit:,} {unit}; undo some, reset it, or start another"
        )


class BusyError(ClientError):
    """Too much long work waits already, or the service is about to end."""

    status = 503

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; try again in a moment")


def shortened(text: str, limit: int = 60) -> str:
    """Text from a client, safe to send back: short, and whole characters only."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= limit else text[: limit - 1] + "…"
