"""What can be turned about a task: who and what is in its world, story length, language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from entnet.errors import EntNetError

WordsOrCount = int | Sequence[str] | None

SPARE_WORDS = {
    "people": "Julie Bill Mary Fred Anna Jeff Laura Peter Emma Tom Nina Paul Sara Hugo Clara Oscar",
    "places": "cinema park school attic cellar library station garage museum balcony market bakery",
    "objects": "ball book cup key lamp hat coat pen clock map rope candle basket umbrella",
}
"""Words that come in where a count exceeds a task's own. People alternate between she and he."""


@dataclass(frozen=True)
class Knobs:
    """Settings of a task; whatever is left out stays as it is in the official data."""

    people: WordsOrCount = None
    """Who acts: how many of them, or their names."""
    places: WordsOrCount = None
    """Where they can be: how many places, or their names."""
    objects: WordsOrCount = None
    """Things, kinds of animal, shapes or containers, as the task has them: how many, or names."""
    questions_per_story: int | None = None
    sentences_per_question: int | None = None
    """Sentences told between one chance to ask a question and the next."""
    noise: bool = True
    """Off: one wording for everything, where the official data vary at random."""


@dataclass(frozen=True)
class Setting:
    """A task's world with all words and numbers settled; its module states the official one.

    An empty tuple and 0 mean that the task has no such thing, and no such knob.
    """

    people: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    questions_per_story: int = 0
    sentences_per_question: int = 0
    noise: bool = True
    fewest: dict[str, int] = field(default_factory=dict)
    """The smallest world that the task can be told in, e.g. ``{"people": 3}``; else 2 of each."""

    def turned(self, knobs: Knobs, task: int) -> Setting:
        """This setting with the knobs applied; a knob that the task does not have is an error."""
        changes: dict[str, Any] = {"noise": knobs.noise}
        for name, value in vars(knobs).items():
            if value is None or name == "noise":
                continue
            standard = getattr(self, name)
            if not standard:
                raise EntNetError(f"task {task} has no {name} to set; it has {self.knobs()}")
            if isinstance(standard, tuple):
                changes[name] = self._words(name, value, task)
            elif value < 1:
                raise EntNetError(f"{name} is {value}; it must be at least 1")
            else:
                changes[name] = value
        return replace(self, **changes)

    def knobs(self) -> str:
        """Names of the knobs that this task has."""
        return ", ".join(knob.name for knob in fields(Knobs) if getattr(self, knob.name))

    def _words(self, name: str, value: int | Sequence[str], task: int) -> tuple[str, ...]:
        standard: tuple[str, ...] = getattr(self, name)
        if isinstance(value, int):
            words = tuple(dict.fromkeys([*standard, *SPARE_WORDS[name].split()]))[: max(value, 0)]
            if value > len(words):
                raise EntNetError(f"{value} {name}, but {len(words)} names at hand; name them all")
        else:
            words = tuple(value)
        if len({word.lower() for word in words}) < len(words):
            raise EntNetError(f"{name}: a word stands twice in {', '.join(words)}")
        fewest = self.fewest.get(name, 2)
        if len(words) < fewest:
            raise EntNetError(f"task {task} needs at least {fewest} {name}, not {len(words)}")
        return words
