"""How a network is talked with, by its card: which new words it may be told, how sure it really is."""

from __future__ import annotations

import json
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
    path = locate(source) / CARD
    if not path.is_file():
        return Manner()
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
        binding = card.get("binding")
        return Manner(
            Places.from_json(binding) if binding else None,
            float(card.get("temperature", 1.0)),
            float(card.get("least_probability", 0.0)),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelFileError(f"{path}: not a network's card: {error!r}") from error
