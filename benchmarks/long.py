"""Reading running text: from bytes to the memory, beside a plain loop of ``str.split`` over its lines."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from entnet import StoryModel
from entnet.data.long import book_files, book_text
from entnet.errors import EntNetError
from entnet.models.entnet import EntNet
from entnet.models.stream_reader import BLOCK, StreamReader

NETWORK = "long"
MEGABYTES = 64


def _text() -> bytes:
    """Books of the test part where they are; else words drawn at random, in sentences of a dozen."""
    try:
        text = book_text(book_files(None, "test"))
    except EntNetError:
        rng = np.random.default_rng(1)
        words = [
            "the",
            "went",
            "to",
            "king",
            "garden",
            "mountain",
            "mary",
            "whatsoever",
            "of",
            "and",
        ]
        drawn = rng.choice(words, size=(20_000, 12))
        text = "\n".join(" ".join(row) + "." for row in drawn.tolist()).encode()
    return text + b"\n\n"


def _cores(count: int) -> None:
    """Keep this process to so many cores, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        everything = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, everything[:count])


def measure() -> dict[str, Any]:
    """Words a second with ``str.split`` and with ours, on one core and on two, from a file."""
    network = StoryModel.from_pretrained(NETWORK)
    assert isinstance(network, EntNet)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        text = _text()
        with path.open("wb") as file:
            for _ in range(MEGABYTES * 1_000_000 // len(text) + 1):
                file.write(text)
        everything = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
        _ours(network, path, text_bytes=BLOCK)  # what is loaded once is no part of it
        before = _resident()
        found: dict[str, Any] = {"megabytes": round(path.stat().st_size / 1e6)}
        try:
            for cores in (1, 2):
                if everything:
                    os.sched_setaffinity(0, everything)
                _cores(cores)
                if cores == 1:
                    found["split_words_per_second"] = round(_split(path))
                found[f"words_per_second_{cores}"] = round(_ours(network, path))
        finally:
            if everything:
                os.sched_setaffinity(0, everything)
    found["ratio_to_split"] = round(
        found["words_per_second_1"] / found["split_words_per_second"], 2
    )
    found["resident_megabytes"] = _resident()
    found["grown_megabytes"] = _resident() - before
    return found


def _resident() -> int:
    """The most memory that this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _split(path: Path) -> float:
    began, words = time.perf_counter(), 0
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            words += len(line.split())
    return words / (time.perf_counter() - began)


def _ours(network: EntNet, path: Path, text_bytes: int | None = None) -> float:
    reader = StreamReader(network)
    began = time.perf_counter()
    with path.open("rb") as file:
        blocks = iter(lambda: file.read(BLOCK), b"")
        for _ in reader.read(islice(blocks, text_bytes // BLOCK) if text_bytes else blocks):
            pass
    return reader.position.words / (time.perf_counter() - began)


if __name__ == "__main__":
    import json

    print(json.dumps(measure()))
