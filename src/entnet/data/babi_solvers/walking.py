"""Solvers of the tasks about where people go: 9, 10, 11, 12, 13 and 14."""

from __future__ import annotations

import re
from collections.abc import Sequence

from entnet.data.babi_solvers.reading import GO, Solution, UnsolvableError, asked

NEGATION = re.compile(r"(.+) is (?:no longer|not) in the (.+)\.")
EITHER = re.compile(r"(.+) is either in the (.+) or the (.+)\.")
PLACED = re.compile(rf"(.+) (?:is in|{GO} to) the (.+)\.")
WALK = re.compile(
    rf"(?:(?:Then|After that|Afterwards|Following that) (?P<pronoun>she|he|they)|(?P<who>.+)) "
    rf"{GO} to the (?P<place>.+)\."
)
TIMES = ("yesterday", "this morning", "this afternoon", "this evening")
TIMED = re.compile(
    rf"(?:({'|'.join(TIMES)}) )?(.+) {GO} to the (.+?)(?: ({'|'.join(TIMES)}))?\.",
    re.IGNORECASE,
)


def is_person_there_or_not(sentences: Sequence[str], question: str) -> Solution:
    """Task 9: what was last said of the person, which may be where they are not."""
    person, place = asked("Is _ in the _?", question)
    for i in range(len(sentences) - 1, -1, -1):
        for regex, positive in ((NEGATION, False), (PLACED, True)):
            match = regex.fullmatch(sentences[i])
            if match and match[1] == person:
                there = positive and match[2] == place
                return Solution("yes" if there else "no", (i,))
    raise UnsolvableError(f"nothing told of {person}")


def is_person_perhaps_there(sentences: Sequence[str], question: str) -> Solution:
    """Task 10: in one of two places means perhaps in either."""
    person, place = asked("Is _ in the _?", question)
    for i in range(len(sentences) - 1, -1, -1):
        either = EITHER.fullmatch(sentences[i])
        if either and either[1] == person:
            return Solution("maybe" if place in either.groups()[1:] else "no", (i,))
        certain = PLACED.fullmatch(sentences[i])
        if certain and certain[1] == person:
            return Solution("yes" if place == certain[2] else "no", (i,))
    raise UnsolvableError(f"nothing told of {person}")


def where_is_walker(sentences: Sequence[str], question: str) -> Solution:
    """Tasks 11, 12 and 13: she, he and they are those of whom the sentence before spoke."""
    (person,) = asked("Where is _?", question)
    known: Solution | None = None
    company: list[str] = []
    for i, sentence in enumerate(sentences):
        match = WALK.fullmatch(sentence)
        if match is None:
            raise UnsolvableError(f"not understood: {sentence!r}")
        if match["who"]:
            company = match["who"].split(" and ")
        if person in company:
            known = Solution(match["place"], (i - 1, i) if match["pronoun"] else (i,))
    if known is None:
        raise UnsolvableError(f"nothing told of {person}")
    return known


def where_before(sentences: Sequence[str], question: str) -> Solution:
    """Task 14: the walk before the latest one to that place."""
    person, place = asked("Where was _ before the _?", question)
    walks: dict[int, tuple[str, int]] = {}
    for i, sentence in enumerate(sentences):
        match = TIMED.fullmatch(sentence)
        if match is None:
            raise UnsolvableError(f"not understood: {sentence!r}")
        if match[2] == person:
            walks[TIMES.index((match[1] or match[4]).lower())] = (match[3], i)
    for time in sorted(walks, reverse=True):
        if walks[time][0] == place and time - 1 in walks:
            before, sentence_before = walks[time - 1]
            return Solution(before, (walks[time][1], sentence_before))
    raise UnsolvableError(f"{person} is not told to have gone on to the {place}")
