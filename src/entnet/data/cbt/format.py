"""The Children's Book Test in its official file format: read and written.

A question is 21 numbered lines and a blank one. Lines 1 to 20 are sentences of a book, cut into tokens
with blanks between them. Line 21 is the query: the next sentence with one word replaced by XXXXX, a tab,
the missing word, two tabs, and ten candidates with ``|`` between them.

    20 Nora sat by her mother and was happy .
    21 But XXXXX the evening wore away she grew very quiet .⇥as⇥⇥across|after|among|as|by|from|in|…
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from entnet.errors import DataError

BLANK = "XXXXX"
"""Stands for the missing word in a query."""
CONTEXT = 20
"""Sentences before the query."""
CANDIDATES = 10

Kind = Literal["NE", "CN", "V", "P"]
KINDS: tuple[Kind, ...] = ("NE", "CN", "V", "P")
KIND_NAMES: dict[Kind, str] = {
    "NE": "named entities",
    "CN": "common nouns",
    "V": "verbs",
    "P": "prepositions",
}
Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
_SIZES: dict[Split, str] = {"train": "", "valid": "_2000ex", "test": "_2500ex"}


@dataclass(frozen=True, slots=True)
class CbtQuestion:
    """Sentences of a book, the sentence after them with a word missing, and the word among candidates."""

    sentences: tuple[str, ...]
    query: str
    answer: str
    candidates: tuple[str, ...]

    @property
    def answer_index(self) -> int:
        return self.candidates.index(self.answer)


def cbt_file_name(kind: Kind, split: Split) -> str:
    """The official name of a file of questions, e.g. cbtest_NE_valid_2000ex.txt."""
    return f"cbtest_{kind}_{split}{_SIZES[split]}.txt"


def iterate_cbt(path: Path | str, limit: int | None = None) -> Iterator[CbtQuestion]:
    """Questions of a file, one at a time: the training files are too large to hold as text."""
    path = Path(path)
    try:
        file = path.open("rb")
    except FileNotFoundError as error:
        raise DataError(path, None, "no such file") from error
    except IsADirectoryError as error:
        raise DataError(path, None, "is a directory, not a file of questions") from error
    except OSError as error:
        raise DataError(path, None, f"cannot be read: {error.strerror}") from error
    with file:
        found = 0
        for question in _Reader(path).questions(file):
            yield question
            found += 1
            if limit is not None and found >= limit:
                return
    if not found:
        raise DataError(path, None, "no question in the file; a question is 21 numbered lines")


def read_cbt(path: Path | str, limit: int | None = None) -> list[CbtQuestion]:
    """All questions of a file, or the first ``limit``."""
    return list(iterate_cbt(path, limit))


class _Reader:
    """Takes lines one by one and puts questions together."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sentences: list[str] = []
        self.seen: dict[str, str] = {}  # neighbouring questions share sentences: keep each once

    def questions(self, file: Iterable[bytes]) -> Iterator[CbtQuestion]:
        number = 0
        for number, raw in enumerate(file, start=1):
            line = self._decode(number, raw)
            if not line.strip(" "):
                continue
            label, _, rest = line.partition(" ")
            self._check_number(number, label)
            if "\t" in rest:
                yield self._question(number, rest)
                self.sentences = []
            elif not rest.strip():
                raise DataError(self.path, number, "a sentence without words")
            else:
                self.sentences.append(self.seen.setdefault(rest, rest))
            if len(self.seen) > 100_000:
                self.seen.clear()
        if self.sentences:
            raise DataError(
                self.path,
                number,
                f"the file ends after sentence {len(self.sentences)} of a question, before its query",
            )

    def _decode(self, number: int, raw: bytes) -> str:
        if b"\0" in raw:
            raise DataError(self.path, number, "a zero byte: this is a binary file, not text")
        try:
            return raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            byte = raw[error.start]
            raise DataError(self.path, number, f"not UTF-8 text (byte 0x{byte:02x})") from error

    def _check_number(self, number: int, label: str) -> None:
        expected = len(self.sentences) + 1
        if not (label.isascii() and label.isdigit()):
            raise DataError(
                self.path,
                number,
                f"a line starts with its number and a blank, this one with {label[:20]!r}",
            )
        if int(label) == expected:
            return
        hint = ""
        if int(label) == 1:
            hint = "; the question before has no query (a line with tabs)"
        raise DataError(self.path, number, f"numbered {label}, but should be {expected}{hint}")

    def _question(self, number: int, rest: str) -> CbtQuestion:
        query, *fields = rest.split("\t")
        query = query.strip()
        if len(fields) != 3:
            raise DataError(
                self.path,
                number,
                f"{len(fields)} tabs, but a query has 3: query, tab, answer, tab, tab, candidates",
            )
        answer, candidates = fields[0].strip(), fields[2].strip()
        if len(self.sentences) != CONTEXT:
            raise DataError(
                self.path,
                number,
                f"a query after {len(self.sentences)} sentences, but {CONTEXT} come before it",
            )
        if BLANK not in query.split(" "):
            raise DataError(self.path, number, f"no {BLANK} in the query for the missing word")
        if not answer:
            raise DataError(self.path, number, "no answer after the first tab")
        choices = self._candidates(candidates, query, answer)
        if answer not in choices:
            raise DataError(
                self.path,
                number,
                f"the answer {answer!r} is not among the candidates {candidates!r}",
            )
        return CbtQuestion(tuple(self.sentences), query, answer, choices)

    def _candidates(self, text: str, query: str, answer: str) -> tuple[str, ...]:
        """Cut at ``|``. Where a candidate itself holds that mark, the story's tokens say where not to."""
        parts = text.split("|")
        if len(parts) > CANDIDATES or "" in parts:
            tokens = {token for line in (*self.sentences, query) for token in line.split(" ")}
            parts = _join(parts, tokens | {answer}) or parts
        return tuple(dict.fromkeys(part for part in parts if part))


def _join(parts: list[str], tokens: set[str]) -> list[str] | None:
    """Join neighbouring parts with ``|`` so that all are tokens and there are ten, or None."""
    longest = max((token.count("|") for token in tokens), default=0) + 1
    # ways[n]: how the first n parts can be joined, by number of candidates
    ways: list[dict[int, list[str]]] = [{0: []}, *({} for _ in parts)]
    for end in range(1, len(parts) + 1):
        for start in range(max(0, end - longest), end):
            candidate = "|".join(parts[start:end])
            if candidate in tokens:
                for count, chosen in ways[start].items():
                    ways[end].setdefault(count + 1, [*chosen, candidate])
    return ways[-1].get(CANDIDATES)


def format_question(question: CbtQuestion) -> str:
    """A question in the official format, its blank line included."""
    lines = [f"{n} {sentence}" for n, sentence in enumerate(question.sentences, start=1)]
    number = len(question.sentences) + 1
    candidates = "|".join(question.candidates)
    lines.append(f"{number} {question.query}\t{question.answer}\t\t{candidates}")
    return "\n".join(lines) + "\n\n"


def write_questions(file: IO[str], questions: Iterable[CbtQuestion]) -> int:
    """Write questions to an open file; how many there were."""
    count = 0
    for question in questions:
        file.write(format_question(question))
        count += 1
    return count


def write_cbt(path: Path | str, questions: Iterable[CbtQuestion]) -> int:
    """Write a file of questions, beside its name first: the file is whole or absent."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            count = write_questions(file, questions)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return count
