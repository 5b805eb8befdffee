"""Which words are asked for and offered: readings of the published procedure.

The makers' description leaves open what counts as a word of a kind. Each reading here is one answer.
``official`` was read off the official validation questions for named entities, found again in the tagged
books; docs/cbt.md says how near it comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from entnet.data.cbt.format import KINDS, Kind
from entnet.data.cbt.tags import Token

ReadingName = Literal["official", "entities", "capitalised", "names"]

_NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
_COMMON_NOUNS = frozenset({"NN", "NNS"})
_PROPER_NOUNS = frozenset({"NNP", "NNPS"})
_TITLES = frozenset({"Mr.", "Mrs.", "Miss", "Dr."})
_PREPOSITIONS = frozenset({"IN", "TO"})
# "one" of "no one" is tagged a noun and labelled a number; official questions take it for a common noun.
_NO_ENTITY = frozenset({"O", "NUMBER"})
_NAMES = frozenset({"PERSON", "LOCATION", "ORGANIZATION", "MISC"})
# Official verb questions never ask for these forms, though "am" and "'s" occur in them.
_BE = {"be", "is", "are", "was", "were", "been", "being"}
_HAVE = {"have", "has", "had", "having"}
_DO = {"do", "does", "did", "done", "doing"}
_AUXILIARIES = frozenset(_BE | _HAVE | _DO)


@dataclass(frozen=True)
class Lexicon:
    """What a first pass over the books tells about words."""

    counts: dict[str, int] = field(default_factory=dict)
    """How often a word, in lower case, occurs in the training books."""
    proper: dict[str, int] = field(default_factory=dict)
    """How often a word, in lower case, is tagged a proper noun in the training books."""
    entities: frozenset[str] = frozenset()
    """Words that carry an entity label somewhere in the books."""


Rule = Callable[[Token, Lexicon], bool]


@dataclass(frozen=True)
class Reading:
    """For each kind of question, which tokens of a story are candidates, and which are asked for."""

    name: ReadingName
    about: str
    offered: dict[Kind, Rule]
    asked: dict[Kind, Rule] = field(default_factory=dict)
    """Where narrower than what is offered."""
    any_place: bool = False
    """Of a word's several places in the sentence any one is left out, as in official questions; else the
    first."""

    def kinds(self, token: Token, lexicon: Lexicon) -> tuple[Kind, ...]:
        """The kinds of question that a token can be a candidate of."""
        return tuple(kind for kind in KINDS if self.offered[kind](token, lexicon))

    def asks(self, token: Token, kind: Kind, lexicon: Lexicon) -> bool:
        """Whether a token of the 21st sentence can be the missing word."""
        return self.asked.get(kind, self.offered[kind])(token, lexicon)


def is_verb(token: Token, lexicon: Lexicon) -> bool:
    """Any verb but the auxiliaries."""
    return token.tag.startswith("VB") and token.word not in _AUXILIARIES


def is_preposition(token: Token, lexicon: Lexicon) -> bool:
    return token.tag in _PREPOSITIONS


def is_entity(token: Token, lexicon: Lexicon) -> bool:
    """A noun, ordinal or capitalised adjective in any named entity: Alice, French, Saturday, first, day.

    Official questions offer all of these, and never the other words that SUTime labels: now, once, two.
    """
    if token.label in _NO_ENTITY:
        return False
    return (
        token.tag in _NOUNS
        or token.label == "ORDINAL"
        or (token.tag == "JJ" and token.word[0].isupper())
    )


def is_entity_or_proper(token: Token, lexicon: Lexicon) -> bool:
    """The same, and what the tagger takes for a proper noun, which official questions offer too."""
    return is_entity(token, lexicon) or (
        token.tag in _PROPER_NOUNS and token.label == "O" and token.word not in _TITLES
    )


NEVER_ASKED = frozenset({"O", "NUMBER", "DATE"})
"""Labels of which no official question is made: of 306 chances for a date, none was taken."""
_LABELLED_ALONE = frozenset(
    {
        *("right", "left", "fire", "storm", "war", "escape", "fall", "lightning", "accident"),
        *("drowned", "tobacco", "remedy", "flood", "executed", "stealing", "choked", "burn"),
    }
)
"""Ordinary words, frequent in the books, that official validation questions take for entities whatever
their part of speech. They look like the makers' tagger's lists of ideologies and causes of death."""
RARE = 28
"""A noun, in lower case, that occurs less often in the training books is taken for an entity: most official
questions in lower case are of this sort (rusks, zither, rope-maker)."""
_KNOWN_NAME = 400
"""A proper noun without a label counts if it is not more frequent than this in the training books and
mostly a proper noun there (Chipmunk, Chatterer), not an ordinary word that is capitalised (Story)."""


def is_official_entity(token: Token, lexicon: Lexicon) -> bool:
    """What the official validation questions take for a named entity, as far as it is known."""
    word = token.word.lower()
    if word in _LABELLED_ALONE:
        return True
    if token.label not in NEVER_ASKED:
        return is_entity(token, lexicon) and token.word not in _TITLES
    if token.label != "O":
        return False
    count = lexicon.counts.get(word, 0)
    if token.tag in _PROPER_NOUNS:
        return (
            token.word not in _TITLES
            and count <= _KNOWN_NAME
            and 2 * lexicon.proper.get(word, 0) >= count
        )
    return token.tag in _COMMON_NOUNS and count < RARE


def is_common_noun(token: Token, lexicon: Lexicon, least: int = 10) -> bool:
    """A noun outside named entities. Rare ones are left out: official questions do not offer them."""
    return (
        token.tag in _COMMON_NOUNS
        and token.label in _NO_ENTITY
        and lexicon.counts.get(token.word.lower(), 0) >= least
    )


def is_any_noun(token: Token, lexicon: Lexicon) -> bool:
    """A noun outside named entities, however rare; these fill up candidates for named entities."""
    return token.tag in _COMMON_NOUNS and token.label in _NO_ENTITY


def is_capitalised_entity(token: Token, lexicon: Lexicon) -> bool:
    return token.label != "O" and token.word[0].isupper()


def is_strict_noun(token: Token, lexicon: Lexicon) -> bool:
    """A singular noun in lower-case letters that is never part of an entity in any of the books."""
    word = token.word
    return token.tag == "NN" and word.isalpha() and word.islower() and word not in lexicon.entities


def is_name(token: Token, lexicon: Lexicon) -> bool:
    return token.label in _NAMES


READINGS: dict[ReadingName, Reading] = {
    "official": Reading(
        "official",
        "NE: nouns, ordinals and capitalised adjectives in any entity but dates and numbers; proper "
        "nouns that are no ordinary words; rare nouns; a few words that the makers' tagger has lists of. "
        "CN: nouns outside entities, 10 times or more in the training books",
        {
            "NE": is_official_entity,
            "CN": is_common_noun,
            "V": is_verb,
            "P": is_preposition,
        },
        any_place=True,
    ),
    "entities": Reading(
        "entities",
        "NE: nouns, ordinals and capitalised adjectives in any entity; proper nouns are offered too. "
        "CN: nouns outside entities, 10 times or more in the training books",
        {"NE": is_entity_or_proper, "CN": is_common_noun, "V": is_verb, "P": is_preposition},
        {"NE": is_entity},
    ),
    "capitalised": Reading(
        "capitalised",
        "NE: capitalised words in any entity. "
        "CN: singular nouns in lower-case letters, never in an entity",
        {"NE": is_capitalised_entity, "CN": is_strict_noun, "V": is_verb, "P": is_preposition},
    ),
    "names": Reading(
        "names",
        "NE: persons, places, organisations and other names. CN: nouns outside entities",
        {"NE": is_name, "CN": is_any_noun, "V": is_verb, "P": is_preposition},
    ),
}
