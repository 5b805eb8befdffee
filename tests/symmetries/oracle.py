"""What is true of bAbI's words: rule solvers judge found symmetries, presets say what is wanted."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from entnet import Story, Symmetries
from entnet.data.babi_solvers import UnsolvableError, solve_story
from entnet.data.story import story_words
from entnet.symmetries.group import orbits
from entnet.symmetries.phrases import Phrases
from entnet.symmetries.telling import NO_PHRASES
from entnet.symmetries.verify import permute_story

NAMES = [
    "mary sandra julie emily gertrude jessica winona lily",
    "john daniel bill fred jeff antoine jason sumit yann bernhard brian greg julius",
]
HAND_WRITTEN = [
    *NAMES,
    "bathroom bedroom cinema garden hallway kitchen office park school",
    "apple football milk",
    "frog lion rhino swan",
    "gray green white yellow red blue pink",
    "chest container suitcase",
    "triangle square rectangle sphere",
    "left right",
    "above below",
    "north south",
    "east west",
]
"""The groups of the presets best-10k and best-1k, all variants; ``box`` aside, whose chests of chocolates
no story has."""
MOTIVES = [
    *NAMES,
    "hungry thirsty",
    "apple milk",
    "bored tired",
    "football pajamas",
    "garden bedroom",
]
"""What the presets permute in task 20."""


def wanted_pairs(task: int, stories: Sequence[Story]) -> set[frozenset[str]]:
    """Pairs of the hand-written groups that the stories have both words of."""
    words = story_words(stories)
    groups = [set(group.split()) & words for group in (MOTIVES if task == 20 else HAND_WRITTEN)]
    if task != 17:
        groups = [group - {"left", "right"} for group in groups]  # elsewhere "left" is a verb
    return {frozenset(pair) for group in groups for pair in itertools.combinations(group, 2)}


def found_pairs(found: Symmetries) -> set[frozenset[str]]:
    """Pairs of words that some found permutation carries into each other."""
    carried = orbits(swap.mapping for swap in found.swaps)
    return {frozenset(pair) for orbit in carried for pair in itertools.combinations(orbit, 2)}


def is_true(
    task: int,
    stories: Sequence[Story],
    mapping: Mapping[str, str],
    phrases: Phrases = NO_PHRASES,
) -> bool:
    """Whether the solver gives the permuted answer to every permuted question that it solves as it is."""
    for story in stories:
        permuted = permute_story(story, mapping, phrases)
        try:
            now = solve_story(task, permuted)
            then = solve_story(task, story)
        except UnsolvableError:
            return False
        for before, asked, after, expected in zip(
            then, story.questions, now, permuted.questions, strict=True
        ):
            solved = before.answer.lower() == asked.answer.lower()
            if solved and after.answer.lower() != expected.answer.lower():
                return False
    return True


def false_swaps(task: int, stories: Sequence[Story], found: Symmetries) -> list[str]:
    """Found swaps that the solver refutes."""
    false = [swap for swap in found.swaps if not is_true(task, stories, swap.mapping)]
    false += [
        swap
        for swap in found.phrase_swaps
        if not is_true(task, stories, swap.mapping, found.phrases)
    ]
    return [str(swap) for swap in false]
