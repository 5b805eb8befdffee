"""Facts hidden in books, as the BABILong benchmark hides them: a story's sentences stand among those of
a book, in their order, at places drawn evenly; the question comes last. A story's questions are asked
one by one, each after its own facts.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

import numpy as np
from numpy.typing import NDArray

from entnet.data.running import stops
from entnet.data.sources import data_root
from entnet.data.story import Ints, Story
from entnet.errors import EntNetError

Part = Literal["train", "valid", "test"]
_SPLITS = {"train": "training", "valid": "validation", "test": "test"}
MANIFEST = "manifest.tsv"


@dataclass(frozen=True)
class Sample:
    """A question, and all the facts before it."""

    facts: tuple[str, ...]
    question: str
    answer: str
    supports: tuple[int, ...] = ()
    """Facts that the answer rests on, counted from 0."""


def samples_of(stories: Iterable[Story]) -> Iterator[Sample]:
    """One sample per question."""
    for story in stories:
        for question in story.questions:
            yield Sample(
                story.sentences[: question.after], question.text, question.answer, question.supports
            )


def book_files(folder: Path | str | None, part: Part) -> list[Path]:
    """The plain-text books of a folder, or of the data directory.

    A table ``manifest.tsv`` beside them, with columns ``split`` (training, validation or test) and
    ``file``, says which are for training and which for testing. Without it, a folder's books serve all
    parts.
    """
    place = Path(folder) if folder is not None else data_root() / "gutenberg"
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise EntNetError(f"{place}: no folder of books; --books names one with plain-text files")
    manifest = place / MANIFEST
    if manifest.is_file():
        with manifest.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        if not rows or not {"split", "file"} <= rows[0].keys():
            raise EntNetError(f"{manifest}: needs the columns split and file")
        found = [place / row["file"] for row in rows if row["split"] == _SPLITS[part]]
    else:
        found = sorted(place.glob("*.txt"))
    missing = [path.name for path in found if not path.is_file()]
    if missing:
        raise EntNetError(f"{manifest}: not in the folder: {', '.join(missing[:3])}")
    if not found:
        raise EntNetError(f"{place}: no books for the {_SPLITS[part]} part")
    return found


def book_text(files: Sequence[Path]) -> bytes:
    """Books one after the other, an empty line between them."""
    return b"\n\n".join(path.read_bytes() for path in files)


@dataclass(frozen=True)
class Stretch:
    """Sentences of a book, and between which of them each fact stands."""

    first: int
    count: int
    """Sentences ``first`` … ``first + count − 1``; after the last of the books comes the first again."""
    places: Ints
    """For each fact, how many of these sentences stand before it; in order."""


class Background:
    """Books as a ring of sentences, from which stretches of any length are drawn."""

    def __init__(self, words: Ints) -> None:
        """``words``: how many each sentence has."""
        if not len(words) or int(words.sum()) == 0:
            raise EntNetError("the books hold no sentence")
        self.size = len(words)
        self.before = np.concatenate(([0], np.cumsum(words)))
        """Words before each sentence."""

    def draw(self, words: int, facts: int, rng: np.random.Generator) -> Stretch:
        """A stretch of as many words, cut at the sentence's end, and places for the facts, as the benchmark
        draws them: each evenly, independent of the others, and then in order."""
        first = int(rng.integers(self.size))
        total = int(self.before[-1])
        rounds, rest = divmod(int(self.before[first]) + words, total)
        end = int(np.searchsorted(self.before, rest)) + rounds * self.size
        count = max(end - first, 0) if words else 0
        return Stretch(first, count, np.sort(rng.integers(count + 1, size=facts)))


def stretches(stretch: Stretch, size: int) -> Iterator[tuple[int | None, int, int]]:
    """What is read, in order: (None, from, to) for sentences of the ring of ``size``, (i, 0, 0) for
    fact i."""
    done = 0
    for fact, place in enumerate([*stretch.places.tolist(), stretch.count]):
        while done < place:
            start = (stretch.first + done) % size
            end = min(start + place - done, size)
            yield None, start, end
            done += end - start
        if fact < len(stretch.places):
            yield fact, 0, 0


@dataclass(frozen=True)
class HiddenStory:
    """A sample among the sentences of books, as text."""

    sample: Sample
    text: bytes
    """The books."""
    places: NDArray[np.int64]
    """(N, 2) where their sentences start and end."""
    stretch: Stretch

    def sentences(self) -> Iterator[tuple[int | None, str]]:
        """In order: (fact's number, its text), or (None, a sentence of the books in one line)."""
        for fact, start, end in stretches(self.stretch, len(self.places)):
            if fact is not None:
                yield fact, self.sample.facts[fact]
                continue
            for a, b in self.places[start:end].tolist():
                yield None, " ".join(self.text[a:b].decode("utf-8", "replace").split())


def write_as_babi(story: HiddenStory, out: TextIO) -> None:
    """Numbered lines, as in the official files; the question comes last."""
    number, lines = 0, {}
    for fact, sentence in story.sentences():
        number += 1
        if fact is not None:
            lines[fact] = number
        out.write(f"{number} {sentence}\n")
    sample = story.sample
    supports = " ".join(str(lines[fact]) for fact in sample.supports if fact in lines)
    out.write(f"{number + 1} {sample.question}\t{sample.answer}\t{supports}\n")


def write_as_json_line(story: HiddenStory, out: TextIO) -> None:
    """One line of the benchmark's own fields, written sentence by sentence."""
    out.write('{"input": "')
    between = ""
    for _, sentence in story.sentences():
        out.write(between + json.dumps(sentence, ensure_ascii=False)[1:-1])
        between = " " if stops(sentence) else r"\n\n"
    rest = {"question": story.sample.question, "target": story.sample.answer}
    out.write('", ' + json.dumps(rest, ensure_ascii=False)[1:] + "\n")


def write_as_text(story: HiddenStory, out: TextIO) -> None:
    """The document alone, one sentence per line; an empty line after those that no mark ends."""
    for _, sentence in story.sentences():
        out.write(sentence + ("\n" if stops(sentence) else "\n\n"))
