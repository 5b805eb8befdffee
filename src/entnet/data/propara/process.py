"""A paragraph of ProPara: what takes part in a process, and where it is after each sentence."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from entnet.data.story import Question, Story

Action = Literal["NONE", "CREATE", "MOVE", "DESTROY"]
ACTIONS: tuple[Action, ...] = ("NONE", "CREATE", "MOVE", "DESTROY")

NOWHERE = "-"
"""The state of what does not exist."""
UNKNOWN = "?"
"""The state of what exists, nobody says where."""
ALTERNATIVES = ";"
"""Stands between names of the same participant: ``sunlight; light``."""


@dataclass(frozen=True)
class Process:
    """A paragraph and its grid of participants × states."""

    name: str
    """Its number in the files."""
    sentences: tuple[str, ...]
    """Empty where only a file of answers was read."""
    participants: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    """For each participant a place, ``?`` or ``-``, before the first sentence and after every one."""
    said: tuple[tuple[Action, ...], ...] = ()
    """The actions as a file has them, which need not follow from its states; empty where they do."""

    @property
    def steps(self) -> int:
        return len(self.states[0]) - 1 if self.states else len(self.sentences)

    def actions(self, participant: int) -> list[Action]:
        """What happens to a participant in each sentence."""
        if self.said:
            return list(self.said[participant])
        states = self.states[participant]
        return [action(*pair) for pair in itertools.pairwise(states)]

    def story(self) -> Story:
        """As any network of the package reads it: every participant asked for after every sentence."""
        questions = tuple(
            Question(step, f"Where is {names(participant)[0]}?", states[step])
            for step in range(1, self.steps + 1)
            for participant, states in zip(self.participants, self.states, strict=True)
        )
        return Story(self.sentences, questions)


def action(before: str, after: str) -> Action:
    """What took a participant from one state to the next."""
    if before == after:
        return "NONE"
    if before == NOWHERE:
        return "CREATE"
    return "DESTROY" if after == NOWHERE else "MOVE"


def names(participant: str) -> list[str]:
    """The names that a participant goes by."""
    return [name.strip() for name in participant.split(ALTERNATIVES)]


def with_states(process: Process, states: Sequence[Sequence[str]]) -> Process:
    """The same paragraph with other states: a prediction."""
    return Process(
        process.name, process.sentences, process.participants, tuple(tuple(row) for row in states)
    )
