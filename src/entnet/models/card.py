"""How a network is talked with, by its card: which new words it may be told, how sure it really is."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from entnet.binding import Places
from entnet.errors import ModelFileError
from entnet.models.base import locate

CARD = "card.json"


class Manner(NamedTuple):
    """How a network is talked with. The default is as in the tables of the paper: word for word."""

    places: Places | None = None
    """Where its kinds of words stand; new words are bound by it."""
    temperature: float = 1.0
    """Scores are divided by it before the softmax: probabilities are then calibrated."""
    least_probability: float = 0.0
    """An answer that is less probable counts as not known."""

    def to_json(self) -> dict[str, Any]:
        return {
            "binding": self.places.to_json() if self.places else None,
            "temperature": self.temperature,
            "least_probability": self.least_probability,
        }


def read_manner(source: Path | str) -> Manner:
    """The manner of the network in a directory or of that name; the default where its card says nothing."""
    directory = locate(source)
    try:
        return manner_of(read_card(directory))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelFileError(f"{directory / CARD}: not a network's card: {error!r}") from error


class Facts(NamedTuple):
    """What a card says to people who choose a network; None where it does not."""

    title: str | None
    task: int | None
    """The bAbI task it is for; none for several at once."""
    test_error: float | None
    """In percent."""


def facts_of(card: Mapping[str, Any]) -> Facts:
    title, task, error = (card.get(name) for name in Facts._fields)
    return Facts(
        title if isinstance(title, str) else None,
        task if isinstance(task, int) and task > 0 else None,
        float(error) if isinstance(error, int | float) and math.isfinite(error) else None,
    )


def read_card(source: Path | str) -> dict[str, Any]:
    """What the card of a network says, as plain values; nothing where it has none."""
    path = locate(source) / CARD
    if not path.is_file():
        return {}
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: not JSON that can be read: {error}") from error
    if not isinstance(card, dict):
        raise ModelFileError(f"{path}: not a network's card: it is no object")
    return card


def manner_of(card: Mapping[str, Any]) -> Manner:
    """The manner that a card describes."""
    binding = card.get("binding")
    temperature, least = (
        float(card.get(name, Manner._field_defaults[name]))
        for name in ("temperature", "least_probability")
    )
    if not (0 < temperature < math.inf and 0 <= least <= 1):
        raise ValueError("temperature must be above 0, least_probability between 0 and 1")
    return Manner(Places.from_json(binding) if binding else None, temperature, least)
