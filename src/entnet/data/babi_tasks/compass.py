"""Places on a map: which lies in which direction of which."""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice

COMPASS = ("north", "south", "east", "west")
OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}


class Map:
    """Neighbours of each place: direction → place."""

    def __init__(self) -> None:
        self.neighbours: dict[str, dict[str, str]] = {}

    def connect(self, origin: str, direction: str, place: str) -> None:
        """Lay ``place`` in that direction of ``origin``."""
        self.neighbours.setdefault(origin, {})[direction] = place
        self.neighbours.setdefault(place, {})[OPPOSITE[direction]] = origin

    def free(self, place: str) -> list[str]:
        """Directions in which the place has no neighbour."""
        return [way for way in COMPASS if way not in self.neighbours.get(place, {})]


def describe(dice: Dice, world: Map) -> list[tuple[str, str, str]]:
    """Every connection once, as (place, direction, origin): the place lies so from the origin.

    A place is drawn, then one of its neighbours, until all is said. So a place with one neighbour
    is more often the subject than one with many, as in the official data.
    """
    told: dict[frozenset[str], tuple[str, str, str]] = {}
    places = list(world.neighbours)
    while len(told) < sum(map(len, world.neighbours.values())) // 2:
        place = dice.pick(places)
        direction, origin = dice.pick(list(world.neighbours[place].items()))
        told.setdefault(frozenset((place, origin)), (place, OPPOSITE[direction], origin))
    return list(told.values())
