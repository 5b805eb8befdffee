"""10,000 questions of each task, made once."""

from __future__ import annotations

from functools import cache

import pytest

from entnet.data.babi_tasks import generate
from entnet.data.story import Story


@cache
def _many(task: int) -> list[Story]:
    return generate(task, 10_000, seed=1)


@pytest.fixture
def many_stories(task: int) -> list[Story]:
    return _many(task)
