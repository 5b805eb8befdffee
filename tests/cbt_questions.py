"""Small questions of the Children's Book Test that a network can learn to answer."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from entnet.data.cbt.format import BLANK, SPLITS, CbtQuestion, Kind, cbt_file_name, write_cbt
from entnet.data.cbt.windows import WindowedQuestions

NAMES = tuple(f"Name{letter}" for letter in "abcdefghijklmnop")
TRADES = ("baker", "miller", "sailor", "tailor", "smith", "cook", "monk", "clerk", "nurse", "guard")


def trade_question(seed: int) -> CbtQuestion:
    """Ten persons with a trade each; the query names the trade of one of them."""
    draw = random.Random(seed)
    persons = draw.sample(NAMES, 10)
    trades = draw.sample(TRADES, 10)
    sentences = [f"the {trade} {name} spoke ." for name, trade in zip(persons, trades, strict=True)]
    sentences += ["it rained ."] * 10
    asked = draw.randrange(10)
    return CbtQuestion(
        tuple(sentences),
        f"the {trades[asked]} {BLANK} spoke .",
        persons[asked],
        tuple(sorted(persons)),
    )


def write_questions(directory: Path, kinds: tuple[Kind, ...] = ("NE", "CN")) -> Path:
    """A directory of such questions as our builder leaves it: training, validation and test."""
    for kind in kinds:
        for number, (split, count) in enumerate(zip(SPLITS, (300, 40, 50), strict=True)):
            questions = [trade_question(1000 * number + n) for n in range(count)]
            write_cbt(directory / cbt_file_name(kind, split), questions)
    (directory / "build.json").write_text("{}")
    return directory


def telling_questions(count: int, known: int, seed: int = 3) -> WindowedQuestions:
    """The word left of the blank is the word left of the answer's only occurrence."""
    draw = np.random.default_rng(seed)
    candidates = np.stack([draw.permutation(np.arange(20, 50))[:10] for _ in range(count)])
    lefts = np.stack([draw.permutation(np.arange(2, 20))[:10] for _ in range(count)])
    windows = np.zeros((count, 10, 5), dtype=np.int32)
    windows[:, :, 2], windows[:, :, 1] = candidates, lefts
    answers = draw.integers(0, 10, count)
    queries = np.zeros((count, 21), dtype=np.int32)
    queries[:, 10], queries[:, 9] = 1, lefts[np.arange(count), answers]
    return WindowedQuestions(
        windows.reshape(-1, 5),
        np.tile(np.arange(10, dtype=np.int32), count),
        np.arange(count + 1, dtype=np.int64) * 10,
        candidates.astype(np.int32),
        queries,
        answers.astype(np.int32),
        known,
    )
