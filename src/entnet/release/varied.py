"""How shipped networks do on their tasks' stories told otherwise: longer, shorter, in another order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from entnet.config import TrainConfig
from entnet.data.babi_tasks.varied import VARIATIONS, varied
from entnet.data.story import longest_sentence
from entnet.models.base import StoryModel, pretrained_root
from entnet.release.card import Card, write_card
from entnet.tasks.babi import error_percent

QUESTIONS = 1_000
"""Of each task and way of telling, as many as the official test files have."""
SEED = 1

Varied = dict[str, dict[str, float]]
"""Errors in percent, by task and way of telling."""


def measure_varied(network: StoryModel, tasks: Iterable[int]) -> Varied:
    """A network's errors on stories of its tasks told otherwise; none of a task whose sentences are longer
    than the network's."""
    found: Varied = {}
    for number in tasks:
        told = {how: varied(number, QUESTIONS, SEED, how) for how in VARIATIONS}
        if longest_sentence(chain(*told.values())) <= network.config.longest_sentence:
            found[str(number)] = {
                how: round(error_percent(network, stories, TrainConfig()), 4)
                for how, stories in told.items()
            }
    return found


def tasks_of(card: Card) -> list[int]:
    """The tasks that a network does: those of its card, or its one."""
    return [int(task) for task in card.task_test_errors] or [int(card.task)]


def write_varied(name: str, card: Card) -> Varied:
    """Measure a shipped network and write it into its card; everything else stays."""
    errors = measure_varied(StoryModel.from_pretrained(name), tasks_of(card))
    write_card(replace(card, varied=errors), pretrained_root() / name)
    return errors


def worst(card: Card) -> float | None:
    """The largest of a network's errors on stories told otherwise; None where they were not measured."""
    return max((error for by in card.varied.values() for error in by.values()), default=None)
