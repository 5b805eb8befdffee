"""Participants with one another's names: what is told of whom changes, what happens does not."""

from __future__ import annotations

import numpy as np

from entnet.data.propara.exchange import exchange, interchangeable
from entnet.data.propara.process import Process

PROCESS = Process(
    "1",
    (
        "Rain falls on the sand.",
        "The rain and some salt reach the clay pot.",
        "Sunlight dries the salt.",
    ),
    ("rain", "salt", "clay", "sunlight; light", "clay pot"),
    (
        ("?", "sand", "pot", "-"),
        ("sand", "sand", "pot", "pot"),
        ("?", "?", "?", "?"),
        ("?", "?", "?", "?"),
        ("?", "?", "?", "?"),
    ),
)


def test_only_those_whose_names_mean_nothing_else_are_interchangeable() -> None:
    """Light has two names; clay is a word of the clay pot's, which is a place besides."""
    assert interchangeable(PROCESS) == ["rain", "salt"]


def test_names_are_exchanged_everywhere_and_states_are_not() -> None:
    told = {exchange(PROCESS, np.random.default_rng(seed)) for seed in range(20)}
    assert {one.participants[:2] for one in told} == {("rain", "salt"), ("salt", "rain")}
    (other,) = (one for one in told if one.participants[0] == "salt")
    assert other.sentences == (
        "salt falls on the sand .",
        "the salt and some rain reach the clay pot .",
        "sunlight dries the rain .",
    )
    assert other.states == PROCESS.states
    assert other.participants[2:] == PROCESS.participants[2:]
