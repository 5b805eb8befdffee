"""Paragraphs in numbers: words, mentions, candidate places, and what is to be learnt where it is known.

Three counts run through it: N sentences, R participants, and Q rows, one for every participant after every
sentence of its paragraph. Rows stand participant by participant, in the order of reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from entnet.data.propara.match import stem
from entnet.data.propara.process import NOWHERE, UNKNOWN, Action, Process, action, names
from entnet.data.propara.spans import (
    LONGEST_SPAN,
    Candidate,
    Key,
    Span,
    candidate_places,
    key_of,
    lemma,
    mentions,
    paragraph_words,
    split_words,
)
from entnet.data.propara.words import word_lists
from entnet.text import NULL_WORD, Vocab

Ints = NDArray[np.int64]

NEW_WORD = "<new>"
"""Word 1: stands in for words that training has less than twice."""

ENDINGS = ("", "s", "es", "ed", "d", "ing", "er", "ly", "tion", "'s")
"""What a word has beyond its stem; the number after the last is for all others."""

PREPOSITIONS: list[str] = word_lists()["prepositions"].split()
"""What may stand before a place; numbered from 1, with 0 for all else."""

TAGS: tuple[str, ...] = ("not yet", "no more", "there", "CREATE", "MOVE", "DESTROY")
"""What happens to a participant in a sentence; the first three are NONE, by whether it exists."""

REACH = 6
"""Distances between words are told apart up to this."""
DISTANCES = 2 * REACH + 2
"""Numbers for distances: 0 for none, then -REACH to REACH."""
RELATIONS = 4
"""A candidate is: no participant, this one, a part of its name, another participant."""
RECENCIES = 8
"""A candidate is named: in this sentence, 1, 2 or more sentences ago, 1, 2 or more ahead; 0 for a blank."""
FAMILIARITIES = 20
"""How often training has a candidate as a place, and which share of the paragraphs that name it."""


class Places:
    """In how many paragraphs of training a phrase is a place, and in how many it occurs at all."""

    def __init__(self, gold: Counter[Key], seen: Counter[Key]) -> None:
        self.gold, self.seen = gold, seen

    @classmethod
    def count(cls, processes: Iterable[Process]) -> Places:
        gold: Counter[Key] = Counter()
        seen: Counter[Key] = Counter()
        for process in processes:
            gold.update(_gold_keys(process))
            seen.update(one.key for one in candidate_places(paragraph_words(process)))
        return cls(gold, seen)

    def table(self, vocab: Vocab) -> Ints:
        """(places, 2 + longest) the two counts of each phrase and its words, the null word filling up.

        Phrases with new words and those seen once and never a place are left out: they tell nothing.
        """
        rows = [
            [self.gold[key], self.seen[key], *vocab.encode(key)]
            for key in sorted(self.gold.keys() | self.seen.keys())
            if (self.gold[key] or self.seen[key] > 1) and len(key) <= LONGEST_SPAN
        ]
        known = [row for row in rows if all(row[2:])]
        return _filled([[0] * (2 + LONGEST_SPAN), *known])[1:]

    @classmethod
    def from_table(cls, table: Ints, vocab: Vocab) -> Places:
        """Take up what ``table`` gave."""
        gold: Counter[Key] = Counter()
        seen: Counter[Key] = Counter()
        for is_place, occurs, *words in table.tolist():
            key = tuple(vocab.words[word] for word in words if word)
            gold[key], seen[key] = is_place, occurs
        return cls(gold, seen)

    def familiarity(self, key: Key, apart: frozenset[Key] | None) -> int:
        """A number from 1 on. ``apart``: the gold places of this paragraph, if it is one of those counted,
        so that it does not count itself."""
        gold, seen = self.gold[key], self.seen[key]
        if apart is not None:
            gold, seen = gold - (key in apart), seen - 1
        amount = 0 if gold <= 0 else 1 if gold == 1 else 2 if gold <= 3 else 3
        share = gold / seen if seen > 0 else 0.0
        rank = (
            0 if seen <= 2 else 1 if share < 0.1 else 2 if share < 0.3 else 3 if share < 0.6 else 4
        )
        return 1 + 4 * rank + amount if amount or rank else 1


def _gold_keys(process: Process) -> frozenset[Key]:
    states = {state for row in process.states for state in row} - {NOWHERE, UNKNOWN}
    return frozenset(key_of(split_words(name)) for state in states for name in names(state))


def build_vocab(
    processes: Iterable[Process],
    generated: Iterable[Process] = (),
    at_least: int = 2,
    more: Iterable[str] = (),
) -> Vocab:
    """Stems that occur so often; those of generated paragraphs and of ``more`` words in any case."""
    counts = Counter(stem(lemma(word)) for word in all_words(processes))
    kept = {word for word, count in counts.items() if count >= at_least}
    kept |= {stem(lemma(word)) for word in (*all_words(generated), *more)}
    return Vocab([NULL_WORD, NEW_WORD, *sorted(kept - {NULL_WORD, NEW_WORD})])


def all_words(processes: Iterable[Process]) -> Iterator[str]:
    """The words of paragraphs and of their participants' names, in lower case."""
    for process in processes:
        for words in [*paragraph_words(process), *map(split_words, process.participants)]:
            yield from words


