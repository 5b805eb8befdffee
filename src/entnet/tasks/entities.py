"""The words of bAbI that name something: what tied keys stand for.

The paper ties one slot to each entity and lists people, places and objects in its Table 3, without saying
what counts as an entity in the other tasks. Here it is every noun of the official files that names a
person, animal, thing or place, and the colours and shapes that name things in tasks 16 and 17.
Directions, times of day, moods and numbers are what sentences say about entities; they get no slot.

The authors' code has a list of its own, ``AUTHORS``. Moods and times of day are in it; shapes, the school,
Jeff and the chest are not; and yellow is in it twice, so that two slots stand for it.
"""

from __future__ import annotations

from entnet.text import Vocab

PEOPLE = (
    "antoine", "bernhard", "bill", "brian", "daniel", "emily", "fred", "gertrude", "greg", "jason", "jeff",
    "jessica", "john", "julie", "julius", "lily", "mary", "sandra", "sumit", "winona", "yann",
)  # fmt: skip
PLACES = (
    "bathroom", "bedroom", "cinema", "garden", "hallway", "kitchen", "office", "park", "school",
)  # fmt: skip
OBJECTS = ("apple", "football", "milk", "pajamas")
CONTAINERS = ("box", "chest", "chocolate", "chocolates", "container", "suitcase")
ANIMALS = (
    "cat", "cats", "frog", "lion", "mice", "mouse", "rhino", "sheep", "swan", "wolf", "wolves",
)  # fmt: skip
COLOURS = ("blue", "gray", "green", "pink", "red", "white", "yellow")
SHAPES = ("rectangle", "sphere", "square", "triangle")

ENTITIES = PEOPLE + PLACES + OBJECTS + CONTAINERS + ANIMALS + COLOURS + SHAPES


AUTHORS = (
    "bedroom", "kitchen", "garden", "hallway", "bathroom", "office", "park", "cinema",
    "apple", "football", "milk", "pajamas",
    "john", "mary", "sandra", "daniel", "jason", "antoine", "sumit", "yann", "bill", "fred", "julie",
    "gertrude", "winona", "emily", "jessica", "lily", "bernhard", "greg", "julius", "brian",
    "hungry", "thirsty", "bored", "tired",
    "suitcase", "container", "box", "chocolate",
    "morning", "afternoon", "evening", "yesterday",
    "mice", "mouse", "sheep", "wolf", "wolves", "cat", "cats", "frog", "rhino", "swan", "lion",
    "gray", "yellow", "green", "white", "red", "blue", "pink", "yellow",
)  # fmt: skip
"""As far as they are words of the official files, in the authors' order."""

Tied = bool | str
"""In a preset: whether keys are tied, or a list's name."""

LISTS: dict[Tied, tuple[str, ...]] = {False: (), True: ENTITIES, "authors": AUTHORS}
"""The words that keys can be tied to."""


def entities_of(vocab: Vocab, tied: Tied = True) -> tuple[str, ...]:
    """The entities that a vocabulary has words for, in a fixed order."""
    return tuple(word for word in LISTS[tied] if word in vocab)
