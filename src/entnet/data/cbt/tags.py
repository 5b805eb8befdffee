"""Books as a tagger leaves them: what the questions of the Children's Book Test are made from.

One file a book, plain (``.tsv``) or packed (``.tsv.gz``), UTF-8. A line is a token, a tab, its part of
speech (Penn Treebank), a tab, and its named-entity label, ``O`` where it is none; a blank line ends a
sentence. Beside the books lies ``books.tsv``, with a header and at least two columns: ``split``
(training, validation or test) and ``file``. Any tagger that knows these tags can feed the builder.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from entnet.data.cbt.format import Split
from entnet.errors import DataError

_SPLIT_NAMES: dict[str, Split] = {"training": "train", "validation": "valid", "test": "test"}


class Token(NamedTuple):
    """A token as it stands in the book, its part of speech and its named-entity label."""

    word: str
    tag: str
    label: str


Sentence = list[Token]


@dataclass(frozen=True)
class Book:
    """A tagged book, and the part of the benchmark that it belongs to."""

    path: Path
    split: Split

    @property
    def name(self) -> str:
        return self.path.name.removesuffix(".gz").removesuffix(".tsv")


def list_books(directory: Path | str) -> list[Book]:
    """The books of ``books.tsv``, in its order."""
    directory = Path(directory)
    path = directory / "books.tsv"
    try:
        with path.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
    except FileNotFoundError as error:
        raise DataError(path, None, "no such file; it lists the tagged books") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(path, None, f"not a table of books: {error}") from error
    if not rows or not {"split", "file"} <= rows[0].keys():
        raise DataError(path, 1, "the header must name the columns split and file")
    return [_book(directory, path, line, row) for line, row in enumerate(rows, start=2)]


def _book(directory: Path, path: Path, line: int, row: dict[str, str]) -> Book:
    split, file = row["split"], row["file"]
    if split not in _SPLIT_NAMES:
        raise DataError(path, line, f"split is {split!r}, not training, validation or test")
    if not file or not (directory / file).is_file():
        raise DataError(path, line, f"the book {file!r} is not beside this file")
    return Book(directory / file, _SPLIT_NAMES[split])


def read_tagged(path: Path | str) -> Iterator[Sentence]:
    """The sentences of a tagged book, one after the other."""
    path = Path(path)
    sentence: Sentence = []
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(file, start=1):
                fields = line.rstrip("\r\n").split("\t")
                if fields == [""]:
                    if sentence:
                        yield sentence
                        sentence = []
                    continue
                if len(fields) != 3 or not all(fields):
                    raise DataError(
                        path, number, "a line is token, tab, part of speech, tab, entity label"
                    )
                sentence.append(Token(*fields))
    except FileNotFoundError as error:
        raise DataError(path, None, "no such file") from error
    except UnicodeDecodeError as error:
        raise DataError(path, number + 1, f"not UTF-8 text: {error.reason}") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(path, None, f"damaged: {error}") from error
    if sentence:
        yield sentence


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")
