"""The document-level score (Tandon et al., 2018): what goes in, comes out, is converted, moves.

A paragraph's states are summed up as four lists. Predicted and gold lists are compared, item by item, and
precision and recall of each list are averaged over paragraphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

from entnet.data.propara.match import Term, jaccard, participant_term, place_term
from entnet.data.propara.process import NOWHERE, Process
from entnet.errors import EntNetError

Item = TypeVar("Item")
LISTS = ("inputs", "outputs", "conversions", "moves")


class Conversion(NamedTuple):
    """What was destroyed became what was created, at these places, in this sentence."""

    places: frozenset[Term]
    destroyed: frozenset[Term]
    created: frozenset[Term]
    step: int


class Move(NamedTuple):
    participant: Term
    before: Term
    after: Term
    step: int


@dataclass(frozen=True)
class Summary:
    """A paragraph in four lists."""

    inputs: list[Term]
    outputs: list[Term]
    conversions: list[Conversion]
    moves: list[Move]


def summarise(process: Process) -> Summary:
    """The four lists of a paragraph."""
    inputs, outputs, moves = [], [], []
    for number, participant in enumerate(process.participants):
        actions, states = process.actions(number), process.states[number]
        term = participant_term(participant)
        for step, action in enumerate(actions):
            before, after = actions[:step], actions[step + 1 :]
            if action == "DESTROY" and "CREATE" not in before + after and "MOVE" not in after:
                inputs.append(term)
            if (
                action == "CREATE"
                and not {"DESTROY", "MOVE"} & set(before)
                and "DESTROY" not in after
            ):
                outputs.append(term)
            elsewhere = states[step] != states[step + 1]
            if action == "MOVE" or (elsewhere and NOWHERE not in states[step : step + 2]):
                places = place_term(states[step]), place_term(states[step + 1])
                moves.append(Move(term, *places, step + 1))
    return Summary(
        list(dict.fromkeys(inputs)), list(dict.fromkeys(outputs)), _conversions(process), moves
    )


class _Events(NamedTuple):
    """What one sentence creates or destroys, and where."""

    participants: frozenset[Term]
    places: frozenset[Term]


def _events(process: Process, step: int, created: bool) -> _Events:
    participants, places = set(), set()
    for participant, states in zip(process.participants, process.states, strict=True):
        before, after = states[step - 1], states[step]
        gone, there = (before, after) if created else (after, before)
        if gone == NOWHERE != there:
            participants.add(participant_term(participant))
            places.add(place_term(there))
    return _Events(frozenset(participants), frozenset(places))


def _conversions(process: Process) -> list[Conversion]:
    found = []
    for step in range(1, process.steps + 1):
        created, destroyed = (_events(process, step, made) for made in (True, False))
        if not (created.participants and destroyed.participants):
            if step >= process.steps - 1 or not (created.participants or destroyed.participants):
                continue
            # One kind of event now, the other alone in the next sentence, of other participants.
            made_now = bool(created.participants)
            now = created if made_now else destroyed
            if _events(process, step + 1, made_now).participants:
                continue
            following = _events(process, step + 1, not made_now)
            others = _Events(following.participants - now.participants, following.places)
            if not others.participants:
                continue
            created, destroyed = (now, others) if made_now else (others, now)
        places = created.places | destroyed.places
        found.append(Conversion(places, destroyed.participants, created.participants, step))
    return found


def _same_participant(predicted: Term, gold: Term) -> float:
    return jaccard([predicted], [gold])


def _same_conversion(predicted: Conversion, gold: Conversion) -> float:
    if predicted.step != gold.step:
        return 0.0
    return fmean(jaccard(p, g) for p, g in zip(predicted[:3], gold[:3], strict=True))


def _same_move(predicted: Move, gold: Move) -> float:
    if predicted.step != gold.step:
        return 0.0
    return fmean(jaccard([p], [g]) for p, g in zip(predicted[:3], gold[:3], strict=True))


def _precision_recall(
    predicted: Sequence[Item], gold: Sequence[Item], score: Callable[[Item, Item], float]
) -> tuple[float, float]:
    """How well each prediction is matched by its best gold item, and the reverse."""
    if not predicted or not gold:
        return float(not predicted), float(not gold)
    precision = fmean(max(score(p, g) for g in gold) for p in predicted)
    if len(predicted) == len(gold):
        return precision, precision
    return precision, fmean(max(score(p, g) for p in predicted) for g in gold)


@dataclass(frozen=True)
class DocumentScore:
    """Precision and recall of each list, to the third place as they are published, and what follows."""

    lists: dict[str, tuple[float, float]]

    @property
    def precision(self) -> float:
        return fmean(p for p, _ in self.lists.values())

    @property
    def recall(self) -> float:
        return fmean(r for _, r in self.lists.values())

    @property
    def f1(self) -> float:
        return f1(self.precision, self.recall)

    def to_dict(self) -> dict[str, Any]:
        lists = {
            name: {"precision": p, "recall": r, "f1": round(f1(p, r), 3)}
            for name, (p, r) in self.lists.items()
        }
        overall = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {name: round(value, 3) for name, value in overall.items()} | {"lists": lists}


def f1(precision: float, recall: float) -> float:
    """The harmonic mean of precision and recall."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def document_score(predicted: Sequence[Process], gold: Sequence[Process]) -> DocumentScore:
    """Score predictions, which must be of the same paragraphs, participants and sentences."""
    require_same(predicted, gold)
    by_name = {process.name: summarise(process) for process in predicted}
    pairs = [(by_name[process.name], summarise(process)) for process in gold]
    scores: dict[str, Callable[[Any, Any], float]] = {
        "inputs": _same_participant,
        "outputs": _same_participant,
        "conversions": _same_conversion,
        "moves": _same_move,
    }
    lists = {}
    for name, score in scores.items():
        found = [_precision_recall(getattr(p, name), getattr(g, name), score) for p, g in pairs]
        precision, recall = (round(fmean(part), 3) for part in zip(*found, strict=True))
        lists[name] = (precision, recall)
    return DocumentScore(lists)


def require_same(predicted: Sequence[Process], gold: Sequence[Process]) -> None:
    """Refuse predictions of other paragraphs, participants or sentences than the gold file's."""
    by_name = {process.name: process for process in predicted}
    _refuse("processes", by_name, {process.name for process in gold}, "")
    for process in gold:
        mine = by_name[process.name]
        where = f"process {process.name}: "
        _refuse("participants", mine.participants, set(process.participants), where)
        if mine.steps != process.steps:
            raise EntNetError(
                f"{where}{mine.steps} sentences, but the answers have {process.steps}"
            )


def _refuse(what: str, given: Any, wanted: set[str], where: str) -> None:
    for problem, odd in (
        ("missing", wanted - set(given)),
        ("not in the answers", set(given) - wanted),
    ):
        if odd:
            listed = ", ".join(sorted(odd, key=lambda name: (len(name), name)))
            raise EntNetError(f"{where}{what} {problem}: {listed}")
