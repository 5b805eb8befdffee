"""One process at a time on a run: a lock in its directory, which ends with the process that holds it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from entnet.errors import EntNetError

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
"""In a run's directory: holds the number of the process that is at the run."""


class BusyError(EntNetError):
    """Another process is at the run."""


def is_locked(directory: Path) -> bool:
    """Whether a process is at the run of this directory now."""
    path = directory / LOCK
    if fcntl is None or not path.is_file():
        return False
    with path.open() as file:
        return not _lock(file)


@contextmanager
def sole_use(directory: Path) -> Iterator[None]:
    """Keep a second process from working on the same run. The lock ends with the process that holds it."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / LOCK).open("a+") as file:
        tries = 0
        while not _lock(file):  # once more: ``is_locked`` holds the lock for a moment
            tries += 1
            if tries == 5:
                file.seek(0)
                holder = file.read().strip() or "unknown"
                raise BusyError(f"{directory}: process {holder} is at this run")
            time.sleep(0.05)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _lock(file: IO[str]) -> bool:
    if fcntl is None:  # no such locks on this system: the user's care is all there is
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
