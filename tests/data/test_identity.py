"""Stories known by their content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from entnet import Story, read_stories, write_babi, write_jsonl
from entnet.data.identity import content_hash, count_shared


def test_a_format_does_not_change_the_hash(tmp_path: Path, stories: list[Story]) -> None:
    write_babi(tmp_path / "a.txt", stories)
    write_jsonl(tmp_path / "b.jsonl", stories)
    hashes = {content_hash(read_stories(tmp_path / name)) for name in ("a.txt", "b.jsonl")}
    assert hashes == {content_hash(stories)}


@pytest.mark.parametrize("field", ["after", "text", "answer", "supports", "sentence", "order"])
def test_whatever_a_network_reads_changes_the_hash(stories: list[Story], field: str) -> None:
    first = stories[0]
    if field == "sentence":
        first = replace(first, sentences=("Mary went to the office.", *first.sentences[1:]))
    elif field != "order":
        value = {"after": 2, "text": "Who?", "answer": "milk", "supports": (1,)}[field]
        question = replace(first.questions[0], **{field: value})
        first = replace(first, questions=(question, *first.questions[1:]))
    changed = [first, *stories[1:]] if field != "order" else stories[::-1]
    assert content_hash(changed) != content_hash(stories)


def test_shared_stories_are_counted(stories: list[Story]) -> None:
    assert count_shared(stories[:2], stories[1:]) == 1
    assert count_shared(stories[:1], stories[1:]) == 0
