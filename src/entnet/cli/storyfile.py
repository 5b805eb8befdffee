"""One story out of a file, as ``ask`` and ``inspect`` take it."""

from __future__ import annotations

from pathlib import Path

from entnet.data.babi import read_babi, read_text
from entnet.data.jsonl import read_jsonl
from entnet.data.plain import read_plain
from entnet.data.story import Story
from entnet.errors import EntNetError


def load_story(path: Path, number: int | None = None) -> Story:
    """A story from plain text, the bAbI format or JSON lines; ``number`` picks one of several."""
    stories = _read(path)
    if number is None and len(stories) > 1:
        raise EntNetError(f"{path}: holds {len(stories)} stories; pick one with --number")
    number = 1 if number is None else number
    if not 1 <= number <= len(stories):
        raise EntNetError(f"{path}: no story {number}; there are 1 to {len(stories)}")
    return stories[number - 1]


def _read(path: Path) -> list[Story]:
    if path.suffix in {".json", ".jsonl"}:
        return read_jsonl(path, require_questions=False)
    numbered = read_text(path).lstrip().startswith("1 ")
    return read_babi(path, require_questions=False) if numbered else read_plain(path)
