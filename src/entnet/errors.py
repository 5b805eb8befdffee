"""Errors meant for the person who made the mistake: what was wrong, where, what would be right."""

from __future__ import annotations

from pathlib import Path


class EntNetError(Exception):
    """Something a user can put right. The command line prints its message and no traceback."""


class DataError(EntNetError):
    """A file that cannot be read as what it should be."""

    def __init__(self, path: Path | str, line: int | None, reason: str) -> None:
        self.path = Path(path)
        self.line = line
        self.reason = reason
        where = f"{path}" if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {reason}")


class ModelFileError(EntNetError):
    """A saved network that is missing, corrupt, foreign or does not match its configuration."""
