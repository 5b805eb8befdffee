"""A house: people who walk about in it, take things, put them down and hand them on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting


class Event(NamedTuple):
    """Something that somebody did."""

    kind: str
    """``go``, ``get``, ``drop`` or ``give``."""
    actor: str
    what: str
    """The place gone to, or the object."""
    to: str = ""
    """Who was given the object."""


class House:
    """Where everybody and everything is. It starts at random, and stories do not say how."""

    def __init__(self, dice: Dice, setting: Setting) -> None:
        self.dice = dice
        self.people = setting.people
        self.places = setting.places
        self.objects = setting.objects
        self.place_of = {person: dice.pick(self.places) for person in self.people}
        self.lying = {thing: dice.pick(self.places) for thing in self.objects}
        """Things that nobody carries, and where they are."""
        self.carried: dict[str, list[str]] = {person: [] for person in self.people}
        """What each person carries, in the order taken."""

    def live(self, kinds: Sequence[str]) -> Event:
        """Let something happen that is possible.

        Somebody and an action are drawn, and drawn anew if it is impossible: whoever can do much
        does much, as in the official data. To walk to where one is already counts as impossible.
        """
        roll = self.dice.random
        people = self.people
        while True:
            actor = people[int(roll() * len(people))]
            event = self._attempt(kinds[int(roll() * len(kinds))], actor)
            if event is not None:
                self._apply(event)
                return event

    def _attempt(self, kind: str, actor: str) -> Event | None:
        if kind == "go":
            place = self.dice.pick(self.places)
            return Event(kind, actor, place) if place != self.place_of[actor] else None
        if kind == "give":
            return self._gift()
        if kind == "drop":
            things = self.carried[actor]
        else:
            here = self.place_of[actor]
            things = [thing for thing in self.lying if self.lying[thing] == here]
        return Event(kind, actor, self.dice.pick(things)) if things else None

    def _gift(self) -> Event | None:
        """The first thing, in the order of the word lists, whose holder is not alone goes to the
        first person there, as in the official data: hence the uneven answers of tasks 5 and 7."""
        holder = {thing: person for person in self.people for thing in self.carried[person]}
        for thing in self.objects:
            giver = holder.get(thing)
            if giver is not None:
                here = self.place_of[giver]
                for other in self.people:
                    if other != giver and self.place_of[other] == here:
                        return Event("give", giver, thing, other)
        return None

    def _apply(self, event: Event) -> None:
        if event.kind == "go":
            self.place_of[event.actor] = event.what
        elif event.kind == "get":
            del self.lying[event.what]
            self.carried[event.actor].append(event.what)
        else:
            self.carried[event.actor].remove(event.what)
            if event.kind == "drop":
                self.lying[event.what] = self.place_of[event.actor]
            else:
                self.carried[event.to].append(event.what)
