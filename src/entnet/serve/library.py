"""The networks that a service offers, loaded when first asked for."""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entnet.errors import EntNetError
from entnet.models.base import StoryModel, list_pretrained, locate, name_of
from entnet.models.card import Manner, facts_of, read_card, read_manner
from entnet.models.entnet import EntNet
from entnet.models.processes.base import ProcessModel
from entnet.serve.problems import NoModelError
from entnet.tracker import Tracker, load_entity_network

PREFERRED = ("world", "babi-joint", "babi-qa1")
"""The network that a visitor meets first, where it is there."""


@dataclass(frozen=True)
class Offer:
    """A network that can be asked for by name."""

    name: str
    source: Path
    about: Mapping[str, Any]
    """What the service says of it."""
    reads_processes: bool = False

    @classmethod
    def read(cls, name: str, source: Path) -> Offer:
        """A network with what its card says, where it has one; else its name may tell the task."""
        facts = facts_of(read_card(source))
        if (reader := _process_reader(source)) is not None:
            about = {
                "name": name,
                "title": facts.title,
                "parameters": reader.parameter_count(),
                "words": len(reader.vocab) - 1,
            }
            return cls(name, source, about, reads_processes=True)
        model = _checked(name, source)
        found = re.search(r"qa(\d+)", name)
        config = model.config
        about = {
            "name": name,
            **facts._asdict(),
            "task": int(found.group(1)) if found and not any(facts) else facts.task,
            "slots": config.slots,
            "width": config.width,
            "words": len(model.vocab) - 1,
            "longest_sentence": config.longest_sentence,
            "keys": config.keys,
            "parameters": model.parameter_count(),
        }
        return cls(name, source, about)


class Library:
    """Networks by name; the ones used last stay loaded."""

    def __init__(self, sources: Sequence[str] = (), limit: int = 32) -> None:
        """``sources``: directories of networks, or names; none means all shipped ones that can be."""
        self.limit = limit
        found = _offers(sources)
        self.offers = {name: one for name, one in found.items() if not one.reads_processes}
        self.processes = {name: one for name, one in found.items() if one.reads_processes}
        """Those that read paragraphs with participants, which have no slots to look into."""
        self._lock = threading.Lock()
        self._loaded: OrderedDict[str, EntNet] = OrderedDict()
        self._manners: dict[str, Manner] = {}
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

    def describe(self, name: str) -> dict[str, Any]:
        """What there is to say about a network, known since the start."""
        return dict(self._offer(name).about)

    def loaded(self, name: str) -> EntNet | None:
        """The network, if it is in memory."""
        self._offer(name)
        with self._lock:
            model = self._loaded.get(name)
            if model is not None:
                self._loaded.move_to_end(name)
            return model

    def _offer(self, name: str) -> Offer:
        if name not in self.offers:
            raise NoModelError(name, self.names)
        return self.offers[name]

    def load(self, name: str) -> EntNet:
        self._offer(name)
        with self._lock:
            model = self._loaded.get(name)
            if model is None:
                model = load_entity_network(self.offers[name].source)
                self._loaded[name] = model
                while len(self._loaded) > self.limit:
                    self._loaded.popitem(last=False)
            self._loaded.move_to_end(name)
            return model

    def manner(self, name: str) -> Manner:
        """How a network is talked with, from its card."""
        if name not in self._manners:
            self._manners[name] = read_manner(self.offers[name].source)
        return self._manners[name]


def _offers(sources: Sequence[str]) -> dict[str, Offer]:
    offers: dict[str, Offer] = {}
    for source in sources or _shipped():
        directory, name = locate(source).resolve(), name_of(source)
        if name in offers and offers[name].source != directory:
            raise EntNetError(f"two networks named {name!r}: rename one of their directories")
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


def _process_reader(source: Path) -> ProcessModel | None:
    """The network, if it reads processes."""
    text = (source / "config.json").read_text(encoding="utf-8", errors="replace")
    if '"process-' not in text:
        return None
    model = StoryModel.from_pretrained(source)
    return model if isinstance(model, ProcessModel) else None


def _checked(name: str, directory: Path) -> EntNet:
    """A network that cannot be served is refused at the start, not when somebody asks for it."""
    try:
        network = load_entity_network(directory)
        Tracker(network)
        return network
    except EntNetError as error:
        raise EntNetError(f"{name} cannot be served: {error}") from error
