"""What `entnet train` makes of 300 stories of domains that nothing here was made for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from entnet import Story
from entnet.config import TrainConfig
from entnet.training.loop import Run
from entnet.training.setup import prepare
from symmetries.depots import depot_stories
from symmetries.lamps import lamp_stories
from symmetries.lending import lending_stories

SOLVED = 5.0
"""Test error, in percent: bAbI's mark of a solved task."""


@pytest.mark.slow
@pytest.mark.parametrize("tell", [depot_stories, lending_stories, lamp_stories])
def test_300_stories_are_enough(tmp_path: Path, tell: Callable[[int, int], list[Story]]) -> None:
    config = TrainConfig(schedule="auto", epochs=1000)
    prepared = prepare(tell(300, 1), None, tell(500, 2), config)
    result = Run(tmp_path, prepared.build, prepared.data, config).train()
    assert result["best"]["test_error"] <= SOLVED
