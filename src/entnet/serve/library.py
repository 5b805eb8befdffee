"""The networks that a service offers, loaded when first asked for."""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from entnet.errors import EntNetError
from entnet.models.base import list_pretrained, locate
from entnet.models.entnet import EntNet
from entnet.serve.problems import NoModelError
from entnet.tracker import Tracker, load_entity_network

PREFERRED = ("babi-joint", "babi-qa1")
"""The network that a visitor meets first, where it is there."""


@dataclass(frozen=True)
class Offer:
    """A network that can be asked for by name."""

    name: str
    source: Path
    title: str | None = None
    """What its card says it was trained on."""
    task: int | None = None
    """The one bAbI task that it is for."""
    test_error: float | None = None
    """In percent, on the official test file."""

    @classmethod
    def read(cls, name: str, source: Path) -> Offer:
        """A network with what its card says, where it has one; else its name may tell the task."""
        card = source / "card.json"
        if card.is_file():
            about = json.loads(card.read_text(encoding="utf-8"))
            return cls(name, source, about["title"], about["task"] or None, about["test_error"])
        found = re.search(r"qa(\d+)", name)
        return cls(name, source, task=int(found.group(1)) if found else None)


class Library:
    """Networks by name; the ones used last stay loaded."""

    def __init__(self, sources: Sequence[str] = (), limit: int = 32) -> None:
        """``sources``: directories of networks, or names; none means all shipped ones that can be."""
        self.limit = limit
        self.offers = _offers(sources)
        self._lock = threading.Lock()
        self._loaded: OrderedDict[str, EntNet] = OrderedDict()
        if not self.offers:
            raise EntNetError(
                "no network to serve: none comes with this installation; give one's directory"
            )

    @property
    def names(self) -> list[str]:
        return list(self.offers)

    @property
    def default(self) -> str:
        return next((name for name in PREFERRED if name in self.offers), self.names[0])

    def load(self, name: str) -> EntNet:
        if name not in self.offers:
            raise NoModelError(name, self.names)
        with self._lock:
            model = self._loaded.get(name)
            if model is None:
                model = load_entity_network(self.offers[name].source)
                self._loaded[name] = model
                while len(self._loaded) > self.limit:
                    self._loaded.popitem(last=False)
            self._loaded.move_to_end(name)
            return model


def _offers(sources: Sequence[str]) -> dict[str, Offer]:
    offers: dict[str, Offer] = {}
    for source in sources or _shipped():
        directory = locate(source).resolve()
        # A run keeps its network in a directory "model"; the run's name says more.
        name = directory.parent.name if directory.name == "model" else directory.name
        if name in offers and offers[name].source != directory:
            raise EntNetError(f"two networks named {name!r}: rename one of their directories")
        _check(name, directory)
        offers[name] = Offer.read(name, directory)
    return offers


def _shipped() -> list[str]:
    """Networks of the package, without those that need a question's candidates as their keys."""
    names = []
    for name in list_pretrained():
        about = json.loads((locate(name) / "config.json").read_text(encoding="utf-8"))
        if about["config"].get("keys") != "story":
            names.append(name)
    return names


def _check(name: str, directory: Path) -> None:
    """A network that cannot be served is refused at the start, not when somebody asks for it."""
    try:
        Tracker(load_entity_network(directory))
    except EntNetError as error:
        raise EntNetError(f"{name} cannot be served: {error}") from error
