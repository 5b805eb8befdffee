"""What the card of `world` says: its kinds of words and where they stand, and how sure it is."""

from __future__ import annotations

from pathlib import Path

from entnet.binding import Places
from entnet.data.world import pools
from entnet.data.world.mixture import mixture
from entnet.inspection.names import best_temperature, least_probability
from entnet.models.base import StoryModel
from entnet.tasks.world import KINDS

WORLD = "world"
"""Its table, and its name."""

STORIES = 5_000
"""From which places are learned: enough to meet every sentence."""


def world_places() -> Places:
    """Where people, things and places stand, in stories without words that say nothing."""
    fillers = set(pools.FILLERS)
    stories = [
        story
        for story in mixture(STORIES, 1)
        if not any(fillers & set(text.split()) for text in story.sentences)
    ]
    return Places.learn(stories, KINDS)


COST = 0.008
"""Share of the answerable questions of bAbI's tasks that may be declined: less than the 1% allowed."""


def world_least_probability(source: Path | str, temperature: float) -> float:
    """Below which its answers count as not known, on validation stories of bAbI's tasks."""
    stories = mixture(600, 1, "valid", task_share=1.0)
    return least_probability(StoryModel.from_pretrained(source), stories, temperature, COST)


def world_temperature(source: Path | str) -> float:
    """By which its probabilities are calibrated, on validation stories."""
    return best_temperature(StoryModel.from_pretrained(source), mixture(600, 1, "valid"))
