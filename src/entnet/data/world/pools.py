"""The words of the stories of `world`: who, what and where, and the ways to say what happens."""

from __future__ import annotations

from itertools import permutations

PEOPLE = (
    "Mary", "John", "Sandra", "Daniel", "Julie", "Bill", "Emma", "Fred", "Anna", "Jeff", "Laura",
    "Peter", "Nina", "Tom", "Sara", "Paul", "Clara", "Hugo", "Ida", "Oscar", "Lucy", "Max",
)  # fmt: skip
THINGS = (
    "football", "apple", "milk", "book", "ball", "cup", "key", "lamp", "hat", "coat", "pen",
    "clock", "map", "rope", "candle", "basket", "umbrella", "letter", "coin", "knife", "bottle", "ring",
)  # fmt: skip
PLACES = (
    "bathroom", "bedroom", "garden", "hallway", "kitchen", "office", "cinema", "park", "school",
    "attic", "cellar", "library", "station", "garage", "museum", "balcony", "market", "bakery",
    "church", "harbour", "hotel", "stable",
)  # fmt: skip
LISTABLE = 4
"""The first few things may be listed: an answer is one word, so every list of them is one."""
LONGEST_LIST = 3

TIMES = ("yesterday", "this morning", "this afternoon", "this evening")
THEN = ("Then", "After that", "Afterwards", "Following that")
GO = ("went to", "went back to", "journeyed to", "travelled to", "moved to")
MORE_GO = ("walked to", "walked into", "ran to", "went into", "headed to", "came into")
GET = ("took", "got", "grabbed", "picked up")
DROP = ("dropped", "left", "discarded", "put down")
GIVE = ("gave", "handed", "passed")
NOT_IN = ("is no longer in", "is not in")

FILLERS = (
    "quickly",
    "slowly",
    "suddenly",
    "quietly",
    "again",
    "now",
    "later",
    "really",
    "just",
    "finally",
)
"""Words that say nothing, and that the vocabulary lacks: the network learns to read past unknown words."""

UNKNOWN = "unknown"
"""The answer to what a story does not tell."""
NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def lists() -> list[str]:
    """Every list that is an answer of more than one thing."""
    listable = THINGS[:LISTABLE]
    longer = range(2, LONGEST_LIST + 1)
    return [",".join(things) for length in longer for things in permutations(listable, length)]


def can_be_listed(things: list[str]) -> bool:
    """Whether there is a word for the list: one thing, or a few of those that can be listed."""
    short = len(things) <= LONGEST_LIST
    return len(things) < 2 or (short and all(thing in THINGS[:LISTABLE] for thing in things))