@dataclass(frozen=True)
class ProcessBatch:
    """B paragraphs laid end to end."""

    words: Tensor
    """(N, L) stems of every sentence, the null word filling up."""
    endings: Tensor
    """(N, L) what each word has beyond its stem."""
    story_offsets: Tensor
    """(B + 1) where each paragraph's sentences start."""
    participant_words: Tensor
    """(R, K) stems of all names of a participant."""
    participant_story: Tensor
    """(R) the paragraph that a participant belongs to."""
    participant_offsets: Tensor
    """(R + 1) where each participant's rows start."""
    row_participant: Tensor
    """(Q)"""
    row_sentence: Tensor
    """(Q) among the N."""
    distances: Tensor
    """(Q, L) how far each word is from the participant's nearest mention in the sentence, with its sign."""
    mentioned: Tensor
    """(Q, L) whether the word belongs to a mention."""
    candidate_words: Tensor
    """(B, C, W) stems of every candidate; candidate 0 is "nobody says where"."""
    candidates: Tensor
    """(B, C) whether there is such a candidate."""
    familiarity: Tensor
    """(B, C)"""
    span_start: Tensor
    """(N, C) a candidate's first word in a sentence; -1 where it is not named."""
    span_end: Tensor
    """(N, C) the word after its last."""
    preposition: Tensor
    """(N, C) what stands before it."""
    recency: Tensor
    """(N, C)"""
    relation: Tensor
    """(Q, C) distance from the participant's nearest mention, and which participant the candidate is."""
    answers: Tensor
    """(Q) what happens: a number of TAGS."""
    places: Tensor
    """(Q) the candidate where the participant is after the sentence; -1 if nowhere or none of them."""
    first_places: Tensor
    """(R) the same before the first sentence."""

    @property
    def sentences(self) -> int:
        return int(self.words.shape[0])

    @property
    def questions(self) -> int:
        return int(self.answers.shape[0])

    @property
    def participants(self) -> int:
        return int(self.participant_words.shape[0])


class Paragraph(NamedTuple):
    """A paragraph in numbers."""

    arrays: dict[str, Ints]
    candidates: list[str]
    """The text of every candidate; the first is "?"."""


