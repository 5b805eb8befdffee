"""People who walk about alone or in company."""

from __future__ import annotations

from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Setting


class Walkers:
    """Where everybody is. It starts at random, and stories do not say how."""

    def __init__(self, dice: Dice, setting: Setting) -> None:
        self.dice = dice
        self.people = setting.people
        self.places = setting.places
        self.place_of = {person: dice.pick(self.places) for person in self.people}

    def go(self, number: int) -> tuple[tuple[str, ...], str]:
        """So many people go to a place where none of them is; returns who went, and where to.

        People and place are drawn anew until that is so, hence whoever is together walks together
        more often, as in the official data.
        """
        while True:
            company = tuple(self.dice.draw(self.people, number))
            place = self.dice.pick(self.places)
            if all(self.place_of[person] != place for person in company):
                self.place_of.update(dict.fromkeys(company, place))
                return company, place

    def go_on(self, company: tuple[str, ...]) -> str:
        """The same people, who are together, go on to another place."""
        here = self.place_of[company[0]]
        place = self.dice.pick([place for place in self.places if place != here])
        self.place_of.update(dict.fromkeys(company, place))
        return place
