"""10,000 questions of each task, made once."""

from __future__ import annotations

import time
from functools import cache

import pytest

from entnet.data.babi_tasks import generate
from entnet.data.story import Story


@cache
def _many(task: int) -> tuple[list[Story], float]:
    began = time.process_time()
    stories = generate(task, 10_000, seed=1)
    return stories, time.process_time() - began


@pytest.fixture
def many_stories(task: int) -> list[Story]:
    return _many(task)[0]


@pytest.fixture
def generation_seconds(task: int) -> float:
    return _many(task)[1]