def encode(
    process: Process, vocab: Vocab, places: Places | None = None, apart: bool = False
) -> Paragraph:
    """Turn a paragraph into numbers. ``apart``: it is one of those that ``places`` has counted."""
    sentences = paragraph_words(process)
    candidates = candidate_places(sentences)
    found = [mentions(participant, sentences) for participant in process.participants]
    length, count = max(map(len, sentences)), len(candidates) + 1
    steps, people = len(sentences), len(process.participants)

    def numbers(words: Iterable[str]) -> list[int]:
        return [vocab.index.get(stem(lemma(word)), 1) for word in words]

    nearest, mentioned = _nearest(sentences, found, length)
    spans = _first_spans(candidates, steps)
    gold = _gold_keys(process)
    familiarity = [0] + [
        places.familiarity(one.key, gold if apart else None) if places else 1 for one in candidates
    ]
    arrays = {
        "words": _filled([numbers(words) for words in sentences]),
        "endings": _filled([[_ending(word) for word in words] for words in sentences]),
        "participant_words": _filled(
            [
                numbers(w for name in names(one) for w in split_words(name))
                for one in process.participants
            ]
        ),
        "distances": nearest.reshape(people * steps, length),
        "mentioned": mentioned.reshape(people * steps, length),
        "candidate_words": _filled([[], *(numbers(one.text.split()) for one in candidates)]),
        "familiarity": np.array(familiarity),
        "span_start": spans[0],
        "span_end": spans[1],
        "preposition": _prepositions(sentences, spans[0]),
        "recency": _recency(candidates, steps),
        "relation": _relations(process, candidates, nearest, spans).reshape(people * steps, count),
    }
    return Paragraph(arrays | _gold(process, candidates), ["?", *(one.text for one in candidates)])


def _ending(word: str) -> int:
    beyond = word.removeprefix(stem(word))
    return ENDINGS.index(beyond) if beyond in ENDINGS else len(ENDINGS)


def _filled(rows: Sequence[Sequence[int]]) -> Ints:
    out = np.zeros((len(rows), max(1, *(len(row) for row in rows))), dtype=np.int64)
    for number, row in enumerate(rows):
        out[number, : len(row)] = row
    return out


def _nearest(
    sentences: Sequence[Sequence[str]], found: Sequence[Sequence[Span]], length: int
) -> tuple[Ints, Ints]:
    """(participants, sentences, L) distances of words from mentions, and words that are in one."""
    shape = (len(found), len(sentences), length)
    distance, inside = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    place = np.arange(length)
    for number, spans in enumerate(found):
        for span in spans:
            inside[number, span.sentence, span.start : span.end] = 1
    for number, step in np.argwhere(inside.any(2)):
        at = inside[number, step].nonzero()[0]
        gaps = place[:, None] - at[None, :]
        gap = gaps[place, np.abs(gaps).argmin(1)]
        distance[number, step] = np.clip(gap, -REACH, REACH) + REACH + 1
    return distance, inside


def _first_spans(candidates: Sequence[Candidate], steps: int) -> tuple[Ints, Ints]:
    start = np.full((steps, len(candidates) + 1), -1, dtype=np.int64)
    end = start.copy()
    for number, candidate in enumerate(candidates, start=1):
        for span in reversed(candidate.spans):
            start[span.sentence, number], end[span.sentence, number] = span.start, span.end
    return start, end


def _prepositions(sentences: Sequence[Sequence[str]], start: Ints) -> Ints:
    """The last preposition in the three words before each span."""
    out = np.zeros_like(start)
    for step, number in zip(*(start > 0).nonzero(), strict=True):
        before = sentences[step][max(0, start[step, number] - 3) : start[step, number]]
        known = [PREPOSITIONS.index(word) + 1 for word in before if word in PREPOSITIONS]
        out[step, number] = known[-1] if known else 0
    return out


def _recency(candidates: Sequence[Candidate], steps: int) -> Ints:
    out = np.zeros((steps, len(candidates) + 1), dtype=np.int64)
    for number, candidate in enumerate(candidates, start=1):
        at = np.array([span.sentence for span in candidate.spans])
        for step in range(steps):
            past, ahead = step - at[at <= step], at[at > step] - step
            if len(past):
                out[step, number] = 1 + min(int(past.min()), 3)
            else:
                out[step, number] = 4 + min(int(ahead.min()), 3)
    return out


def _relations(
    process: Process, candidates: Sequence[Candidate], nearest: Ints, spans: tuple[Ints, Ints]
) -> Ints:
    """(participants, sentences, C): a distance and a relation in one number."""
    people, steps = nearest.shape[:2]
    named = [{key_of(split_words(name)) for name in names(one)} for one in process.participants]
    everybody = set().union(*named)
    out = np.zeros((people, steps, len(candidates) + 1), dtype=np.int64)
    start = spans[0]
    for person in range(people):
        own = named[person]
        parts = {word for key in own for word in key}
        kind = np.zeros(len(candidates) + 1, dtype=np.int64)
        for number, candidate in enumerate(candidates, start=1):
            if candidate.key in own:
                kind[number] = 1
            elif candidate.key in everybody:
                kind[number] = 3
            elif parts & set(candidate.key):
                kind[number] = 2
        at = np.take_along_axis(nearest[person], np.maximum(start, 0), axis=1)
        out[person] = RELATIONS * np.where(start >= 0, at, 0) + kind
    return out


