"""Work of more than a few milliseconds: few jobs at a time, in slices, so that others are answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TypeVar

from entnet.serve.problems import BusyError

Item = TypeVar("Item")
SLICE_SECONDS = 0.002


class LongWork:
    """Whoever has much to do enters here: ``async with work: async for item in work.slices(items)``."""

    def __init__(self, at_once: int = 2, waiting: int = 100) -> None:
        """``at_once`` jobs run, in turns; so many more may wait, and others are told to come again."""
        self._free = asyncio.Semaphore(at_once)
        self._waiting = 0
        self._most_waiting = waiting
        self._stopping = False

    def stop(self) -> None:
        """What has begun is finished; what waits, or comes, is told that the service ends."""
        self._stopping = True

    async def __aenter__(self) -> None:
        self._check()
        if self._free.locked() and self._waiting >= self._most_waiting:
            raise BusyError("the service has too much to do")
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            self._check()
        except BusyError:
            self._free.release()
            raise

    async def __aexit__(self, *error: object) -> None:
        self._free.release()

    def _check(self) -> None:
        if self._stopping:
            raise BusyError("the service ends")

    async def slices(self, items: Iterable[Item]) -> AsyncIterator[Item]:
        """The items, letting others in every couple of milliseconds."""
        began = time.perf_counter()
        for item in items:
            yield item
            if time.perf_counter() - began > SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()


def pieces(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """The items in order, ``size`` at a time."""
    return [items[start : start + size] for start in range(0, len(items), size)]
