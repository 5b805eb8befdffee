"""Small questions of the Children's Book Test that a network can learn to answer."""

from __future__ import annotations

import random
from pathlib import Path

from entnet.data.cbt import BLANK, SPLITS, CbtQuestion, Kind, cbt_file_name, write_cbt

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