def _gold(process: Process, candidates: Sequence[Candidate]) -> dict[str, Ints]:
    """What happens to each participant, and which candidates it is at."""
    index = {one.key: number for number, one in enumerate(candidates, start=1)}

    def place(state: str) -> int:
        if state == UNKNOWN:
            return 0
        if state == NOWHERE:
            return -1
        known = [index.get(key_of(split_words(name)), -1) for name in names(state)]
        return max(known)

    tags = [tag for row in process.states for tag in tags_of(row)]
    return {
        "answers": np.array([TAGS.index(tag) for tag in tags], dtype=np.int64),
        "places": np.array([place(s) for row in process.states for s in row[1:]], dtype=np.int64),
        "first_places": np.array([place(row[0]) for row in process.states], dtype=np.int64),
    }


def tags_of(states: Sequence[str]) -> list[str]:
    """What happens in every sentence."""
    tags, was_there = [], states[0] != NOWHERE
    for before, after in pairwise(states):
        done: Action = action(before, after)
        was_there |= before != NOWHERE
        nothing = "there" if after != NOWHERE else "no more" if was_there else "not yet"
        tags.append(nothing if done == "NONE" else done)
    return tags


def collate(paragraphs: Sequence[Paragraph]) -> ProcessBatch:
    """Lay paragraphs end to end; candidates and words are filled up to the most there are."""
    parts = [one.arrays for one in paragraphs]
    steps = [len(part["words"]) for part in parts]
    people = [len(part["participant_words"]) for part in parts]
    offsets = np.concatenate(([0], np.cumsum(steps)))
    out: dict[str, Ints] = {}
    for name in ("words", "endings", "participant_words", "distances", "mentioned"):
        out[name] = _stacked([part[name] for part in parts])
    for name in ("preposition", "recency", "relation"):
        out[name] = _stacked([part[name] for part in parts])
    for name in ("span_start", "span_end"):
        out[name] = _stacked([part[name] + 1 for part in parts]) - 1
    for name in ("answers", "places", "first_places"):
        out[name] = np.concatenate([part[name] for part in parts])
    most = out["relation"].shape[1]
    width = max(part["candidate_words"].shape[1] for part in parts)
    shape = (len(parts), most)
    out["candidate_words"] = np.zeros((*shape, width), dtype=np.int64)
    out["familiarity"] = np.zeros(shape, dtype=np.int64)
    out["candidates"] = np.zeros(shape, dtype=np.int64)
    for number, part in enumerate(parts):
        count, wide = part["candidate_words"].shape
        out["candidate_words"][number, :count, :wide] = part["candidate_words"]
        out["familiarity"][number, :count] = part["familiarity"]
        out["candidates"][number, :count] = 1
    rows = np.repeat(steps, people)
    out["story_offsets"] = offsets
    out["participant_story"] = np.repeat(np.arange(len(parts)), people)
    out["participant_offsets"] = np.concatenate(([0], np.cumsum(rows)))
    out["row_participant"] = np.repeat(np.arange(len(rows)), rows)
    first = offsets[out["participant_story"]]
    step = np.arange(rows.sum()) - np.repeat(out["participant_offsets"][:-1], rows)
    out["row_sentence"] = np.repeat(first, rows) + step
    tensors = {field.name: torch.from_numpy(out[field.name]) for field in fields(ProcessBatch)}
    tensors["candidates"] = tensors["candidates"].bool()
    tensors["mentioned"] = tensors["mentioned"].bool()
    return ProcessBatch(**tensors)


def _stacked(parts: Sequence[Ints]) -> Ints:
    """One above the other, filled up with 0 on the right."""
    width = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])
