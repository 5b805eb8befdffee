"""Own stories as JSON lines."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_babi_format import any_story

from entnet import DataError, Question, Story, read_jsonl, read_stories, write_jsonl
from entnet.data.jsonl import format_jsonl

SCHEMA = json.loads((resources.files("entnet.data") / "stories.schema.json").read_text("utf-8"))

BROKEN = {
    "not json": ("{", "not JSON"),
    "a list": ("[]", "a story is an object"),
    "no story": ("{}", '"story" must be a list'),
    "empty story": ('{"story": []}', '"story" must be a list'),
    "number as sentence": ('{"story": [1]}', "a sentence must be text"),
    "unknown field": ('{"story": ["A b."], "extra": 1}', "no such field: extra"),
    "questions no list": ('{"story": ["A b."], "questions": {}}', "must be a list"),
    "question no object": ('{"story": ["A b."], "questions": [1]}', "a question is an object"),
    "no text": ('{"story": ["A b."], "questions": [{"answer": "x"}]}', '"question" must be text'),
    "no answer": ('{"story": ["A b."], "questions": [{"question": "C?"}]}', '"answer" must be'),
    "after 0": (
        '{"story": ["A b."], "questions": [{"after": 0, "question": "C?", "answer": "d"}]}',
        "from 1 to 1, not 0",
    ),
    "after the end": (
        '{"story": ["A b."], "questions": [{"after": 2, "question": "C?", "answer": "d"}]}',
        "from 1 to 1, not 2",
    ),
    "bad facts": (
        '{"story": ["A b."], "questions": [{"question": "C?", "answer": "d", "supports": [2]}]}',
        '"supports" must list',
    ),
    "too deep": ("[" * 100_000, "nested too deep|not JSON"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_line_is_refused(tmp_path: Path, name: str) -> None:
    text, reason = BROKEN[name]
    path = tmp_path / "stories.jsonl"
    path.write_text('{"story": ["Fine."]}\n' + text + "\n")
    with pytest.raises(DataError, match=reason) as caught:
        read_jsonl(path)
    assert caught.value.line == 2


def test_after_defaults_to_the_end_and_order_is_by_time(tmp_path: Path) -> None:
    path = tmp_path / "stories.jsonl"
    path.write_text(
        '{"story": ["A b.", "C d."], "questions": [{"question": "E?", "answer": "f"}, '
        '{"after": 1, "question": "G?", "answer": "h i"}]}\n'
    )
    assert read_stories(path) == [
        Story(("A b.", "C d."), (Question(1, "G?", "h i"), Question(2, "E?", "f")))
    ]


def test_a_file_without_questions(tmp_path: Path) -> None:
    path = tmp_path / "stories.jsonl"
    path.write_text('{"story": ["A b."]}\n')
    with pytest.raises(DataError, match="no question"):
        read_jsonl(path)
    assert read_jsonl(path, require_questions=False) == [Story(("A b.",), ())]


@given(st.lists(any_story(), min_size=1, max_size=4))
def test_write_then_read_is_the_same_and_fits_the_schema(
    tmp_path_factory: pytest.TempPathFactory, stories: list[Story]
) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "stories.jsonl"
    write_jsonl(path, stories)
    assert read_jsonl(path, require_questions=False) == stories
    for line in format_jsonl(stories).splitlines():
        jsonschema.validate(json.loads(line), SCHEMA)


@given(st.binary(max_size=200) | st.text('{}[]":,storyquestions1 \n', max_size=80).map(str.encode))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "any.jsonl"
    path.write_bytes(content)
    try:
        read_jsonl(path, require_questions=False)
    except DataError as error:
        assert str(path) in str(error)
