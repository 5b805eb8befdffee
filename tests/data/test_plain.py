"""Stories as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entnet import DataError, Question
from entnet.data.babi import format_babi
from entnet.data.plain import is_question, lacks_mark, parse_plain, read_plain, split_sentences
from small_networks import make_stories


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Mary left. John stayed!", ["Mary left.", "John stayed!"]),
        ("Mary left\nJohn stayed", ["Mary left", "John stayed"]),
        ('She said "Go." He went.', ['She said "Go.', "He went."]),
        ("Pay 3.50 now.", ["Pay 3.50 now."]),
        ("  \n ... \n", []),
        ("Where is Mary?  In the garden.", ["Where is Mary?", "In the garden."]),
    ],
)
def test_sentences_end_where_people_end_them(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@pytest.mark.parametrize(
    ("text", "lacks"),
    [("Where is Mary", True), ("where is Mary?", False), ("Mary is where", False), ("", False)],
)
def test_questions_without_their_mark_are_noticed(text: str, lacks: bool) -> None:
    assert lacks_mark(text) == lacks


def test_questions_stand_where_they_are_asked() -> None:
    (story,) = parse_plain("Mary left. Where is she? John stayed.\nWhere is John?\tgarden\t2")
    assert story.sentences == ("Mary left.", "John stayed.")
    assert story.questions == (
        Question(1, "Where is she?", ""),
        Question(2, "Where is John?", "garden"),
    )


def test_lines_of_official_files_are_understood() -> None:
    stories = make_stories(3, seed=1)
    parsed = parse_plain(format_babi(stories))
    assert [story.sentences for story in parsed] == [story.sentences for story in stories]
    for got, made in zip(parsed, stories, strict=True):
        assert [(q.after, q.text, q.answer) for q in got.questions] == [
            (q.after, q.text, q.answer) for q in made.questions
        ]


def test_numbers_are_kept_where_not_every_line_has_one() -> None:
    (story,) = parse_plain("3 cats sat.\nMary left.")
    assert story.sentences == ("3 cats sat.", "Mary left.")


@given(st.text())
def test_any_text_can_be_parsed(text: str) -> None:
    for story in parse_plain(text):
        assert all(not is_question(sentence) for sentence in story.sentences)
        assert all(0 <= q.after <= len(story.sentences) for q in story.questions)


def test_files_without_a_sentence_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("...\n")
    with pytest.raises(DataError, match="no sentence"):
        read_plain(tmp_path / "empty.txt")
    with pytest.raises(DataError, match="no such file"):
        read_plain(tmp_path / "missing.txt")
