"""What a story of `world` lets one know, kept up as it is told."""

from __future__ import annotations

from dataclasses import dataclass, field

from entnet.data.world.pools import NUMBERS, TIMES, UNKNOWN


@dataclass
class Person:
    """What has been told of somebody."""

    places: tuple[str, ...] = ()
    """Where they are: one place, one of two (which may be the same, as in bAbI), or nothing known."""
    not_in: str = ""
    """Where they are known not to be, if that is all."""
    hands: list[str] = field(default_factory=list)
    """What they carry."""
    handled: dict[str, None] = field(default_factory=dict)
    """Everything that they ever carried, in the order of the first time."""
    days: dict[int, str] = field(default_factory=dict)
    """Where they were at each time of day."""


@dataclass
class Thing:
    """What has been told of a thing."""

    holder: str = ""
    place: str = ""
    """Where it was put down, if that is known."""
    stops: list[str] = field(default_factory=list)
    """Where it was last taken, and where it was carried since."""
    gift: tuple[str, str] | None = None
    """Who gave it last, and to whom."""


@dataclass
class Knowledge:
    """Everybody and everything that was named, and what follows from the sentences so far."""

    people: dict[str, Person] = field(default_factory=dict)
    things: dict[str, Thing] = field(default_factory=dict)
    between: dict[tuple[str, str], str] = field(default_factory=dict)
    """The last thing that one person gave to another."""

    def person(self, name: str) -> Person:
        return self.people.setdefault(name, Person())

    def thing(self, name: str) -> Thing:
        return self.things.setdefault(name, Thing())

    # What happens.

    def at(self, name: str, *places: str) -> None:
        """Somebody is, or goes to, one of these places."""
        person = self.person(name)
        person.places, person.not_in = places, ""
        for thing in person.hands:
            self.thing(thing).stops.append(places[0] if len(places) == 1 else "")

    def left(self, name: str, place: str) -> None:
        """Somebody is not, or no longer, in a place."""
        person = self.person(name)
        person.places, person.not_in = (), place
        for thing in person.hands:
            self.thing(thing).stops.append("")

    def gets(self, name: str, what: str) -> None:
        thing, places = self.thing(what), self.person(name).places
        thing.holder, thing.place = name, ""
        thing.stops = [places[0] if len(places) == 1 else ""]
        self._take(name, what)

    def drops(self, name: str, what: str) -> None:
        thing, person = self.thing(what), self.person(name)
        thing.holder = ""
        thing.place = person.places[0] if len(person.places) == 1 else ""
        if what in person.hands:
            person.hands.remove(what)

    def gives(self, name: str, what: str, to: str) -> None:
        giver, thing = self.person(name), self.thing(what)
        if what in giver.hands:
            giver.hands.remove(what)
        thing.holder, thing.gift = to, (name, to)
        self.between[name, to] = what
        self._take(to, what)

    def was(self, name: str, time: int, place: str) -> None:
        self.person(name).days[time] = place

    def _take(self, name: str, what: str) -> None:
        person = self.person(name)
        person.hands.append(what)
        person.handled.setdefault(what)

    # What can be asked; `unknown` where it does not follow.

    def where_is_person(self, name: str) -> str:
        places = self.people[name].places if name in self.people else ()
        return places[0] if len(places) == 1 else UNKNOWN

    def where_is_thing(self, what: str) -> str:
        thing = self.things.get(what)
        if thing is None:
            return UNKNOWN
        return self.where_is_person(thing.holder) if thing.holder else thing.place or UNKNOWN

    def where_was_thing(self, what: str, before: str) -> str:
        stops = self.things[what].stops if what in self.things else []
        for left, reached in zip(reversed(stops[:-1]), reversed(stops[1:]), strict=True):
            if reached == before:
                return left or UNKNOWN
        return UNKNOWN

    def where_was_person(self, name: str, before: str) -> str:
        days = self.people[name].days if name in self.people else {}
        for time in range(len(TIMES) - 1, 0, -1):
            if days.get(time) == before and time - 1 in days:
                return days[time - 1]
        return UNKNOWN

    def is_in(self, name: str, place: str) -> str:
        person = self.people.get(name)
        if person is None or not (person.places or person.not_in):
            return UNKNOWN
        if not person.places:
            return "no" if place == person.not_in else UNKNOWN
        if place not in person.places:
            return "no"
        return "yes" if len(person.places) == 1 else "maybe"

    def how_many(self, name: str) -> str:
        person = self.people.get(name)
        return NUMBERS[len(person.hands)] if person and person.handled else UNKNOWN

    def carries(self, name: str) -> list[str] | None:
        """What somebody carries, in the order first taken; None where nothing was told of it."""
        person = self.people.get(name)
        if person is None or not person.handled:
            return None
        return [thing for thing in person.handled if thing in person.hands]

    def giver(self, what: str, to: str = "") -> str:
        gift = self.things[what].gift if what in self.things else None
        return gift[0] if gift and to in ("", gift[1]) else UNKNOWN

    def receiver(self, what: str, giver: str = "") -> str:
        gift = self.things[what].gift if what in self.things else None
        return gift[1] if gift and giver in ("", gift[0]) else UNKNOWN

    def gift(self, giver: str, to: str) -> str:
        return self.between.get((giver, to), UNKNOWN)
