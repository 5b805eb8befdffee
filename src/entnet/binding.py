"""New words for known ones: a layer between a text and a network.

A network learned its stories with some people, things and places. To it their names are interchangeable, so
a name that it never saw can stand for one that a story does not use. Which kind of word a new one is, its
place in the sentence says, where one kind only has stood in training:

    places = Places.learn(stories, kinds)
    names = Names(places)
    names, words, new, *_ = names.read(["alice", "went", "to", "the", "cellar"], vocab)
    words                    # ["mary", "went", "to", "the", "bathroom"], for the network
    names.told("bathroom")   # "cellar", for people
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple, Self

from entnet.data.story import Question, Story
from entnet.text import answer_token, tokenise

EDGE = "|"
"""What stands before the first word of a sentence and after the last."""
NAME = "#"
"""Any name, where its kind does not matter."""
MOST_NEW = 8
"""New words in a sentence up to which it is looked for those that it does not need."""
NO_KIND = -1
"""Stands among the kinds of a place where ordinary words stood, too."""
MOST_WORDS = 50
"""In a longer sentence nothing new is bound: what one word is tells of its neighbours, and so on."""


class Bound(NamedTuple):
    """A word of the story, and what it stands for."""

    word: str
    kind: str
    """What it is: ``person``."""
    member: str
    """The word that the network reads in its place."""


class Unbound(NamedTuple):
    """A new word that stays unknown, and why."""

    word: str
    reason: str


class Read(NamedTuple):
    """A sentence as the network reads it."""

    names: Names
    words: list[str]
    new: tuple[Bound, ...]
    unbound: tuple[Unbound, ...]
    left_out: tuple[str, ...] = ()
    """New words without which it is a sentence of training; they are not among ``words``."""


@dataclass(frozen=True)
class Kind:
    """Words that are interchangeable."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Places:
    """Where in sentences each kind of word stands, and what is asked: learned from training stories."""

    kinds: tuple[Kind, ...]
    contexts: Mapping[str, tuple[int, ...]]
    """``up the _ |``: the kinds that stood between these words."""
    questions: Mapping[str, tuple[bool, ...]]
    """``where is #0``: of each of its blanks, whether what fills it was always named before."""
    sentences: frozenset[str] = frozenset()
    """``#0 went to the #2``: the sentences that were told."""
    pronouns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Words that say again whom the sentence before was about, and after which names: she after Mary, he
    after John. Empty where any may follow any name."""

    @cached_property
    def kind_of(self) -> Mapping[str, int]:
        return {word: i for i, kind in enumerate(self.kinds) for word in kind.members}

    @cached_property
    def label_of(self) -> Mapping[str, str]:
        """``#0`` for each word of kind 0."""
        return {word: f"#{kind}" for word, kind in self.kind_of.items()}

    @cached_property
    def shapes(self) -> Mapping[tuple[str, ...], list[tuple[str, ...]]]:
        """The sentences that were told, by what they are but for the kinds of names."""
        shapes: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
        for told in self.sentences:
            labels = tuple(told.split(" "))
            shapes[tuple(map(_shape, labels))].append(labels)
        return shapes

    @classmethod
    def learn(cls, stories: Iterable[Story], kinds: Sequence[Kind]) -> Self:
        kind_of = {word: i for i, kind in enumerate(kinds) for word in kind.members}
        questions: dict[str, tuple[bool, ...]] = {}
        seen: set[tuple[str, ...]] = set()
        pronouns = _PronounFinder(kinds)
        for story in stories:
            named: set[str] = set()
            pronouns.begin()
            waiting = sorted(story.questions, key=lambda question: question.after)
            for count, sentence in enumerate(("", *story.sentences)):
                words = tokenise(sentence)
                named.update(words)
                labels = tuple(_labels(words, kind_of))
                pronouns.hear(words, labels)
                if labels:
                    seen.add(labels)
                while waiting and waiting[0].after <= count:
                    asked = tokenise(waiting.pop(0).text)
                    frame = " ".join(_labels(asked, kind_of))
                    before = tuple(word in named for word in asked if word in kind_of)
                    known = questions.get(frame, (True,) * len(before))
                    questions[frame] = tuple(a and b for a, b in zip(known, before, strict=True))
        sentences = frozenset(map(" ".join, seen))
        return cls(tuple(kinds), _kinds_by_context(seen), questions, sentences, pronouns.found())

    def to_json(self) -> dict[str, Any]:
        return {
            "kinds": [{"name": kind.name, "members": list(kind.members)} for kind in self.kinds],
            "places": {context: list(of) for context, of in sorted(self.contexts.items())},
            "questions": {frame: list(named) for frame, named in sorted(self.questions.items())},
            "sentences": sorted(self.sentences),
            "pronouns": {word: list(after) for word, after in sorted(self.pronouns.items())},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """What ``to_json`` gave; what it cannot have given is an error, as files come from anywhere."""
        found = cls(
            tuple(Kind(kind["name"], tuple(kind["members"])) for kind in values["kinds"]),
            {context: tuple(of) for context, of in values["places"].items()},
            {frame: tuple(named) for frame, named in values["questions"].items()},
            frozenset(values.get("sentences", ())),
            {word: tuple(after) for word, after in values.get("pronouns", {}).items()},
        )
        words = [word for kind in found.kinds for word in (kind.name, *kind.members)]
        words += [*found.sentences, *(name for after in found.pronouns.values() for name in after)]
        kinds = {NO_KIND, *range(len(found.kinds))}
        if not (
            all(isinstance(word, str) for word in words)
            and all(kinds.issuperset(of) for of in found.contexts.values())
            and all(
                len(named) >= frame.count("#") and all(isinstance(one, bool) for one in named)
                for frame, named in found.questions.items()
            )
        ):
            raise ValueError("its binding is not one that entnet wrote")
        return found

    def stood(self, labels: Sequence[str], place: int) -> tuple[int, ...]:
        """The kinds that stood where this word does, by the most that is known of the place."""
        for context in _contexts(labels, place):
            if context in self.contexts:
                return self.contexts[context]
        return ()


@dataclass(frozen=True)
class Names:
    """Who and what a story has named so far. A value: reading gives another."""

    places: Places
    members: Mapping[str, str] = field(default_factory=dict)
    """What each name of the story stands for; a name that the network knows mostly stands for itself."""
    about: str = ""
    """The member that the last sentence with names was about, where there are pronouns; none if several."""

    @cached_property
    def named(self) -> Mapping[str, str]:
        """The name of each member that the story uses."""
        return {member: name for name, member in self.members.items()}

    # Reading and asking.

    def read(self, words: Sequence[str], known: Container[str]) -> Read:
        """A sentence in the network's words; ``known`` are all of these. New words are bound."""
        if len(words) > MOST_WORDS or self._nothing_new(words, known):
            return self._read(words)
        left_out = self._besides(words, known)
        in_order = tuple(word for word in words if word in left_out)
        words = [word for word in words if word not in left_out]
        kinds, unclear = self._kinds_of(words, known)
        members, used = dict(self.members), dict(self.named)
        new: list[Bound] = []
        unbound = [Unbound(word, reason) for word, reason in unclear.items()]
        for word, kind in kinds.items():
            if word in members:
                continue
            member = self._free(word, kind, used)
            if member is None:
                unbound.append(Unbound(word, self._full(kind)))
                continue
            members[word], used[member] = member, word
            if member != word:
                new.append(Bound(word, self.places.kinds[kind].name, member))
        names = replace(self, members=members) if len(members) > len(self.members) else self
        return names._read(words)._replace(
            new=tuple(new), unbound=tuple(unbound), left_out=in_order
        )

    def _read(self, words: Sequence[str]) -> Read:
        """A sentence whose names are bound. A pronoun becomes that of the member that a name stands for."""
        read, pronouns = self.in_members(words), self.places.pronouns
        if not pronouns:
            return Read(self, read, (), ())
        if self.about and self.named.get(self.about) != self.about:
            fitting = next((word for word, after in pronouns.items() if self.about in after), "")
            read = [fitting or word if word in pronouns else word for word in read]
        may_be = {member for after in pronouns.values() for member in after}
        named = [word for word in read if word in may_be]
        about = self.about if not named else named[0] if len(named) == 1 else ""
        names = self if about == self.about else replace(self, about=about)
        return Read(names, read, (), ())

    def _besides(self, words: Sequence[str], known: Container[str]) -> frozenset[str]:
        """New words without which this is a sentence of training: "quickly" in "Mary quickly went home".

        All, or else as few as possible; none where there are several ways: "Alice quickly went home"."""
        new = [
            word for word in dict.fromkeys(words) if word not in known and word not in self.members
        ]
        if not new or self._is_told(words, new, ()):
            return frozenset()
        if self._is_told(words, new, new):
            return frozenset(new)
        if len(new) > MOST_NEW:
            return frozenset()
        for count in range(1, len(new)):
            ways = [out for out in combinations(new, count) if self._is_told(words, new, out)]
            if ways:
                return frozenset(ways[0]) if len(ways) == 1 else frozenset()
        return frozenset()

    def is_told(self, words: Sequence[str], known: Container[str], besides: bool = True) -> bool:
        """Whether this was a sentence of training, but for names and new words that it does not need."""
        new = [
            word for word in dict.fromkeys(words) if word not in known and word not in self.members
        ]
        return self._is_told(words, new, ()) or (besides and bool(self._besides(words, known)))

    def _is_told(self, words: Sequence[str], new: Sequence[str], out: Sequence[str]) -> bool:
        """Whether a sentence of training is left without these words, if other new ones are names."""
        rest = [word for word in words if word not in out]
        labels = [*_labels(self.in_members(rest), self.places.kind_of)]
        shape = tuple(
            NAME if word in new else _shape(label) for word, label in zip(rest, labels, strict=True)
        )
        return any(
            all(
                word in new or one == other
                for word, one, other in zip(rest, labels, told, strict=True)
            )
            for told in self.places.shapes.get(shape, ())
        )

    def asked(self, words: Sequence[str], known: Container[str]) -> list[str]:
        """A question in the network's words. A new name in it stands, for this question only, for a member
        that neither the story nor the question uses."""
        read = self.in_members(words)
        if all(word in known for word in read):
            return read
        kinds = self._kinds_asked(read, known)
        used = {**self.named, **{word: word for word in read}}
        for i, kind in kinds.items():
            member = self._free(words[i], kind, used)
            if member is not None:
                read = [member if other == words[i] else other for other in read]
                used[member] = words[i]
        return read

    def _kinds_asked(self, read: Sequence[str], known: Container[str]) -> dict[int, int]:
        """Of the words of a question that are not known, where they stand, and the kind of which all were
        that stood there in training."""
        labels = [self.places.label_of.get(word, word) for word in read]
        found: dict[int, set[int]] = defaultdict(set)
        for frame in self.places.questions:
            there = frame.split(" ")
            if len(there) == len(read) and all(
                one == other or word not in known
                for one, other, word in zip(there, labels, read, strict=True)
            ):
                for i, word in enumerate(read):
                    if word not in known:
                        found[i].add(_kind_number(there[i]))
        return {i: min(of) for i, of in found.items() if len(of) == 1 and NO_KIND not in of}

    def in_members(self, words: Sequence[str]) -> list[str]:
        """Words as the network reads them. A word whose place another has taken becomes no word at all."""
        members, named = self.members, self.named
        return [members.get(word, "" if word in named else word) for word in words]

    def told(self, answer: str) -> str:
        """An answer of the network in the words of the story; of a list, each part."""
        if not self._renamed:
            return answer
        return ",".join(self.named.get(part, part) for part in answer.split(","))

    def why_unknown(self, words: Sequence[str], known: Container[str]) -> str | None:
        """Why a question cannot be answered from this story, if it shows in its words alone."""
        read, label_of = self.asked(words, known), self.places.label_of
        labels = [label_of.get(member, member) for member in read]
        for word, member in zip(words, read, strict=True):
            if member not in known:
                return f"{word!r} is not in the story"
        asked = [word for word, member in zip(words, read, strict=True) if member in label_of]
        named = self.places.questions.get(" ".join(labels))
        if named is None:
            return "no such question was asked in training"
        for word, must in zip(asked, named, strict=False):
            if must and word not in self.members:
                return f"{word!r} is not in the story"
        return None

    @cached_property
    def _renamed(self) -> bool:
        """Whether any name of the story stands for another word."""
        return any(name != member for name, member in self.members.items())

    def _nothing_new(self, words: Sequence[str], known: Container[str]) -> bool:
        """Whether the story has named every name of the sentence, and the network knows its other words.

        So it is with nearly every sentence, and then there is nothing to look for.
        """
        members, kind_of = self.members, self.places.kind_of
        return all(word in members or (word in known and word not in kind_of) for word in words)

    # What a new word may stand for.

    def _kinds_of(
        self, words: Sequence[str], known: Container[str]
    ) -> tuple[dict[str, int], dict[str, str]]:
        """The kind of every name in a sentence, in order; and of unclear words, what makes them so.

        What one word turns out to be may tell what its neighbour is, so all are looked at until nothing new
        is found. That adds and never takes away: the order in which words are looked at does not matter.
        """
        kind_of = self.places.kind_of
        found = {
            word: kind_of[self.members.get(word, word)]
            for word in words
            if self.members.get(word, word) in kind_of
        }
        new = [word for word in dict.fromkeys(words) if word not in found and word not in known]
        while True:
            labels = [f"#{found[w]}" if w in found else "" if w in new else w for w in words]
            stood = {w: self._stood(words, labels, w) for w in new if w not in found}
            clear = {w: of[0] for w, of in stood.items() if len(of) == 1 and of[0] != NO_KIND}
            if not clear:
                break
            found |= clear
        unclear = {
            word: "it may be " + " or ".join(f"a {self.places.kinds[k].name}" for k in of)
            for word, of in stood.items()
            if len(of) > 1 and NO_KIND not in of
        }
        return {word: found[word] for word in dict.fromkeys(words) if word in found}, unclear

    def _stood(self, words: Sequence[str], labels: Sequence[str], word: str) -> tuple[int, ...]:
        """What may stand in all places of the sentence in which the word does."""
        of = [set(self.places.stood(labels, i)) for i, other in enumerate(words) if other == word]
        return tuple(sorted(set.intersection(*of)))

    def _free(self, word: str, kind: int, used: Mapping[str, str]) -> str | None:
        """The word itself, if it is of the kind and stands for nothing else; else the first free one."""
        members = self.places.kinds[kind].members
        if word in members and word not in used:
            return word
        return next((member for member in members if member not in used), None)

    def _full(self, kind: int) -> str:
        of = self.places.kinds[kind]
        count = len(of.members)
        return (
            f"the story has as many of its kind ({of.name}) as the network can tell apart: {count}"
        )


class _PronounFinder:
    """Finds words that stand for a name of the sentence before, each for some names only."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = kinds
        self.after: dict[tuple[int, str], set[str]] = defaultdict(set)
        """After which members of a kind a word stood, in sentences without any of them."""
        self.frames: dict[tuple[int, str], set[str]] = defaultdict(set)
        """The sentences in which it did, with a blank in its place."""
        self.before: dict[int, str] = {}

    def begin(self) -> None:
        """A story begins."""
        self.before = {}

    def hear(self, words: Sequence[str], labels: Sequence[str]) -> None:
        before = {}
        for kind in range(len(self.kinds)):
            own = [word for word, label in zip(words, labels, strict=True) if label == f"#{kind}"]
            if len(own) == 1:
                before[kind] = own[0]
            if own or kind not in self.before:
                continue
            for i, label in enumerate(labels):
                if not label.startswith("#"):
                    self.after[kind, label].add(self.before[kind])
                    self.frames[kind, label].add(" ".join([*labels[:i], "_", *labels[i + 1 :]]))
        self.before = before

    def found(self) -> dict[str, tuple[str, ...]]:
        """Pairs of words that stand in the same sentences, one after some members, one after all others."""
        pronouns = {}
        for (kind, word), after in self.after.items():
            for (other_kind, other), after_other in self.after.items():
                if (
                    other_kind == kind
                    and after.isdisjoint(after_other)
                    and after | after_other == set(self.kinds[kind].members)
                    and self.frames[kind, word] & self.frames[kind, other]
                ):
                    pronouns[word] = tuple(sorted(after))
        return pronouns


def bind_story(places: Places, story: Story, known: Container[str]) -> Story:
    """The story as a network reads it: names bound, and answers with them.

    Questions see the names of the sentences before them. An answer that names what was not told is left.
    """
    names = Names(places)
    sentences: list[str] = []
    after = [names]
    for sentence in story.sentences:
        names, words, *_ = names.read(tokenise(sentence), known)
        sentences.append(" ".join(words))
        after.append(names)
    questions = []
    for asked in story.questions:
        now = after[asked.after]
        text = " ".join(now.asked(tokenise(asked.text), known))
        parts = answer_token(asked.answer).split(",")
        answer = ",".join(now.members.get(part, part) for part in parts)
        questions.append(Question(asked.after, text, answer, asked.supports))
    return Story(tuple(sentences), tuple(questions))


def _labels(words: Sequence[str], kind_of: Mapping[str, int]) -> Iterator[str]:
    """Words, with ``#0`` for one of kind 0."""
    return (f"#{kind_of[word]}" if word in kind_of else word for word in words)


def _kinds_by_context(sentences: Collection[tuple[str, ...]]) -> dict[str, tuple[int, ...]]:
    """Which kinds stood in each context.

    An ordinary word in a place where the same sentence may have a name does not count: she in "she went
    to the garden" stands for a name, and no word that is new can be she.
    """
    contexts: dict[str, set[int]] = defaultdict(set)
    with_gaps: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for labels in sentences:
        for i, label in enumerate(labels):
            with_gaps[(*labels[:i], "", *labels[i + 1 :])].add(_kind_number(label))
    for labels in sentences:
        for i, label in enumerate(labels):
            kind = _kind_number(label)
            if kind == NO_KIND and with_gaps[(*labels[:i], "", *labels[i + 1 :])] != {NO_KIND}:
                continue
            for context in _contexts(labels, i):
                contexts[context].add(kind)
    return {context: tuple(sorted(of)) for context, of in contexts.items()}


def _shape(label: str) -> str:
    return label if _kind_number(label) == NO_KIND else NAME


def _kind_number(label: str) -> int:
    return int(label[1:]) if label.startswith("#") and label[1:].isdigit() else NO_KIND


def _contexts(labels: Sequence[str], place: int) -> Iterator[str]:
    """What a place is known by: two words before it and one after, then two before, then one and one.

    A word that is still new tells nothing of its neighbours.
    """
    padded = [EDGE, EDGE, *labels, EDGE]
    two, before, after = padded[place], padded[place + 1], padded[place + 3]
    if not before:
        return
    if two and after:
        yield f"{two} {before} _ {after}"
    if two and EDGE not in (two, before):
        yield f"{two} {before} _"
    if after:
        yield f"{before} _ {after}"
