"""Word vectors from a file: a word and its numbers per line with blanks between, as GloVe has them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from entnet.errors import DataError, EntNetError

Floats = NDArray[np.float32]


def read_vectors(path: Path | str, wanted: Collection[str], whose: str) -> dict[str, Floats]:
    """The vectors of wanted words, in lower case. A first line of two numbers (word2vec) is skipped.

    ``whose`` says in messages where these words are from.
    """
    found: dict[str, Floats] = {}
    width = 0
    try:
        with Path(path).open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                word, *values = line.rstrip().split(" ")
                if number == 1 and len(values) == 1 and word.isdigit():
                    continue
                width = width or len(values)
                if not values or len(values) != width:
                    raise DataError(path, number, f"a word and {width or 'its'} numbers expected")
                if word.lower() in wanted:
                    try:
                        found.setdefault(word.lower(), np.array(values, dtype=np.float32))
                    except ValueError as error:
                        raise DataError(path, number, f"not a number: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise EntNetError(f"{path}: cannot be read: {reason}") from error
    if not found:
        raise EntNetError(f"{path}: has no vector of any word of {whose}")
    return found
