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
    """Where everybody and everything is. It starts at random, and the story does not say how."""

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

        Somebody and an action are drawn, and drawn anew if the action is impossible: whoever can do
        much does much, as in the official data. Walking to where one is already counts as impossible.
        """
        while True:
            actor = self.dice.pick(self.people)
            event = self._possible(self.dice.pick(kinds), actor)
            if event is not None:
                self.apply(event)
                return event

    def _possible(self, kind: str, actor: str) -> Event | None:
        if kind == "go":
            place = self.dice.pick(self.places)
            return Event(kind, actor, place) if place != self.place_of[actor] else None
        if kind == "get":
            here = self.place_of[actor]
            things = [thing for thing, place in self.lying.items() if place == here]
        else:
            things = self.carried[actor]
        if not things:
            return None
        thing = self.dice.pick(things)
        if kind != "give":
            return Event(kind, actor, thing)
        near = [other for other in self.people if other != actor and self.together(other, actor)]
        return Event(kind, actor, thing, self.dice.pick(near)) if near else None

    def together(self, one: str, other: str) -> bool:
        return self.place_of[one] == self.place_of[other]

    def apply(self, event: Event) -> None:
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
