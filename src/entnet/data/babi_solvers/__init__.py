"""A solver for each bAbI task, from the text alone: rules that prove generated stories right.

They share nothing with the generator but the language, and nothing with the networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from entnet.data.babi_solvers.house import (
    how_many_carried,
    is_person_there,
    what_carried,
    where_is_object,
    where_is_person,
    where_was_object,
    who_gave_what,
)
from entnet.data.babi_solvers.kinds import what_colour, what_feared, where_or_why
from entnet.data.babi_solvers.reading import Solution, UnsolvableError
from entnet.data.babi_solvers.relations import (
    does_it_fit,
    how_to_go,
    is_shape_there,
    what_lies_there,
)
from entnet.data.babi_solvers.walking import (
    is_person_perhaps_there,
    is_person_there_or_not,
    where_before,
    where_is_walker,
)
from entnet.data.story import Story

Solver = Callable[[Sequence[str], str], Solution]

SOLVERS: dict[int, Solver] = {
    1: where_is_person,
    2: where_is_object,
    3: where_was_object,
    4: what_lies_there,
    5: who_gave_what,
    6: is_person_there,
    7: how_many_carried,
    8: what_carried,
    9: is_person_there_or_not,
    10: is_person_perhaps_there,
    11: where_is_walker,
    12: where_is_walker,
    13: where_is_walker,
    14: where_before,
    15: what_feared,
    16: what_colour,
    17: is_shape_there,
    18: does_it_fit,
    19: how_to_go,
    20: where_or_why,
}

__all__ = ["SOLVERS", "Solution", "Solver", "UnsolvableError", "solve_story"]


def solve_story(task: int, story: Story) -> list[Solution]:
    """Solutions of a story's questions, each from the sentences before it."""
    solver = SOLVERS[task]
    return [solver(story.sentences[: asked.after], asked.text) for asked in story.questions]
