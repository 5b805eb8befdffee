"""The sentence-level score (Dalvi et al., 2018): is it created, moved, destroyed; when; and where?

Ten kinds of question in three categories. Of the first, every participant has three: is it created in the
process, is it destroyed, does it move? The others are asked about what happens in the gold grid.

    category    questions
    1           created? destroyed? moves?
    2           in which sentence is it created, destroyed; in which does it move?
    3           where is it once created, before it is destroyed, before and after a move? (if known)

A kind's figure is its accuracy, for the sentences of moves, of which there may be several, F1. A category
is the mean of its kinds; macro the mean of the categories; micro weights them by their questions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from entnet.data.propara.document import require_same
from entnet.data.propara.match import normal
from entnet.data.propara.process import NOWHERE, UNKNOWN, Process, names

CATEGORIES = {
    1: ("created", "destroyed", "moved"),
    2: ("when created", "when destroyed", "when moved"),
    3: ("where created", "where destroyed", "moved from", "moved to"),
}


@dataclass
class _Moves:
    """Sentences in which something moves, as predicted and in the gold grid."""

    both: int = 0
    predicted: int = 0
    gold: int = 0

    @property
    def f1(self) -> float:
        found = self.predicted + self.gold
        return 2 * self.both / found if found else 1.0


@dataclass
class SentenceScore:
    """Answers that are right, kind by kind. Figures are in percent, as they are published."""

    answers: dict[str, list[bool]] = field(
        default_factory=lambda: {kind: [] for kinds in CATEGORIES.values() for kind in kinds}
    )
    moves: _Moves = field(default_factory=_Moves)

    def kind(self, name: str) -> float:
        if name == "when moved":
            return 100 * self.moves.f1
        answers = self.answers[name]
        return 100 * sum(answers) / len(answers) if answers else 100.0

    def category(self, number: int) -> float:
        kinds = CATEGORIES[number]
        return sum(self.kind(kind) for kind in kinds) / len(kinds)

    def questions(self, number: int) -> int:
        moves = self.moves.gold if number == 2 else 0
        return moves + sum(len(self.answers[kind]) for kind in CATEGORIES[number])

    @property
    def macro(self) -> float:
        return sum(self.category(number) for number in CATEGORIES) / len(CATEGORIES)

    @property
    def micro(self) -> float:
        weights = {number: self.questions(number) for number in CATEGORIES}
        total = sum(weights.values())
        return sum(self.category(n) * weight for n, weight in weights.items()) / max(total, 1)

    def to_dict(self) -> dict[str, Any]:
        figures = {f"cat{number}": self.category(number) for number in CATEGORIES}
        figures |= {"macro": self.macro, "micro": self.micro}
        kinds = {kind: round(self.kind(kind), 2) for kind in self.answers}
        return {name: round(value, 2) for name, value in figures.items()} | {"kinds": kinds}


@dataclass(frozen=True)
class _Events:
    """What happens to one participant: sentences, counted from 1."""

    states: Sequence[str]
    created: int | None
    destroyed: int | None
    moved: frozenset[int]

    @classmethod
    def of(cls, states: Sequence[str]) -> _Events:
        """What did not exist at first is created where it first exists; what does not exist in the end is
        destroyed where it last existed."""
        there = [step for step, state in enumerate(states) if state != NOWHERE]
        created = there[0] if there and states[0] == NOWHERE else None
        destroyed = there[-1] + 1 if there and states[-1] == NOWHERE else None
        moved = frozenset(step for kind, step, _ in _places(states) if kind == "moved to")
        return cls(states, created, destroyed, moved)


def same_place(predicted: str, gold: str) -> bool:
    """Whether a place was named, and by words that the gold place has in this order, or some of them."""
    if predicted in (NOWHERE, UNKNOWN):
        return False
    return any(f" {normal(predicted)} " in f" {normal(place)} " for place in names(gold))


def sentence_score(predicted: Sequence[Process], gold: Sequence[Process]) -> SentenceScore:
    """Score predictions, which must be of the same paragraphs, participants and sentences."""
    require_same(predicted, gold)
    by_name = {process.name: process for process in predicted}
    score = SentenceScore()
    for process in gold:
        mine = by_name[process.name]
        rows = dict(zip(mine.participants, mine.states, strict=True))
        for participant, states in zip(process.participants, process.states, strict=True):
            _ask(score, _Events.of(rows[participant]), _Events.of(states))
    return score


def _ask(score: SentenceScore, mine: _Events, gold: _Events) -> None:
    """All questions about one participant."""
    answers = score.answers
    answers["created"].append((mine.created is None) == (gold.created is None))
    answers["destroyed"].append((mine.destroyed is None) == (gold.destroyed is None))
    answers["moved"].append(bool(mine.moved) == bool(gold.moved))
    if gold.created is not None:
        answers["when created"].append(mine.created == gold.created)
    if gold.destroyed is not None:
        answers["when destroyed"].append(mine.destroyed == gold.destroyed)
    if gold.moved:
        score.moves.both += len(mine.moved & gold.moved)
        score.moves.predicted += len(mine.moved)
        score.moves.gold += len(gold.moved)
    for kind, step, place in _places(gold.states):
        if place != UNKNOWN:
            answers[kind].append(same_place(mine.states[step], place))


def _places(states: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """Kinds of question about a place, with the state that they ask about and the right answer."""
    for step, (before, after) in enumerate(itertools.pairwise(states), start=1):
        if before == after:
            continue
        if before == NOWHERE:
            yield "where created", step, after
        elif after == NOWHERE:
            yield "where destroyed", step - 1, before
        else:
            yield "moved from", step - 1, before
            yield "moved to", step, after
