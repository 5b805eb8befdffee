"""Solvers of the tasks about kinds and motives: 15, 16 and 20."""

from __future__ import annotations

import re
from collections.abc import Sequence

from entnet.data.babi_solvers.reading import Solution, UnsolvableError, asked, words

SINGULAR = {"mice": "mouse", "wolves": "wolf", "sheep": "sheep"}
MEMBER = re.compile(r"(.+) is an? (.+)\.")
STATE = re.compile(r"(.+) is (.+)\.")

LEADS_TO = {"hungry": "kitchen", "thirsty": "kitchen", "tired": "bedroom", "bored": "garden"}
"""Where motives lead. No story says it: a reader learns it from other stories."""


def singular(noun: str) -> str:
    noun = noun.lower()
    return SINGULAR.get(noun, noun.removesuffix("s"))


def what_feared(sentences: Sequence[str], question: str) -> Solution:
    """Task 15: what the kind of the one asked about is afraid of."""
    (name,) = asked("What is _ afraid of?", question)
    kind_of: dict[str, tuple[str, int]] = {}
    fears: dict[str, tuple[str, int]] = {}
    for i, sentence in enumerate(sentences):
        if found := words("_ are afraid of _.", sentence):
            fears[singular(found[0])] = (singular(found[1]), i)
        elif member := MEMBER.fullmatch(sentence):
            kind_of[member[1].lower()] = (member[2], i)
    if name.lower() not in kind_of or kind_of[name.lower()][0] not in fears:
        raise UnsolvableError(f"nothing told of {name}, or of that kind")
    kind, membership = kind_of[name.lower()]
    enemy, fear = fears[kind]
    return Solution(enemy, (membership, fear))


def what_colour(sentences: Sequence[str], question: str) -> Solution:
    """Task 16: the colour of the other member of the kind that was introduced last."""
    (name,) = asked("What color is _?", question)
    kind_of: dict[str, tuple[str, int]] = {}
    colour_of: dict[str, tuple[str, int]] = {}
    for i, sentence in enumerate(sentences):
        if member := MEMBER.fullmatch(sentence):
            kind_of[member[1]] = (member[2], i)
        elif coloured := STATE.fullmatch(sentence):
            colour_of[coloured[1]] = (coloured[2], i)
    if name not in kind_of:
        raise UnsolvableError(f"nothing told of {name}")
    kind, membership = kind_of[name]
    others = [one for one in kind_of if one != name and kind_of[one][0] == kind]
    others = [one for one in others if one in colour_of]
    if not others:
        raise UnsolvableError(f"nothing told of another {kind}")
    colour, coloured_in = colour_of[others[-1]]
    return Solution(colour, (membership, kind_of[others[-1]][1], coloured_in))


def where_or_why(sentences: Sequence[str], question: str) -> Solution:
    """Task 20: how the person feels, or where that leads."""
    why = words("Why did _ go to the _?", question) or words("Why did _ get the _?", question)
    person = why[0] if why else asked("Where will _ go?", question)[0]
    for i, sentence in enumerate(sentences):
        feeling = STATE.fullmatch(sentence)
        if feeling and feeling[1].lower() == person.lower():
            return Solution(feeling[2] if why else LEADS_TO[feeling[2]], (i,))
    raise UnsolvableError(f"nothing told of how {person} feels")
