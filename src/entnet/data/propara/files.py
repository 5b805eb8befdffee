"""The official files: state grids, sentences, and tables of actions, which predictions are too.

    answers.tsv     process ⇥ sentence ⇥ participant ⇥ action ⇥ place before ⇥ place after
    sentences.tsv   process ⇥ sentence ⇥ text
    grids.v1.*.json a paragraph per line: para_id, sentence_texts, participants, states

What breaks the rules is refused with its file and line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from entnet.data.babi import read_text
from entnet.data.propara.process import ACTIONS, NOWHERE, UNKNOWN, Action, Process
from entnet.errors import DataError, EntNetError
from entnet.files import write_atomically


class _Change(NamedTuple):
    """A line of a table of actions."""

    action: Action
    before: str
    after: str


def read_propara(path: Path | str) -> list[Process]:
    """Paragraphs from a file of grids (.json), or from answers.tsv with sentences.tsv beside it.

    A folder stands for the two tables in it.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "answers.tsv"
    if path.suffix in {".json", ".jsonl"}:
        return read_grids(path)
    return with_sentences(read_actions(path), path.with_name("sentences.tsv"))


def read_grids(path: Path | str) -> list[Process]:
    """Paragraphs from a file of state grids."""
    processes = []
    for number, text in _lines(path):
        try:
            grid = json.loads(text)
        except json.JSONDecodeError as error:
            raise DataError(path, number, f"not JSON: {error}") from error
        problem = _grid_problem(grid)
        if problem:
            raise DataError(path, number, problem)
        processes.append(
            Process(
                str(grid["para_id"]),
                tuple(grid["sentence_texts"]),
                tuple(grid["participants"]),
                tuple(tuple(row) for row in grid["states"]),
            )
        )
    return _nonempty(path, processes)


def _grid_problem(grid: Any) -> str | None:
    """What is wrong with a grid; None for nothing."""
    wanted = ("para_id", "sentence_texts", "participants", "states")
    if not isinstance(grid, dict) or any(key not in grid for key in wanted):
        return f"a grid needs {', '.join(wanted)}"
    for key in ("sentence_texts", "participants"):
        if not isinstance(grid[key], list) or not all(isinstance(x, str) for x in grid[key]):
            return f"{key} must be a list of texts"
    if not grid["sentence_texts"] or not grid["participants"]:
        return "a paragraph has at least one sentence and one participant"
    states, count = grid["states"], len(grid["sentence_texts"]) + 1
    if not isinstance(states, list) or len(states) != len(grid["participants"]):
        return "states must have a row for each participant"
    for participant, row in zip(grid["participants"], states, strict=True):
        if not isinstance(row, list) or len(row) != count:
            return f"{participant!r} must have {count} states, one more than there are sentences"
        if not all(isinstance(state, str) and state for state in row):
            return f"a state of {participant!r} is not a place, {UNKNOWN!r} or {NOWHERE!r}"
    return None


def read_actions(path: Path | str) -> list[Process]:
    """Answers or predictions. Each action must fit its places; sentences are left empty.

    The training file has four participants twice: as in the official scorer, the last line of a sentence
    counts.
    """
    tables: dict[str, dict[str, dict[int, _Change]]] = {}
    for number, name, step, participant, change in _changes(path):
        row = tables.setdefault(name, {}).setdefault(participant, {})
        if step > 1 and step - 1 not in row:
            raise DataError(
                path,
                number,
                f"process {name}: {participant!r} has no sentence {step - 1} before this",
            )
        row[step] = change
    processes = []
    for name, table in tables.items():
        steps = max(len(row) for row in table.values())
        for participant, row in table.items():
            if len(row) < steps:
                raise EntNetError(
                    f"{path}: process {name}: {participant!r} has no line for sentence {len(row) + 1}"
                )
        changes = [list(row.values()) for row in table.values()]
        processes.append(
            Process(
                name,
                (),
                tuple(table),
                tuple((row[0].before, *(change.after for change in row)) for row in changes),
                tuple(tuple(change.action for change in row) for row in changes),
            )
        )
    return _nonempty(path, processes)


def _changes(path: Path | str) -> Iterator[tuple[int, str, int, str, _Change]]:
    """Line numbers, with process, sentence, participant, and what happens to it there."""
    for number, text in _lines(path):
        fields = text.split("\t")
        # Some files end a line with one more tab.
        if len(fields) < 6 or any(fields[6:]):
            raise DataError(
                path,
                number,
                "process, sentence, participant, action, place before and place after expected, "
                f"with tabs between them, not {len(fields)} field{'s' * (len(fields) != 1)}",
            )
        name, step, participant, action, before, after = fields[:6]
        if not step.isdigit() or int(step) < 1:
            raise DataError(path, number, f"the sentence must be a number from 1 on, not {step!r}")
        problem = _action_problem(action, before, after)
        if problem:
            raise DataError(path, number, problem)
        change = _Change(cast("Action", action), before or UNKNOWN, after or UNKNOWN)
        yield number, name, int(step), participant, change


def _action_problem(action: str, before: str, after: str) -> str | None:
    """How an action contradicts its places; None if it does not."""
    if action not in ACTIONS:
        return f"no action {action!r}; there are {', '.join(ACTIONS)}"
    if action == "NONE":
        return None if before == after else f"NONE, but from {before!r} to {after!r}"
    exists_before, exists_after = before not in ("", NOWHERE), after not in ("", NOWHERE)
    if action == "CREATE":
        good, rule = before == NOWHERE and exists_after, "begins at - and ends at a place"
    elif action == "DESTROY":
        good, rule = exists_before and after == NOWHERE, "begins at a place and ends at -"
    else:
        good, rule = exists_before and exists_after, "begins at a place and ends at a place"
    return None if good else f"{action} {rule}, not from {before!r} to {after!r}"


def with_sentences(processes: Sequence[Process], path: Path | str) -> list[Process]:
    """The same paragraphs with their sentences from ``sentences.tsv``."""
    texts: dict[str, list[str]] = {}
    for number, text in _lines(path):
        fields = text.split("\t")
        if len(fields) != 3:
            raise DataError(path, number, "process, sentence and text expected, with tabs between")
        name, step, sentence = fields
        found = texts.setdefault(name, [])
        if step != str(len(found) + 1):
            raise DataError(
                path, number, f"process {name}: sentence {len(found) + 1} expected, not {step}"
            )
        found.append(sentence)
    for process in processes:
        if len(texts.get(process.name, [])) != process.steps:
            raise EntNetError(
                f"{path}: process {process.name} has {len(texts.get(process.name, []))} sentences, "
                f"its states are of {process.steps}"
            )
    return [replace(p, sentences=tuple(texts[p.name])) for p in processes]


def write_predictions(path: Path | str, processes: Sequence[Process]) -> None:
    """Write states in the official format of predictions."""
    lines = []
    for process in processes:
        for number, participant in enumerate(process.participants):
            states = process.states[number]
            for step, action in enumerate(process.actions(number), start=1):
                fields = (process.name, step, participant, action, states[step - 1], states[step])
                lines.append("\t".join(map(str, fields)))
    write_atomically(Path(path), "".join(f"{line}\n" for line in lines).encode())


def _lines(path: Path | str) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers."""
    for number, line in enumerate(read_text(Path(path)).splitlines(), start=1):
        if line.strip():
            yield number, line


def _nonempty(path: Path | str, processes: list[Process]) -> list[Process]:
    if not processes:
        raise EntNetError(f"{path}: holds no paragraphs")
    return processes
