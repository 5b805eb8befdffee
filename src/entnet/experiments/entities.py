"""The words of bAbI that name something: what tied keys stand for.

The paper ties one slot to each entity and lists people, places and objects in its Table 3, without saying
what counts as an entity in the other tasks. Here it is every noun of the official files that names a
person, animal, thing or place, and the colours and shapes that name things in tasks 16 and 17.
Directions, times of day, moods and numbers are what sentences say about entities; they get no slot.
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


def entities_of(vocab: Vocab) -> tuple[str, ...]:
    """The entities that a vocabulary has words for, in a fixed order."""
    return tuple(word for word in ENTITIES if word in vocab)
