"""Solvers of the tasks about a house: 1, 2, 3, 5, 6, 7 and 8."""

from __future__ import annotations

from collections.abc import Sequence

from entnet.data.babi_solvers.reading import Act, Solution, UnsolvableError, act, acts, asked, words

NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def last(events: Sequence[Act], *kinds: str, **wanted: str) -> int:
    """Position of the last event of these kinds with these words."""
    for i in range(len(events) - 1, -1, -1):
        event = events[i]
        if event.kind in kinds and all(getattr(event, k) == v for k, v in wanted.items()):
            return i
    raise UnsolvableError(f"nothing told of {', '.join(wanted.values())}")


def where_is_person(sentences: Sequence[str], question: str) -> Solution:
    """Task 1: where the person last went."""
    (person,) = asked("Where is _?", question)
    events = acts(sentences)
    moved = last(events, "go", actor=person)
    return Solution(events[moved].what, (moved,))


def where_is_object(sentences: Sequence[str], question: str) -> Solution:
    """Task 2: where it was dropped, or where its carrier is."""
    (thing,) = asked("Where is the _?", question)
    events = acts(sentences)
    handled = last(events, "get", "drop", what=thing)
    known = events[:handled] if events[handled].kind == "drop" else events
    moved = last(known, "go", actor=events[handled].actor)
    return Solution(events[moved].what, (handled, moved))


def where_was_object(sentences: Sequence[str], question: str) -> Solution:
    """Task 3: the stop before the last time that it was carried to that place."""
    thing, place = asked("Where was the _ before the _?", question)
    events = acts(sentences)
    taken = last(events, "get", what=thing)
    handled = last(events, "get", "drop", what=thing)
    end = handled if handled > taken else len(events)
    stops = [
        i
        for i in range(taken + 1, end)
        if events[i].kind == "go" and events[i].actor == events[taken].actor
    ]
    for left, reached in zip(reversed(stops[:-1]), reversed(stops[1:]), strict=True):
        if events[reached].what == place:
            return Solution(events[left].what, (handled, reached, left))
    raise UnsolvableError(f"the {thing} was not carried on to the {place}")


def who_gave_what(sentences: Sequence[str], question: str) -> Solution:
    """Task 5: the last gift that has all that the question names."""
    forms = (
        ("What did _ give to _?", ("actor", "to"), "what"),
        ("Who did _ give the _ to?", ("actor", "what"), "to"),
        ("Who gave the _ to _?", ("what", "to"), "actor"),
        ("Who gave the _?", ("what",), "actor"),
        ("Who received the _?", ("what",), "to"),
    )
    events = acts(sentences)
    for template, roles, wanted in forms:
        if found := words(template, question):
            gift = last(events, "give", **dict(zip(roles, found, strict=True)))
            return Solution(getattr(events[gift], wanted), (gift,))
    raise UnsolvableError(f"not understood: {question!r}")


def is_person_there(sentences: Sequence[str], question: str) -> Solution:
    """Task 6: whether the person last went there."""
    person, place = asked("Is _ in the _?", question)
    events = acts(sentences)
    moved = last(events, "go", actor=person)
    return Solution("yes" if events[moved].what == place else "no", (moved,))


def how_many_carried(sentences: Sequence[str], question: str) -> Solution:
    """Task 7: taken and received, less dropped and given."""
    (person,) = asked("How many objects is _ carrying?", question)
    count, supports = 0, []
    for i, event in enumerate(map(act, sentences)):
        if event.kind == "go" or person not in (event.actor, event.to):
            continue
        supports.append(i)
        count += 1 if event.kind == "get" or event.to == person else -1
    return Solution(NUMBERS[count] if count < len(NUMBERS) else str(count), tuple(supports))


def what_carried(sentences: Sequence[str], question: str) -> Solution:
    """Task 8: objects in the order in which the person first took them."""
    (person,) = asked("What is _ carrying?", question)
    handled: dict[str, list[int]] = {}
    held: set[str] = set()
    for i, event in enumerate(map(act, sentences)):
        if event.kind == "go" or event.actor != person:
            continue
        handled.setdefault(event.what, []).append(i)
        if event.kind == "get":
            held.add(event.what)
        else:
            held.discard(event.what)
    listed = ",".join(thing for thing in handled if thing in held)
    return Solution(listed or "nothing", tuple(i for each in handled.values() for i in each))
