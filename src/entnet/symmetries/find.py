"""Find the symmetries of stories: propose from counts, verify by known answers, join what goes together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations, pairwise
from typing import Any, Self

from entnet.data.story import Story
from entnet.errors import EntNetError
from entnet.symmetries.group import Swap, complete_groups, orbits, side_by_side
from entnet.symmetries.phrases import Phrases, find_phrases
from entnet.symmetries.propose import NOTHING, Counts, Difference
from entnet.symmetries.telling import NO_PHRASES, Telling, enough_of
from entnet.symmetries.verify import (
    Cases,
    Check,
    KnownAnswers,
    Score,
    changed_answers,
    loss_difference,
)
from entnet.text import tokenise

LIMIT = 4.7
"""Differences at least this many standard deviations large refuse a permutation."""
LOSS_LIMIT = 4.0
"""The same for the losses of a scoring function: one test instead of thousands."""
FEWEST_STORIES = 30
"""Words in fewer stories cannot be told apart: a difference in all of them would hardly reach the limit."""
MOST_CHANGED = 1
"""Answers that a permutation may change by themselves."""
MOST_SWAPS = 5
"""Pairs of words that a joint swap may have."""
MOST_ROWS = 60_000_000
"""Rows of counts that the search for joint swaps may compare: a few seconds."""
CHECK_ROWS = 200
"""What a comparison with known answers costs per story, in rows of counts."""


class TooLittleError(EntNetError):
    """Stories that cannot say which words are interchangeable."""


@dataclass(frozen=True)
class Evidence:
    """Why a group was accepted."""

    largest_difference: float
    """In standard deviations, over all counts and all pairs of the group; refused from LIMIT on."""
    fewest_stories: int
    """In how many stories the rarest of the words is."""
    agreeing: float
    """Permuted questions whose answer is known from other stories, and is the permuted one."""
    contrary: float
    """Permuted questions whose answer is known from other stories, and is another."""
    loss_difference: float | None = None
    """In standard deviations, if a scoring function was given."""

    def to_json(self) -> dict[str, Any]:
        return {
            "largest_difference": round(self.largest_difference, 2),
            "fewest_stories": self.fewest_stories,
            "agreeing": round(self.agreeing, 1),
            "contrary": round(self.contrary, 1),
            "loss_difference": self.loss_difference,
        }


@dataclass(frozen=True)
class Symmetries:
    """Words that are interchangeable: alone, in groups, or only together, in joint members; and phrases."""

    groups: tuple[tuple[str, ...], ...]
    joint: tuple[tuple[tuple[str, ...], ...], ...]
    """Each a list of members that may change places, and their words with them."""
    group_evidence: tuple[Evidence, ...] = ()
    joint_evidence: tuple[Evidence, ...] = ()
    phrases: Phrases = NO_PHRASES
    """What counts as a word in the following groups: "box of chocolates" is no box."""
    phrase_groups: tuple[tuple[str, ...], ...] = ()
    """Phrases and words that are interchangeable where phrases stay whole."""
    phrase_evidence: tuple[Evidence, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.groups or self.joint or self.phrase_groups)

    @property
    def phrase_swaps(self) -> list[Swap]:
        """Swaps of phrases, and of words where phrases stay whole."""
        return [Swap((a,), (b,)) for group in self.phrase_groups for a, b in combinations(group, 2)]

    @property
    def swaps(self) -> list[Swap]:
        """Swaps that make all the permutations of words."""
        single = [Swap((a,), (b,)) for group in self.groups for a, b in combinations(group, 2)]
        return single + [Swap(a, b) for members in self.joint for a, b in combinations(members, 2)]

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """What ``to_json`` gave."""
        evidence = values.get("evidence", {})
        return cls(
            tuple(tuple(group) for group in values["groups"]),
            tuple(tuple(tuple(member) for member in members) for members in values["joint"]),
            tuple(Evidence(**one) for one in evidence.get("groups", ())),
            tuple(Evidence(**one) for one in evidence.get("joint", ())),
            Phrases(frozenset(values.get("phrases", ()))),
            tuple(tuple(group) for group in values.get("phrase_groups", ())),
            tuple(Evidence(**one) for one in evidence.get("phrase_groups", ())),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "groups": [list(group) for group in self.groups],
            "joint": [[list(member) for member in members] for members in self.joint],
            "phrases": sorted(self.phrases.whole),
            "phrase_groups": [list(group) for group in self.phrase_groups],
            "evidence": {
                "groups": [evidence.to_json() for evidence in self.group_evidence],
                "joint": [evidence.to_json() for evidence in self.joint_evidence],
                "phrase_groups": [evidence.to_json() for evidence in self.phrase_evidence],
            },
        }


def find_symmetries(
    stories: Sequence[Story], score: Score | None = None, held_out: Sequence[Story] = ()
) -> Symmetries:
    """Which words of the stories are interchangeable, alone or only together.

    ``score`` gives the loss of each question of some stories. If it is given, what was found must also
    leave the losses on the ``held_out`` stories as they are.
    """
    _require_enough(stories)
    stories = enough_of(stories)
    search = _Search(stories, score, held_out)
    search.single()
    search.join()
    return _with_phrases(search.result(), stories, score, held_out)


def _with_phrases(
    found: Symmetries, stories: Sequence[Story], score: Score | None, held_out: Sequence[Story]
) -> Symmetries:
    """What was found of words, and what shows only where phrases count as words."""
    words_of = cache(tokenise)  # texts come again and again
    texts = (
        words_of(text)
        for story in stories
        for text in (*story.sentences, *(question.text for question in story.questions))
    )
    phrases = find_phrases(texts, found.groups)
    if not phrases.whole:
        return found
    search = _Search(stories, score, held_out, phrases)
    search.single()
    groups = [group for group in search.groups if _is_new(group, phrases, found.groups)]
    evidence = [search.evidence_of(group) for group in groups]
    used = {member for group in groups for member in group}
    kept = {phrase for phrase in phrases.whole if used & {phrase, *phrase.split()}}
    return replace(
        found,
        phrases=Phrases(frozenset(kept)),
        phrase_groups=tuple(groups),
        phrase_evidence=tuple(evidence),
    )


def _is_new(group: tuple[str, ...], phrases: Phrases, known: Sequence[tuple[str, ...]]) -> bool:
    """Whether a group says more than the groups of words: not of *the kitchen* and *the garden*."""
    split = [member.split() for member in group]
    parts = {word for phrase in phrases.whole for word in phrase.split()}
    if all(len(words) == 1 and words[0] not in parts for words in split):
        return False
    if len({len(words) for words in split}) > 1:
        return True
    columns = [set(column) for column in zip(*split, strict=True)]
    moved = [column for column in columns if len(column) > 1]
    return len(moved) != 1 or not any(moved[0] <= set(group) for group in known)


def confirmed(found: Symmetries, held_out: Sequence[Story], score: Score) -> Symmetries:
    """What of found symmetries leaves losses as they are, on stories that the scored network never saw."""

    def difference(swap: Swap, phrases: Phrases = NO_PHRASES) -> float:
        return loss_difference(held_out, swap.mapping, score, phrases)

    def true_parts(
        groups: Sequence[tuple[str, ...]], evidences: Sequence[Evidence], phrases: Phrases
    ) -> tuple[tuple[tuple[str, ...], ...], tuple[Evidence, ...]]:
        """Of each group what holds, with its evidence."""
        parts, why = [], []
        for group, evidence in zip(groups, evidences, strict=True):
            pairs = {
                frozenset(pair): difference(Swap(pair[:1], pair[1:]), phrases)
                for pair in combinations(group, 2)
            }
            kept = {pair: abs(z) for pair, z in pairs.items() if abs(z) < LOSS_LIMIT}
            for part in complete_groups(kept) if kept else []:
                worst = max((pairs[frozenset(pair)] for pair in combinations(part, 2)), key=abs)
                parts.append(part)
                why.append(replace(evidence, loss_difference=round(worst, 2)))
        return tuple(parts), tuple(why)

    groups, group_evidence = true_parts(found.groups, found.group_evidence, NO_PHRASES)
    phrase_groups, phrase_evidence = true_parts(
        found.phrase_groups, found.phrase_evidence, found.phrases
    )
    joint, joint_evidence = [], []
    for members, evidence in zip(found.joint, found.joint_evidence, strict=True):
        worst = max((difference(Swap(a, b)) for a, b in combinations(members, 2)), key=abs)
        if abs(worst) < LOSS_LIMIT:
            joint.append(members)
            joint_evidence.append(replace(evidence, loss_difference=round(worst, 2)))
    return Symmetries(
        groups,
        tuple(joint),
        group_evidence,
        tuple(joint_evidence),
        found.phrases,
        phrase_groups,
        phrase_evidence,
    )


def _require_enough(stories: Sequence[Story]) -> None:
    if not any(story.questions for story in stories):
        raise TooLittleError("no questions: without answers no word can be called interchangeable")
    if len(stories) < FEWEST_STORIES:
        raise TooLittleError(
            f"{len(stories)} stories are too few to tell which words are interchangeable; "
            f"at least {FEWEST_STORIES} are needed"
        )


@dataclass
class _Search:
    """What is known so far of the words of some stories."""

    stories: Sequence[Story]
    score: Score | None
    held_out: Sequence[Story]
    phrases: Phrases = NO_PHRASES
    accepted: dict[frozenset[str], Evidence] = field(default_factory=dict)
    joint: list[tuple[Swap, Evidence]] = field(default_factory=list)
    groups: list[tuple[str, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.telling = Telling.read(self.stories, self.phrases)
        self.words = self.telling.words
        self.counts = Counts(self.telling)
        self.cases = Cases(self.telling, self.counts.common)
        self.frequent = [
            word
            for word in range(len(self.words))
            if self.counts.story_count(word) >= FEWEST_STORIES
        ]
        self.known_answers: dict[tuple[tuple[str, ...], ...], KnownAnswers] = {}
        self.rows_left = MOST_ROWS
        self.worst: dict[frozenset[tuple[int, int]], Difference] = {}
        self.tried: set[frozenset[tuple[int, int]]] = set()
        self.pairs = [
            (a, b)
            for a, b in combinations(self.frequent, 2)
            if self.counts.places(a) & self.counts.places(b)
        ]
        self.distance = {pair: self._distance(*pair) for pair in self.pairs}

    def _distance(self, a: int, b: int) -> float:
        """How much two words differ; of unlike ones at least that, if a part of it tells them apart."""
        if not self._alike(a, b) and (z := self.counts.distance_alone(a, b)) >= LIMIT:
            return z
        return self.counts.distance({a: b, b: a}).z

    # Words that are interchangeable by themselves.

    def single(self) -> None:
        near = {pair: z for pair, z in self.distance.items() if z < LIMIT}
        proposed = (
            complete_groups({self._named(pair): z for pair, z in near.items()}) if near else []
        )
        for pair, z in near.items():
            # Symmetries of other words leave open what stories are told of, and so more are comparable.
            others = [group for group in proposed if not self._named(pair) & set(group)]
            evidence = self._verify({pair[0]: pair[1], pair[1]: pair[0]}, z, others)
            if evidence:
                self.accepted[self._named(pair)] = evidence
        distances = {pair: found.largest_difference for pair, found in self.accepted.items()}
        self.groups = complete_groups(distances) if distances else []

    def _named(self, pair: tuple[int, int]) -> frozenset[str]:
        return frozenset(self.words[word] for word in pair)

    def _verify(
        self, mapping: Mapping[int, int], z: float, groups: Sequence[tuple[str, ...]]
    ) -> Evidence | None:
        """The evidence for a permutation that counts do not refuse, unless answers or losses do."""
        if changed_answers(self.telling, mapping) > MOST_CHANGED:
            return None
        check = self._known(tuple(groups)).check(mapping)
        if not check.passed or (groups and not self._known(()).check(mapping).passed):
            return None
        loss = self._loss(mapping)
        if loss is not None and abs(loss) >= LOSS_LIMIT:
            return None
        return self._evidence(mapping, z, check, loss)

    def _known(self, groups: tuple[tuple[str, ...], ...]) -> KnownAnswers:
        known = self.known_answers
        if groups not in known:
            index = {word: i for i, word in enumerate(self.words)}
            numbered = [frozenset(index[word] for word in group) for group in groups]
            known[groups] = KnownAnswers(self.cases, numbered)
        return known[groups]

    def _loss(self, mapping: Mapping[int, int]) -> float | None:
        if self.score is None:
            return None
        named = {self.words[word]: self.words[image] for word, image in mapping.items()}
        return loss_difference(self.held_out, named, self.score, self.phrases)

    def _evidence(
        self, mapping: Mapping[int, int], z: float, check: Check, loss: float | None
    ) -> Evidence:
        fewest = min(self.counts.story_count(word) for word in mapping)
        return Evidence(z, fewest, check.agreeing, check.contrary, loss)

    # Words that are interchangeable only together.

    def join(self) -> None:
        """Search for joint swaps, those of few words first: larger ones follow from them or add to them."""
        seeds = [pair for pair in self.pairs if self._alike(*pair)]
        seeds.sort(key=lambda pair: self.distance[pair])
        for swaps in range(2, MOST_SWAPS + 1):
            self.tried.clear()
            for a, b in seeds:
                if self.rows_left > 0 and not self._reached(a, b):
                    self._extend({a: b, b: a}, swaps)

    def _reached(self, a: int, b: int) -> bool:
        """Whether what was found carries the one word into the other."""
        single = [dict(pairwise(group)) for group in self.groups]
        together = orbits([*single, *(swap.mapping for swap, _ in self.joint)])
        return any(self._named((a, b)) <= orbit for orbit in together)

    def _alike(self, a: int, b: int) -> bool:
        """Words in the same kinds of places."""
        mine, theirs = self.counts.places(a), self.counts.places(b)
        return 2 * len(mine & theirs) > len(mine | theirs)

    def _extend(self, mapping: dict[int, int], swaps: int) -> bool:
        """Add swaps of the words beside which the permutation shows, until it shows no more."""
        moved = frozenset(mapping.items())
        if moved in self.tried:
            return False
        self.tried.add(moved)
        worst = self._worst(mapping)
        if worst.z < LIMIT and self._accept(mapping, worst.z):
            return True
        if len(mapping) >= 2 * swaps or self.rows_left < 0:
            return False
        if worst.z < LIMIT:
            partners = self._refused_alone(mapping)
        elif worst.beside == NOTHING or worst.beside in mapping:
            return False
        else:
            partners = self._partners(worst.beside, mapping)
        return any(self._extend({**mapping, a: b, b: a}, swaps) for a, b in partners)

    def _worst(self, mapping: Mapping[int, int]) -> Difference:
        moved = frozenset(mapping.items())
        if moved not in self.worst:
            self.rows_left -= sum(self.counts.row_count(word) for word in mapping)
            self.worst[moved] = self.counts.distance(mapping)
        return self.worst[moved]

    def _partners(self, word: int, mapping: Mapping[int, int]) -> list[tuple[int, int]]:
        """Words that might change places with this one, the likeliest first."""
        candidates = [
            pair
            for pair in self.pairs
            if word in pair and mapping.keys().isdisjoint(pair) and self._alike(*pair)
        ]
        return sorted(candidates, key=lambda pair: self.distance[pair])[:4]

    def _refused_alone(self, mapping: Mapping[int, int]) -> list[tuple[int, int]]:
        """Pairs that counts cannot tell apart and that were refused by themselves all the same."""
        return [
            pair
            for pair in self.pairs
            if self.distance[pair] < LIMIT
            and self._named(pair) not in self.accepted
            and mapping.keys().isdisjoint(pair)
        ][:6]

    def _accept(self, mapping: Mapping[int, int], z: float) -> bool:
        if len(mapping) == 2:
            return False  # tested as a pair before, and refused
        self.rows_left -= CHECK_ROWS * len(self.telling.stories)
        moved = {self.words[word] for word in mapping}
        others = [group for group in self.groups if not moved & set(group)]
        evidence = self._verify(mapping, z, others)
        if evidence is None:
            return False
        pairs = [(self.words[a], self.words[b]) for a, b in mapping.items()][::2]
        self.joint.append((side_by_side(pairs), evidence))
        return True

    def result(self) -> Symmetries:
        return Symmetries(
            tuple(self.groups),
            tuple((swap.left, swap.right) for swap, _ in self.joint),
            tuple(self.evidence_of(group) for group in self.groups),
            tuple(evidence for _, evidence in self.joint),
        )

    def evidence_of(self, group: tuple[str, ...]) -> Evidence:
        return _weakest([self.accepted[frozenset(pair)] for pair in combinations(group, 2)])


def _weakest(found: Sequence[Evidence]) -> Evidence:
    """The evidence for a group: of its pairs, what speaks most against it."""
    losses = [one.loss_difference for one in found if one.loss_difference is not None]
    return Evidence(
        max(one.largest_difference for one in found),
        min(one.fewest_stories for one in found),
        min(one.agreeing for one in found),
        max(one.contrary for one in found),
        max(losses, key=abs) if losses else None,
    )
