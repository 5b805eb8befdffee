"""Solvers of the tasks about how things lie or fit: 4, 17, 18 and 19."""

from __future__ import annotations

from collections.abc import Sequence

from entnet.data.babi_solvers.reading import Solution, UnsolvableError, asked, words

STEPS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}
SIDES = {"above": "north", "below": "south", "to the left of": "west", "to the right of": "east"}


def what_lies_there(sentences: Sequence[str], question: str) -> Solution:
    """Task 4: the place that a sentence puts there, in its own words or the other way round."""
    found = words("What is _ of the _?", question)
    if found:
        direction, origin = found
    else:
        # "What is the kitchen south of?" asks what lies north of it.
        origin, towards = asked("What is the _ _ of?", question)
        direction = OPPOSITE[towards]
    for i, sentence in enumerate(sentences):
        place, towards, other = asked("The _ is _ of the _.", sentence)
        if (towards, other) == (direction, origin):
            return Solution(place, (i,))
        if (OPPOSITE[towards], place) == (direction, origin):
            return Solution(other, (i,))
    raise UnsolvableError(f"nothing is told to lie {direction} of the {origin}")


def _beside(text: str, template: str) -> tuple[str, str, str]:
    """A shape, the direction in which it lies, and of what."""
    for side, direction in SIDES.items():
        if found := words(template.format(side), text):
            return found[0], direction, found[1]
    raise UnsolvableError(f"not understood: {text!r}")


def is_shape_there(sentences: Sequence[str], question: str) -> Solution:
    """Task 17: both shapes are laid out around the one that both sentences name."""
    told = [_beside(sentence, "The _ is {} the _.") for sentence in sentences]
    one, direction, other = _beside(question, "Is the _ {} the _?")
    first, second = told
    (middle,) = {first[0], first[2]} & {second[0], second[2]}
    spots: dict[str, tuple[int, int]] = {}
    source: dict[str, int] = {}
    for i, (shape, way, origin) in enumerate(told):
        outer = shape if origin == middle else origin
        x, y = STEPS[way if outer == shape else OPPOSITE[way]]
        spots[outer], source[outer] = (x, y), i
    x, y = STEPS[direction]
    reach = (spots[one][0] - spots[other][0]) * x + (spots[one][1] - spots[other][1]) * y
    return Solution("yes" if reach > 0 else "no", (source[one], source[other]))


def does_it_fit(sentences: Sequence[str], question: str) -> Solution:
    """Task 18: whether a chain of sentences leads from the one up to the other, or down."""
    above: dict[str, dict[str, int]] = {}
    for i, sentence in enumerate(sentences):
        found = words("The _ fits inside the _.", sentence)
        small, big = found or asked("The _ is bigger than the _.", sentence)[::-1]
        above.setdefault(small, {}).setdefault(big, i)
    fit = words("Does the _ fit in the _?", question)
    small, big = fit or asked("Is the _ bigger than the _?", question)[::-1]
    for answer, low, high in (("yes", small, big), ("no", big, small)):
        chain = _climb(above, low, high)
        if chain is not None:
            return Solution(answer, tuple(reversed(chain)) if answer == "yes" else tuple(chain))
    raise UnsolvableError(f"no chain joins the {small} and the {big}")


def _climb(above: dict[str, dict[str, int]], low: str, high: str) -> list[int] | None:
    """Sentences of a shortest chain of two or more from ``low`` up to ``high``; a direct one too."""
    reached: list[tuple[str, list[int]]] = [(low, [])]
    direct: list[int] | None = None
    while reached:
        thing, chain = reached.pop(0)
        for bigger, sentence in above.get(thing, {}).items():
            longer = [*chain, sentence]
            if bigger != high:
                reached.append((bigger, longer))
            elif len(longer) > 1:
                return longer
            else:
                direct = longer
    return direct


def how_to_go(sentences: Sequence[str], question: str) -> Solution:
    """Task 19: the shortest way along neighbours that sentences name."""
    ways: dict[str, list[tuple[str, str, int]]] = {}
    for i, sentence in enumerate(sentences):
        place, direction, origin = asked("The _ is _ of the _.", sentence)
        ways.setdefault(origin, []).append((direction, place, i))
        ways.setdefault(place, []).append((OPPOSITE[direction], origin, i))
    start, end = asked("How do you go from the _ to the _?", question)
    reached: list[tuple[str, list[str], list[int]]] = [(start, [], [])]
    seen = {start}
    while reached:
        here, steps, facts = reached.pop(0)
        if here == end:
            return Solution(",".join(step[0] for step in steps), tuple(facts))
        for direction, place, i in ways.get(here, []):
            if place not in seen:
                seen.add(place)
                reached.append((place, [*steps, direction], [*facts, i]))
    raise UnsolvableError(f"no way leads from the {start} to the {end}")
