"""Logs that nobody can flood: many records in a short time are counted, not written."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable


class AtMost(logging.Filter):
    """Lets so many records pass in so many seconds, then says how many it held back."""

    def __init__(
        self, records: int = 20, seconds: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self.records = records
        self.seconds = seconds
        self.clock = clock
        self._began = clock()
        self._seen = 0

    def filter(self, record: logging.LogRecord) -> bool:
        now = self.clock()
        if now - self._began >= self.seconds:
            held_back = self._seen - self.records
            self._began, self._seen = now, 0
            if held_back > 0:
                record.msg = (
                    f"{record.getMessage()} ({held_back} records before this were left out)"
                )
                record.args = None
        self._seen += 1
        return self._seen <= self.records


def keep_logs_short() -> None:
    """For everything that a request, or a connection, can make the service log."""
    for name in ("uvicorn.error", "asyncio", "entnet.serve"):
        logger = logging.getLogger(name)
        if not any(isinstance(known, AtMost) for known in logger.filters):
            logger.addFilter(AtMost())
