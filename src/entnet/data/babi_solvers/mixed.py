"""A solver for the stories of `world`, in which all tasks of the house are mixed: from the text alone.

It shares nothing with the generator but the language. For every question it looks for the sentences that
decide it, and answers "unknown" where there are none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from entnet.data.babi_solvers.house import NUMBERS
from entnet.data.babi_solvers.reading import UnsolvableError, words

UNKNOWN = "unknown"
TIMES = ("yesterday", "this morning", "this afternoon", "this evening")
_TIME = "|".join(TIMES)
_GO = (
    r"(?:went back to|went to|went into|journeyed to|travelled to|moved to|walked to|walked into|ran to"
    r"|headed to|came into)"
)
_THEN = r"(?:Then|After that|Afterwards|Following that)"
TIMED = re.compile(rf"(?:({_TIME}) )?(\w+) {_GO} the (\w+)(?: ({_TIME}))?\.", re.IGNORECASE)
PRONOUN = re.compile(rf"(?:{_THEN} )?(?:she|he|they) {_GO} the (\w+)\.", re.IGNORECASE)
SHE = ("she", "he")
BOTH = re.compile(rf"(\w+) and (\w+) {_GO} the (\w+)\.")
WENT = re.compile(rf"(\w+) (?:{_GO}|is in) the (\w+)\.")
NOT_IN = re.compile(r"(\w+) is (?:no longer|not) in the (\w+)\.")
EITHER = re.compile(r"(\w+) is either in the (\w+) or the (\w+)\.")
GOT = re.compile(r"(\w+) (?:took|got|grabbed|picked up) the (\w+)(?: there)?\.")
DROPPED = re.compile(r"(\w+) (?:dropped|left|discarded|put down) the (\w+)(?: there)?\.")
GAVE = re.compile(r"(\w+) (?:gave|handed|passed) the (\w+) to (\w+)\.")


class MixedStory:
    """The sentences of a story as facts, each a tuple with its kind first."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self.facts: list[tuple[str, ...]] = []
        company: tuple[str, ...] = ()
        for sentence in sentences:
            facts, company = _facts(sentence, company)
            self.facts += facts

    def answer(self, question: str) -> str:
        """The answer that follows from the story; "unknown" if none does."""
        for template, solve in (
            ("Where is the _?", self.where_thing),
            ("Where is _?", self.where_person),
            ("Where was the _ before the _?", self.thing_before),
            ("Where was _ before the _?", self.person_before),
            ("Is _ in the _?", self.is_in),
            ("How many objects is _ carrying?", self.how_many),
            ("What is _ carrying?", self.carrying),
            ("What did _ give to _?", lambda a, b: self.gift(actor=a, to=b)[1]),
            ("Who did _ give the _ to?", lambda a, w: self.last_gift(w, actor=a)[2]),
            ("Who gave the _ to _?", lambda w, b: self.last_gift(w, to=b)[0]),
            ("Who gave the _?", lambda w: self.last_gift(w)[0]),
            ("Who received the _?", lambda w: self.last_gift(w)[2]),
        ):
            found = words(template, question)
            if found and all(" " not in word for word in found):
                return solve(*found)
        raise UnsolvableError(f"not understood: {question!r}")

    def _places(self, person: str, before: int | None = None) -> tuple[str, ...]:
        """What was last said of where somebody is: ("at", …), ("not", …) or ("either", …)."""
        for fact in reversed(self.facts[:before]):
            if fact[0] in ("at", "not", "either") and fact[1] == person:
                return fact
        return ("nothing",)

    def where_person(self, person: str, before: int | None = None) -> str:
        kind, *rest = self._places(person, before)
        return rest[1] if kind == "at" else UNKNOWN

    def is_in(self, person: str, place: str) -> str:
        kind, *rest = self._places(person)
        if kind == "at":
            return "yes" if rest[1] == place else "no"
        if kind == "either":
            return "maybe" if place in rest[1:] else "no"
        return "no" if kind == "not" and rest[1] == place else UNKNOWN

    def where_thing(self, thing: str) -> str:
        for i in range(len(self.facts) - 1, -1, -1):
            kind, *rest = self.facts[i]
            if kind == "drop" and rest[1] == thing:
                return self.where_person(rest[0], i)
            if kind in ("get", "give") and rest[1] == thing:
                return self.where_person(rest[2] if kind == "give" else rest[0])
        return UNKNOWN

    def thing_before(self, thing: str, place: str) -> str:
        """The stop before the last one there, from where it was last taken."""
        stops: list[str] = []
        holder = ""
        for i, (kind, *rest) in enumerate(self.facts):
            if kind == "get" and rest[1] == thing:
                there = self.where_person(rest[0], i)
                holder, stops = rest[0], ["" if there == UNKNOWN else there]
            elif kind == "give" and rest[1] == thing:
                holder = rest[2]
            elif kind == "drop" and rest[1] == thing:
                holder = ""
            elif kind in ("at", "not", "either") and rest[0] == holder:
                stops.append(rest[1] if kind == "at" else "")
        at = [i for i in range(1, len(stops)) if stops[i] == place]
        return (stops[at[-1] - 1] or UNKNOWN) if at else UNKNOWN

    def person_before(self, person: str, place: str) -> str:
        days = {int(f[2]): f[3] for f in self.facts if f[0] == "was" and f[1] == person}
        for time in (3, 2, 1):
            if days.get(time) == place and time - 1 in days:
                return days[time - 1]
        return UNKNOWN

    def _hands(self, person: str) -> tuple[list[str], list[str]]:
        """Everything that somebody ever had, in order; and what of it they still have."""
        ever: list[str] = []
        now: list[str] = []
        for kind, *rest in self.facts:
            if (kind == "get" and rest[0] == person) or (kind == "give" and rest[2] == person):
                ever += [rest[1]] if rest[1] not in ever else []
                now.append(rest[1])
            elif kind in ("drop", "give") and rest[0] == person and rest[1] in now:
                now.remove(rest[1])
        return ever, now

    def how_many(self, person: str) -> str:
        ever, now = self._hands(person)
        return NUMBERS[len(now)] if ever else UNKNOWN

    def carrying(self, person: str) -> str:
        ever, now = self._hands(person)
        listed = ",".join(thing for thing in ever if thing in now)
        return (listed or "nothing") if ever else UNKNOWN

    def gift(self, actor: str, to: str) -> tuple[str, str, str]:
        for kind, *rest in reversed(self.facts):
            if kind == "give" and (rest[0], rest[2]) == (actor, to):
                return (actor, rest[1], to)
        return (UNKNOWN, UNKNOWN, UNKNOWN)

    def last_gift(self, thing: str, actor: str = "", to: str = "") -> tuple[str, str, str]:
        """Giver, thing and receiver of the last gift of a thing, if it was by and to these."""
        for kind, *rest in reversed(self.facts):
            if kind == "give" and rest[1] == thing:
                if actor in ("", rest[0]) and to in ("", rest[2]):
                    return (rest[0], rest[1], rest[2])
                break
        return (UNKNOWN, UNKNOWN, UNKNOWN)


def _facts(
    sentence: str, company: tuple[str, ...]
) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """What a sentence says; and whom it is about, whom the next may call she, he or they."""
    if match := PRONOUN.fullmatch(sentence):
        return [("at", person, match[1]) for person in company], company
    if match := BOTH.fullmatch(sentence):
        return [("at", person, match[3]) for person in match.groups()[:2]], match.groups()[:2]
    timed = TIMED.fullmatch(sentence)
    if timed and (timed[1] or timed[4]):
        time = TIMES.index((timed[1] or timed[4]).lower())
        return [("was", timed[2], str(time), timed[3])], ()
    if match := WENT.fullmatch(sentence):
        return [("at", *match.groups())], (match[1],)
    for kind, pattern in (("get", GOT), ("drop", DROPPED)):
        if match := pattern.fullmatch(sentence):
            (who,) = company if match[1].lower() in SHE else (match[1],)
            return [(kind, who, match[2])], (who,)
    for kind, pattern in (("not", NOT_IN), ("either", EITHER), ("give", GAVE)):
        if match := pattern.fullmatch(sentence):
            return [(kind, *match.groups())], ()
    raise UnsolvableError(f"not understood: {sentence!r}")
