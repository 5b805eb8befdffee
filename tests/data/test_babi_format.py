"""The official bAbI format, read and written; broken files refused with file, line and reason."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entnet import DataError, Question, Story, read_babi, write_babi
from entnet.data.babi import (
    TASK_NAMES,
    TASKS_WITH_TIGHT_TABS,
    file_name,
    format_babi,
    split_validation,
)

GOOD = "1 Mary went home.\n2 Where is Mary? \thome\t1\n"

BROKEN = {
    "bad numbering": (GOOD + "4 Mary left.\n", 3, "numbered 4, but should be 3"),
    "no number": ("Mary went home.\n", 1, "starts with its number"),
    "starts at 2": ("2 Mary went home.\n", 1, "should be 1"),
    "missing tab": ("1 Mary went home.\n2 Where is Mary? home 1?\n", 2, "without an answer"),
    "empty question": ("1 Mary went home.\n2 ?\thome\t1\n", 2, "empty question"),
    "no answer": ("1 Mary went home.\n2 Where is Mary?\t\t1\n", 2, "no answer"),
    "too many tabs": ("1 Mary went home.\n2 Where?\thome\t1\tx\n", 2, "two tabs"),
    "question first": ("1 Where is Mary?\thome\t1\n", 1, "before any sentence"),
    "empty sentence": ("1 .\n2 Where is Mary?\thome\t1\n", 1, "without words"),
    "fact is a question": (GOOD + "3 Where is Mary?\thome\t2\n", 3, "supporting fact '2'"),
    "fact is no number": (
        "1 Mary went home.\n2 Where is Mary?\thome\tx\n",
        2,
        "supporting fact 'x'",
    ),
    "cut inside a sentence": (GOOD + "3 John went to the gar", 3, "ends inside a sentence"),
    "cut inside a question": (GOOD + "3 Where is Mary? \tho", 3, "ends inside a question"),
    "empty": ("", None, "empty"),
    "blank": (" \n\n", None, "empty"),
    "no question": ("1 Mary went home.\n", None, "no question"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_is_refused_with_its_line(tmp_path: Path, name: str) -> None:
    text, line, reason = BROKEN[name]
    path = tmp_path / "story.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=reason) as caught:
        read_babi(path)
    assert caught.value.line == line
    assert str(path) in str(caught.value)


def test_wrong_encoding_and_binary_files(tmp_path: Path) -> None:
    path = tmp_path / "story.txt"
    path.write_bytes(GOOD.encode() + "3 Zoë went home.\n".encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8") as caught:
        read_babi(path)
    assert caught.value.line == 3
    path.write_bytes(GOOD.encode() + b"\x00\x01\x02")
    with pytest.raises(DataError, match="binary") as caught:
        read_babi(path)
    assert caught.value.line == 3
    path.write_text(GOOD, encoding="utf-16")
    with pytest.raises(DataError, match="UTF-16 text; save it as UTF-8"):
        read_babi(path)
    with pytest.raises(DataError, match="no such file"):
        read_babi(tmp_path / "absent.txt")
    with pytest.raises(DataError, match="directory"):
        read_babi(tmp_path)


def test_a_mark_at_the_start_and_ends_of_lines_as_windows_has_them(tmp_path: Path) -> None:
    path, windows = tmp_path / "story.txt", tmp_path / "windows.txt"
    path.write_text(GOOD)
    windows.write_bytes(GOOD.replace("\n", "\r\n").encode("utf-8-sig"))
    assert read_babi(windows) == read_babi(path)


def test_read(tmp_path: Path) -> None:
    path = tmp_path / "story.txt"
    path.write_text(GOOD + "3 John left.\r\n4 Is John here?\tno\t3 1\n1 Ann slept.\n2 Who?\tAnn\t1")
    first, second = read_babi(path)
    assert first == Story(
        ("Mary went home.", "John left."),
        (Question(1, "Where is Mary?", "home", (0,)), Question(2, "Is John here?", "no", (1, 0))),
    )
    assert second == Story(("Ann slept.",), (Question(1, "Who?", "Ann", (0,)),))


word = st.text(st.characters(categories=["Ll", "Lu", "Nd"]), min_size=1, max_size=8)
sentence = st.lists(word, min_size=1, max_size=6).map(lambda words: " ".join(words) + ".")


@st.composite
def any_story(draw: st.DrawFn) -> Story:
    sentences = tuple(draw(st.lists(sentence, min_size=1, max_size=6)))
    afters = sorted(draw(st.lists(st.integers(1, len(sentences)), max_size=4)))
    questions = tuple(
        Question(
            after,
            draw(sentence)[:-1] + "?",
            draw(st.lists(word, min_size=1, max_size=3).map(",".join)),
            tuple(draw(st.lists(st.integers(0, after - 1), max_size=3))),
        )
        for after in afters
    )
    return Story(sentences, questions)


@given(st.lists(any_story(), min_size=1, max_size=4), st.booleans())
def test_write_then_read_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, stories: list[Story], blank: bool
) -> None:
    path = tmp_path_factory.mktemp("babi") / "stories.txt"
    write_babi(path, stories, blank)
    assert read_babi(path, require_questions=False) == stories


@given(st.binary(max_size=200) | st.text("0123 .?\tab\n\r", max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("babi") / "any.txt"
    path.write_bytes(content)
    try:
        stories = read_babi(path)
    except DataError as error:
        assert str(path) in str(error)
    else:
        assert any(story.questions for story in stories)


def test_split_keeps_stories_whole() -> None:
    stories = [Story(("A b.",), (Question(1, "C?", "d"),) * n) for n in (3, 4, 2, 1, 5, 5)]
    train, valid = split_validation(stories, 0.25)
    assert train + valid == stories
    assert valid == stories[-1:]
    assert split_validation(stories, 0.0) == (stories, [])


def test_official_files_come_back_byte_for_byte(official_data: Path) -> None:
    for task in TASK_NAMES:
        for folder, split in (("en", "train"), ("en", "test"), ("en-10k", "test")):
            path = official_data / "babi" / folder / file_name(task, split)
            text = path.read_text()
            stories = read_babi(path)
            assert format_babi(stories, task not in TASKS_WITH_TIGHT_TABS) == text
            assert sum(len(story.questions) for story in stories) == 1000


def test_ten_thousand_questions_load_in_two_seconds(official_data: Path) -> None:
    path = official_data / "babi" / "en-10k" / file_name(5, "train")
    started = time.perf_counter()
    assert sum(len(story.questions) for story in read_babi(path)) == 10_000
    assert time.perf_counter() - started < 2
