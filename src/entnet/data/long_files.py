"""Files of long documents with questions, read bit by bit.

    .txt      bAbI's format: numbered lines, a story from each 1 on; a question has a tab, then its answer
    .jsonl    one document per line, in the benchmark's fields or as stories (``data/jsonl.py``)
    .json     BABILong's own files: one list of documents

The benchmark's fields are ``input`` (the text), ``question`` and ``target`` (the answer). One document
of a JSON file is held at a time, and no more than a line of the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from entnet.data.story import Question
from entnet.errors import DataError

BLOCK = 1 << 16
_FIELDS = '{"input": "…", "question": "…", "target": "…"}'


class Begin(NamedTuple):
    """A story begins."""


class Heard(NamedTuple):
    """Some of its text; what follows begins a new sentence."""

    text: str


Event = Begin | Heard | Question
"""A question's ``after`` and ``supports`` are not told: it is asked of what was heard before it."""


def read_long(path: Path | str) -> Iterator[Event]:
    """What a file tells and asks, in order."""
    path = Path(path)
    read = {".json": _read_json, ".jsonl": _read_json_lines}.get(path.suffix, _read_babi)
    try:
        with path.open(encoding="utf-8") as file:
            yield from read(path, file)
    except OSError as error:
        raise DataError(path, None, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(path, None, f"not UTF-8 text: {error}") from error


def _read_babi(path: Path, file: TextIO) -> Iterator[Event]:
    begun = False
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        label, _, rest = line.strip(" \r\n").partition(" ")
        if not (label.isascii() and label.isdigit()):
            raise DataError(
                path, number, f"a line starts with its number and a blank, not {label[:20]!r}"
            )
        if int(label) == 1 or not begun:
            begun = True
            yield Begin()
        text, tab, fields = rest.partition("\t")
        if not tab:
            yield Heard(text)
            continue
        answer = fields.split("\t")[0].strip()
        if not text.strip() or not answer:
            raise DataError(path, number, "a question is text, a tab, and its answer")
        yield Question(0, text.strip(), answer)
    if not begun:
        raise DataError(path, None, "holds no story")


def _read_json_lines(path: Path, file: TextIO) -> Iterator[Event]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(path, number, f"not JSON: {error}") from error
        yield from _document(path, number, document)


def _read_json(path: Path, file: TextIO) -> Iterator[Event]:
    """A list of documents, of which one at a time is held."""
    decoder, held, number = json.JSONDecoder(), file.read(BLOCK).lstrip(), 0
    if not held.startswith("["):
        raise DataError(path, None, f"not a list of documents such as {_FIELDS}")
    held = held[1:]
    while True:
        held = held.lstrip(" \t\r\n,")
        if held.startswith("]"):
            return
        try:
            document, end = decoder.raw_decode(held)
        except json.JSONDecodeError as error:
            more = file.read(max(BLOCK, len(held)))
            if not more:
                raise DataError(path, None, f"document {number + 1}: not JSON: {error}") from error
            held += more
            continue
        number += 1
        held = held[end:]
        yield from _document(path, number, document)


def _document(path: Path, number: int, value: Any) -> Iterator[Event]:
    if isinstance(value, dict) and {"input", "question", "target"} <= value.keys():
        yield Begin()
        yield Heard(str(value["input"]))
        yield Question(0, str(value["question"]).strip(), str(value["target"]).strip())
        return
    if isinstance(value, dict) and isinstance(value.get("story"), list):
        yield Begin()
        sentences, asked = value["story"], list(value.get("questions", []))
        asked.sort(key=lambda one: one.get("after", len(sentences)))
        for place in range(len(sentences) + 1):
            while asked and asked[0].get("after", len(sentences)) == place:
                one = asked.pop(0)
                yield Question(0, str(one.get("question", "")), str(one.get("answer", "")))
            if place < len(sentences):
                yield Heard(str(sentences[place]))
        return
    raise DataError(
        path, number, f"not a document; one is {_FIELDS}, or a story with its questions"
    )
