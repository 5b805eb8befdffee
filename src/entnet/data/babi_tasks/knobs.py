"""What can be turned about a task: who and what is in its world, how long its stories are, how it speaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from entnet.errors import EntNetError

WordsOrCount = int | Sequence[str] | None

SPARE_PEOPLE = (
    "Julie Bill Mary Fred Anna Jeff Laura Peter Emma Tom Nina Paul Sara Hugo Clara Oscar Alice Victor "
    "Irene Simon"
)
SPARE_PLACES = "cinema park school attic cellar library station garage museum balcony market theatre bakery harbour"
SPARE_OBJECTS = "ball book cup key lamp hat coat pen clock map rope candle basket umbrella"
SPARE = {
    "people": tuple(SPARE_PEOPLE.split()),
    "places": tuple(SPARE_PLACES.split()),
    "objects": tuple(SPARE_OBJECTS.split()),
}
"""Words that come in when a count exceeds a task's own words. People alternate between she and he."""


@dataclass(frozen=True)
class Knobs:
    """Settings of a task; whatever is left out stays as it is in the official data."""

    people: WordsOrCount = None
    """Who acts: how many of them, or their names."""
    places: WordsOrCount = None
    """Where they can be: how many places, or their names."""
    objects: WordsOrCount = None
    """Things, kinds of animal, shapes or containers, as the task has them: how many, or their names."""
    questions_per_story: int | None = None
    sentences_per_question: int | None = None
    """Sentences told between one chance to ask a question and the next."""
    noise: bool = True
    """Off: one verb for each action and one wording for everything, where the official data vary."""


@dataclass(frozen=True)
class Setting:
    """The world of a task with all words and numbers settled. A task's module states the official one.

    An empty tuple and ``None`` mean that the task has no such thing, and no such knob.
    """

    people: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    questions_per_story: int | None = None
    sentences_per_question: int | None = None
    noise: bool = True
    fewest: dict[str, int] | None = None
    """The smallest world in which the task can be told, e.g. ``{"people": 3}``; else 2 of each."""

    def turned(self, knobs: Knobs, task: int) -> Setting:
        """This setting with the knobs applied; a knob that the task does not have is an error."""
        changes: dict[str, Any] = {"noise": knobs.noise}
        for name, value in vars(knobs).items():
            if value is None or name == "noise":
                continue
            if not getattr(self, name):
                raise EntNetError(f"task {task} has no {name} to set; it has {self.knobs()}")
            changes[name] = (
                _number(name, value)
                if name.endswith("question") or name.endswith("story")
                else self._words(name, value, task)
            )
        return replace(self, **changes)

    def knobs(self) -> str:
        """Names of the knobs that this task has."""
        return ", ".join(knob.name for knob in fields(Knobs) if getattr(self, knob.name))

    def _words(self, name: str, value: int | Sequence[str], task: int) -> tuple[str, ...]:
        standard: tuple[str, ...] = getattr(self, name)
        if isinstance(value, int):
            spare = tuple(word for word in SPARE[name] if word not in standard)
            words = (*standard, *spare)[: max(value, 0)]
            if value > len(words):
                raise EntNetError(
                    f"{value} {name}, but only {len(words)} names at hand; name them all"
                )
        else:
            words = tuple(value)
        if len(set(words)) < len(words):
            raise EntNetError(f"{name}: a word stands twice in {', '.join(words)}")
        fewest = (self.fewest or {}).get(name, 2)
        if len(words) < fewest:
            raise EntNetError(f"task {task} needs at least {fewest} {name}, not {len(words)}")
        return words


def _number(name: str, value: int) -> int:
    if value < 1:
        raise EntNetError(f"{name} is {value}; it must be at least 1")
    return value
