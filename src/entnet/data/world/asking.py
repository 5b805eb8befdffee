"""What is asked of a story of `world`: mostly what it tells, sometimes what it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from entnet.data.babi_tasks.dice import Dice
from entnet.data.world import pools
from entnet.data.world.knowledge import Knowledge
from entnet.data.world.pools import UNKNOWN

if TYPE_CHECKING:
    from entnet.data.world.story import Cast

Asked = tuple[str, str]
"""A question and its answer."""

ATTEMPTS = 12
UNANSWERABLE = 0.12
"""Share of the questions that the story does not answer."""


class Asker:
    """Draws questions about the cast, and some about others."""

    def __init__(self, dice: Dice, cast: Cast, knowledge: Knowledge, hard: bool = False) -> None:
        """``hard``: most questions are about what follows from several sentences, for training."""
        self.dice = dice
        self.cast = cast
        self.known = knowledge
        self.forms: list[Callable[[], Asked | None]] = [
            self._where_is_person,
            self._where_is_person,
            self._is_in,
            self._is_in,
        ]
        if cast.things:
            self.forms += [
                *[self._where_is_thing] * 6,
                *[self._where_was_thing] * 5,
                *[self._how_many] * 2,
                *[self._list] * 2,
                *[self._gift] * (6 if cast.giving else 1),
            ]
        if cast.diarists:
            self.forms += [self._where_was_person] * 4
        if hard:
            self.forms += [self._where_was_thing] * (10 if cast.things else 0)
            self.forms += [self._gift] * (12 if cast.things and cast.giving else 0)
            self.forms += [self._where_was_person] * (16 if cast.diarists else 0)
        self.others = [name for name in pools.PEOPLE if name not in (*cast.people, *cast.diarists)]

    def ask(self, sentences: Sequence[str], count: int) -> list[Asked]:
        """So many questions, or fewer if few things were told."""
        found: dict[str, str] = {}
        for _ in range(count):
            wants_unknown = self.dice.chance(UNANSWERABLE)
            for _ in range(ATTEMPTS):
                asked = self.dice.pick(self.forms)()
                if asked and asked[0] not in found and (asked[1] == UNKNOWN) == wants_unknown:
                    found[asked[0]] = asked[1]
                    break
        return list(found.items())

    def _person(self) -> str:
        """Somebody of the story, now and then somebody else."""
        if self.dice.chance(0.04):
            return self.dice.pick(self.others)
        return self.dice.pick(self.cast.people or self.cast.diarists)

    def _thing(self) -> str:
        return self.dice.pick(pools.THINGS if self.dice.chance(0.03) else self.cast.things)

    def _place(self) -> str:
        return self.dice.pick(pools.PLACES if self.dice.chance(0.05) else self.cast.places)

    def _where_is_person(self) -> Asked | None:
        name = self._person()
        if name in self.cast.diarists:
            return None
        return f"Where is {name}?", self.known.where_is_person(name)

    def _is_in(self) -> Asked | None:
        name = self._person()
        if name in self.cast.diarists:
            return None
        person = self.known.people.get(name)
        place = self._place()
        if person and self.dice.chance(0.6):
            place = self.dice.pick(
                [place for place in (*person.places, person.not_in) if place] or [place]
            )
        return f"Is {name} in the {place}?", self.known.is_in(name, place)

    def _where_is_thing(self) -> Asked:
        what = self._thing()
        return f"Where is the {what}?", self.known.where_is_thing(what)

    def _where_was_thing(self) -> Asked:
        what = self._thing()
        stops = self.known.things[what].stops if what in self.known.things else []
        place = self._place()
        if stops and self.dice.chance(0.9):
            # As in bAbI, most are about the last way that it was carried.
            last = self.dice.chance(0.6)
            place = (stops[-1] if last else self.dice.pick(stops)) or place
        return f"Where was the {what} before the {place}?", self.known.where_was_thing(what, place)

    def _where_was_person(self) -> Asked:
        name = self.dice.pick(self.cast.diarists)
        days = self.known.person(name).days
        place = self._place()
        if days and self.dice.chance(0.9):
            place = days[self.dice.pick(sorted(days))]
        return f"Where was {name} before the {place}?", self.known.where_was_person(name, place)

    def _how_many(self) -> Asked | None:
        name = self._person()
        if name in self.cast.diarists:
            return None
        return f"How many objects is {name} carrying?", self.known.how_many(name)

    def _list(self) -> Asked | None:
        name = self._person()
        if name in self.cast.diarists:
            return None
        carried = self.known.carries(name)
        if carried is not None and not pools.can_be_listed(carried):
            return None
        answer = UNKNOWN if carried is None else ",".join(carried) or "nothing"
        return f"What is {name} carrying?", answer

    def _gift(self) -> Asked | None:
        what, known = self._thing(), self.known
        gift = known.things[what].gift if what in known.things else None
        giver, to = gift or (self._person(), self._person())
        if giver == to or (gift is None and self.dice.chance(0.7)):
            return None
        return self.dice.pick(
            (
                (f"What did {giver} give to {to}?", known.gift(giver, to)),
                (f"What did {giver} give to {to}?", known.gift(giver, to)),
                (f"Who received the {what}?", known.receiver(what)),
                (f"Who did {giver} give the {what} to?", known.receiver(what, giver)),
                (f"Who gave the {what}?", known.giver(what)),
                (f"Who gave the {what} to {to}?", known.giver(what, to)),
            )
        )
