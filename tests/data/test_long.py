"""Facts hidden in books, all of them and in order; files of any length, read bit by bit."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entnet.data.babi import read_babi
from entnet.data.long import (
    Background,
    HiddenStory,
    Sample,
    Stretch,
    book_files,
    samples_of,
    stretches,
    write_as_babi,
    write_as_json_line,
    write_as_text,
)
from entnet.data.long_files import Begin, Heard, read_long
from entnet.data.running import running_pieces
from entnet.data.story import Question, Story
from entnet.errors import DataError, EntNetError

BOOK = b'A king lived. \nHe had a "crown".  It was old.'
PLACES = np.array([[0, 13], [15, 32], [34, 45]])
SAMPLE = Sample(("Mary ran.", "John sat."), "Where is Mary?", "garden", (1,))


def hidden(first: int, count: int, places: list[int]) -> HiddenStory:
    return HiddenStory(SAMPLE, BOOK, PLACES, Stretch(first, count, np.array(places)))


def test_a_sample_has_the_facts_before_its_question() -> None:
    story = Story(("a b", "c d", "e f"), (Question(1, "q", "x", (0,)), Question(3, "r", "y", (2,))))
    assert list(samples_of([story])) == [
        Sample(("a b",), "q", "x", (0,)),
        Sample(("a b", "c d", "e f"), "r", "y", (2,)),
    ]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=8),
    st.integers(0, 200),
    st.integers(0, 6),
    st.integers(0, 99),
)
def test_a_stretch_has_as_many_words_and_all_facts_in_order(
    sizes: list[int], words: int, facts: int, seed: int
) -> None:
    background = Background(np.array(sizes))
    stretch = background.draw(words, facts, np.random.default_rng(seed))
    read, told = [], []
    for fact, start, end in stretches(stretch, len(sizes)):
        told += [] if fact is None else [fact]
        read += list(range(start, end))
    assert told == list(range(facts))
    assert read == [(stretch.first + i) % len(sizes) for i in range(stretch.count)]
    got = sum(sizes[i] for i in read)
    assert words <= got < words + max(sizes)


def test_places_are_drawn_evenly() -> None:
    background, rng = Background(np.full(100, 5)), np.random.default_rng(1)
    places = np.concatenate([background.draw(500, 3, rng).places for _ in range(3000)])
    assert places.min() == 0
    assert places.max() == 100
    assert abs(places.mean() - 50) < 1.5
    assert abs(np.histogram(places, 4, (0, 101))[0] / len(places) - 0.25).max() < 0.03


def test_stories_are_written_in_every_format(tmp_path: Path) -> None:
    story, out = hidden(1, 4, [0, 3]), io.StringIO()
    write_as_babi(story, out)
    wanted = [
        "Mary ran.",
        'He had a "crown".',
        "It was old.",
        "A king lived.",
        "John sat.",
        'He had a "crown".',
    ]
    lines = out.getvalue().splitlines()
    assert lines[:-1] == [f"{i} {text}" for i, text in enumerate(wanted, start=1)]
    assert lines[-1] == "7 Where is Mary?\tgarden\t5"
    (tmp_path / "one.txt").write_text(out.getvalue())
    (read,) = read_babi(tmp_path / "one.txt")
    assert read.questions[0].supports == (4,)
    out = io.StringIO()
    write_as_json_line(story, out)
    assert json.loads(out.getvalue()) == {
        "input": " ".join(wanted),
        "question": "Where is Mary?",
        "target": "garden",
    }
    out = io.StringIO()
    write_as_text(story, out)
    assert out.getvalue().splitlines() == wanted


def test_every_format_is_read_back(tmp_path: Path) -> None:
    babi, lines, one = tmp_path / "a.txt", tmp_path / "a.jsonl", tmp_path / "a.json"
    with babi.open("w") as file, lines.open("w") as other:
        for first in range(3):
            write_as_babi(hidden(first, 2, [1, 2]), file)
            write_as_json_line(hidden(first, 2, [1, 2]), other)
    one.write_text(
        json.dumps([json.loads(line) for line in lines.read_text().splitlines()], indent=1)
    )
    question = Question(0, "Where is Mary?", "garden")
    told = []
    for path in (babi, lines, one):
        events = list(read_long(path))
        assert [type(event) for event in events].count(Begin) == 3
        assert [event for event in events if isinstance(event, Question)] == [question] * 3
        told.append(" ".join(event.text for event in events if isinstance(event, Heard)))
    assert told[0] == told[1] == told[2]


def test_stories_with_questions_among_their_sentences_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    story = {"story": ["a.", "b."], "questions": [{"after": 1, "question": "q?", "answer": "x"}]}
    path.write_text(json.dumps(story))
    assert list(read_long(path)) == [Begin(), Heard("a."), Question(0, "q?", "x"), Heard("b.")]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.txt", "Mary went.\n", "a line starts with its number"),
        ("a.txt", "1 Mary went.\n2 Where?\t\n", "a question is text"),
        ("a.txt", "\n", "holds no story"),
        ("a.json", "{}", "not a list"),
        ("a.json", '[{"input": "a", "question"', "document 1: not JSON"),
        ("a.jsonl", '{"input": "a"}', "not a document"),
        ("a.jsonl", "{", "not JSON"),
    ],
)
def test_broken_files_are_refused_with_their_place(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=problem):
        list(read_long(tmp_path / name))


def test_books_are_for_training_or_testing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One.")
    (tmp_path / "b.txt").write_text("Two.")
    assert [path.name for path in book_files(tmp_path, "test")] == ["a.txt", "b.txt"]
    (tmp_path / "manifest.tsv").write_text("split\tfile\ntraining\ta.txt\ntest\tb.txt\n")
    assert [path.name for path in book_files(tmp_path, "train")] == ["a.txt"]
    assert [path.name for path in book_files(tmp_path, "test")] == ["b.txt"]
    with pytest.raises(EntNetError, match="no books for the validation part"):
        book_files(tmp_path, "valid")
    with pytest.raises(EntNetError, match="no folder of books"):
        book_files(tmp_path / "none", "test")


def test_a_fact_after_a_heading_stays_a_sentence_of_its_own() -> None:
    text, places = b"CHAPTER I", np.array([[0, 9]])
    story = HiddenStory(SAMPLE, text, places, Stretch(0, 1, np.array([0, 1])))
    for write, read in (
        (write_as_text, str),
        (write_as_json_line, lambda t: json.loads(t)["input"]),
    ):
        out = io.StringIO()
        write(story, out)
        found = [" ".join(piece.words) for piece in running_pieces(read(out.getvalue()), 50)]
        assert found == ["mary ran", "chapter i", "john sat"]
