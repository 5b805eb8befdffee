"""Reading a file of stories, whichever of the known formats it is in."""

from __future__ import annotations

from pathlib import Path

from entnet.data.babi import read_babi
from entnet.data.jsonl import read_jsonl
from entnet.data.story import Story


def read_stories(path: Path | str, require_questions: bool = True) -> list[Story]:
    """Stories from a file: JSON lines if its name ends in .jsonl or .json, else the bAbI format."""
    read = read_jsonl if Path(path).suffix in {".jsonl", ".json"} else read_babi
    return read(path, require_questions)
