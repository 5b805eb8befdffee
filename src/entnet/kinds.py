"""From the symmetries of stories to kinds of words that a name can be of.

Words that are interchangeable are of a kind. So are names that stand in the same places: stories may tell
of one of them more often, which keeps it out of a symmetry, but no place could ever tell the two apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from entnet.binding import EDGE, Kind
from entnet.data.story import Story
from entnet.symmetries import Symmetries
from entnet.text import answer_token, tokenise

Places = set[tuple[str, str]]
ALIKE = 0.8
"""Share of their places that words of a kind have in common."""

KNOWN_KINDS = {
    "person": "mary john sandra daniel julie bill fred jeff antoine jason sumit yann lily greg brian"
    " winona jessica emily gertrude",
    "place": "kitchen garden office hallway bathroom bedroom park school cinema",
    "thing": "milk football apple pajamas",
    "animal": "wolf mouse cat sheep lion swan frog rhino wolves mice cats",
    "colour": "white gray green yellow red blue pink",
    "shape": "triangle square rectangle sphere",
    "container": "box chest suitcase container chocolate",
}
"""What a kind is called if it has some of these words: those of bAbI."""

NO_NAMES = {
    *("north", "south", "east", "west", "above", "below", "left", "right"),
    *("hungry", "thirsty", "tired", "bored"),
}
"""Words that are interchangeable, but name nobody and nothing."""


def find_kinds(stories: Sequence[Story], found: Symmetries) -> tuple[Kind, ...]:
    """Kinds of words that name something: asked about, answered with, or known to; not ways to say it."""
    order, asked = _words_asked(stories)
    groups = [
        set(group)
        for group in found.groups
        if (asked & set(group) or _name(group) in KNOWN_KINDS) and not NO_NAMES & set(group)
    ]
    in_groups: set[str] = set().union(*groups)
    lexicon = {word for words in KNOWN_KINDS.values() for word in words.split()}
    names = in_groups | (lexicon & order.keys())
    places = _places(stories, names)
    grouped = [*groups, *({word} for word in sorted(names - in_groups))]
    merged: list[set[str]] = []
    for group in sorted(grouped, key=len, reverse=True):
        home = next((m for m in merged if _alike(places, m, group)), None)
        if home is None:
            merged.append(set(group))
        else:
            home |= group
    kinds = [sorted(group, key=order.get) for group in merged if len(group) > 1]  # type: ignore[arg-type]
    return tuple(Kind(_name(members), tuple(members)) for members in kinds)


def _words_asked(stories: Iterable[Story]) -> tuple[dict[str, int], set[str]]:
    """All words by the order in which they come; and those of questions and answers that sentences have."""
    order: dict[str, int] = {}
    asked: set[str] = set()
    told: set[str] = set()
    for story in stories:
        for sentence in story.sentences:
            words = tokenise(sentence)
            told.update(words)
            for word in words:
                order.setdefault(word, len(order))
        for question in story.questions:
            asked.update(tokenise(question.text))
            asked.update(answer_token(question.answer).split(","))
    return order, asked & told


def _places(stories: Iterable[Story], names: set[str]) -> dict[str, Places]:
    """Of every word, its neighbours left and right, where all names are alike."""
    places: dict[str, Places] = defaultdict(set)
    for sentence in {text for story in stories for text in story.sentences}:
        words = tokenise(sentence)
        labels = [EDGE, *("#" if word in names else word for word in words), EDGE]
        for i, word in enumerate(words):
            places[word].add((labels[i], labels[i + 2]))
    return places


def _alike(places: dict[str, Places], one: set[str], other: set[str]) -> bool:
    """Whether two groups stand in the same places."""
    mine, theirs = (set().union(*(places[word] for word in group)) for group in (one, other))
    return len(mine & theirs) > ALIKE * len(mine | theirs)


def _name(members: Sequence[str]) -> str:
    for name, words in KNOWN_KINDS.items():
        if not set(words.split()).isdisjoint(members):
            return name
    return f"word like {members[0]}"
