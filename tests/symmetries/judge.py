"""Symmetries found in bAbI's training files, judged task by task.

    python tests/symmetries/judge.py en en-10k

Prints per file: seconds on one core, pairs of the hand-written lists that are found, and what the rule
solvers refute.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from entnet import Symmetries, find_symmetries
from entnet.data.babi import TASK_NAMES, read_babi
from entnet.data.babi_tasks import generate
from entnet.data.sources import find_babi
from entnet.data.story import Story
from symmetries.oracle import false_swaps, found_pairs, wanted_pairs

JUDGED = 100
"""Stories on which the solvers judge: a false symmetry shows in the first few."""


@dataclass(frozen=True)
class Judged:
    """What came of one file."""

    task: int
    found: Symmetries
    seconds: float
    wanted: int
    missed: list[str]
    false: list[str]


def training_stories(data_set: str, task: int, root: Path | None = None) -> list[Story]:
    """A task's training stories; generated where the official file is not to be had (task 3, 10k)."""
    path = find_babi(data_set, task, "train", root)
    return read_babi(path) if path else generate(task, 10_000, 1)


def judge(task: int, stories: list[Story]) -> Judged:
    started = time.process_time()
    found = find_symmetries(stories)
    seconds = time.process_time() - started
    wanted = wanted_pairs(task, stories)
    missed = sorted("–".join(sorted(pair)) for pair in wanted - found_pairs(found))
    return Judged(
        task, found, seconds, len(wanted), missed, false_swaps(task, stories[:JUDGED], found)
    )


def judge_all(data_set: str, root: Path | None = None) -> Iterator[Judged]:
    for task in TASK_NAMES:
        yield judge(task, training_stories(data_set, task, root))


def main(data_sets: list[str]) -> None:
    for data_set in data_sets:
        wanted = missed = false = 0
        print(
            f"| {data_set} | pairs found | missed | joint | false | seconds |\n|---|---|---|---|---|---|"
        )
        for one in judge_all(data_set):
            joint = "; ".join(str(swap) for swap in one.found.swaps if len(swap.left) > 1)
            print(
                f"| {one.task} | {one.wanted - len(one.missed)} of {one.wanted} "
                f"| {', '.join(one.missed) or '–'} "
                f"| {joint or '–'} | {', '.join(one.false) or '0'} | {one.seconds:.1f} |",
                flush=True,
            )
            wanted, missed = wanted + one.wanted, missed + len(one.missed)
            false += len(one.false)
        share = 100 * (wanted - missed) / wanted
        print(f"| all | {wanted - missed} of {wanted} ({share:.0f}%) | | | {false} | |\n")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main(sys.argv[1:] or ["en", "en-10k"])
