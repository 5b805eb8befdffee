"""The card of a network that comes with the package: where it is from, and how good it is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from entnet.errors import EntNetError
from entnet.files import write_atomically
from entnet.hub import NEEDED
from entnet.models.base import list_pretrained, pretrained_root
from entnet.models.card import CARD


@dataclass(frozen=True)
class Card:
    """Where a network comes from and how good it is. Errors in percent."""

    name: str
    title: str
    task: int | str
    """1 … 20, or 0 for all of them; NE or CN for the Children's Book Test; ProPara."""
    table: str
    variant: str
    seed: int
    data: str
    train_data: str
    epoch: int
    validation_error: float
    test_error: float
    """On all questions of the official test file; for a joint network, the mean over the tasks."""
    test_questions: int
    task_test_errors: dict[str, float]
    """A joint network's error on each task."""
    parameters: int
    binding: dict[str, Any] | None = None
    """Which words are of a kind, and where they stand: new words are bound by it."""
    temperature: float = 1.0
    """What scores are divided by, so that probabilities are calibrated."""
    least_probability: float = 0.0
    """Less probable answers count as not known."""
    varied: dict[str, dict[str, float]] = field(default_factory=dict)
    """By task: errors on its stories told longer, shorter and in another order (`entnet models vary`)."""

    def about(self) -> dict[str, Any]:
        """The card without what only programs read."""
        return {name: value for name, value in self.to_dict().items() if name != "binding"}

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def require_network(name: str, source: Path, run: str) -> None:
    """The run that was selected must still have its network."""
    missing = [file for file in NEEDED if not (source / file).is_file()]
    if missing:
        raise EntNetError(
            f"{name}: {source} lacks {', '.join(missing)}; the selected run is {run}, run it again"
        )


def put(card: Card, source: Path, root: Path | None = None) -> Card:
    """Copy a network into the package, or below ``root``, with its card."""
    target = (root or pretrained_root()) / card.name
    for file in NEEDED:
        write_atomically(target / file, (source / file).read_bytes())
    write_card(card, target)
    return card


def write_card(card: Card, folder: Path) -> None:
    write_atomically(folder / CARD, json.dumps(card.to_dict(), indent=1).encode())


def shipped() -> list[tuple[str, Card | None, int]]:
    """Networks that come with the package: name, card if it has one, size in bytes."""
    found = []
    for name in list_pretrained():
        folder = pretrained_root() / name
        card = Card.read(folder / CARD) if (folder / CARD).is_file() else None
        found.append((name, card, sum(f.stat().st_size for f in folder.iterdir())))
    return found
