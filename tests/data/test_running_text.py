"""Running text is cut into sentences and words as a reader would, in Python and in compiled code alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from entnet.data.running import MOST_WORDS, running_pieces
from entnet.ops.library import library
from entnet.ops.running import RunningText
from entnet.text import NULL_WORD, UNKNOWN_WORD, tokenise

WORDS = [NULL_WORD, UNKNOWN_WORD, "the", "went", "mary", "to", "garden", "he", "mr", "naïve"]


def sentences(text: str, longest: int = 50) -> list[str]:
    return [" ".join(piece.words) for piece in running_pieces(text, longest)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Mary went to the garden. John left.", ["mary went to the garden", "john left"]),
        (
            "Mr. Smith met J. R. Brown. I did. It was I. He ran.",
            ["mr smith met j r brown", "i did", "it was i", "he ran"],
        ),
        ("It cost 3.50 in 1899. No. 5 was sold.", ["it cost 3.50 in 1899", "no 5 was sold"]),
        (
            "“Where is he?” said Anne. “Gone!” He left.",
            ["where is he said anne", "gone", "he left"],
        ),
        ("He stopped . . . and went on... then slept.", ["he stopped", "and went on then slept"]),
        ("CHAPTER I\n\nMary went\nto the garden", ["chapter i", "mary went to the garden"]),
        ("the garden--and Mary—left; 'tis _so_.", ["the garden and mary left tis so"]),
        ("He sat (here.) She [too.] left", ["he sat here", "she too", "left"]),
        ("i.e. the best, e.g. Mary. * * * Next.", ["i.e the best e.g", "mary", "next"]),
        ("", []),
        ("  *** \n\n -- ", []),
    ],
)
def test_text_is_cut_as_a_reader_would(text: str, wanted: list[str]) -> None:
    assert sentences(text) == wanted


def test_a_long_sentence_comes_in_even_pieces() -> None:
    pieces = list(running_pieces("one " * 17 + "end.", 8))
    assert [len(piece.words) for piece in pieces] == [6, 6, 6]
    text = "word " * (MOST_WORDS + 3)
    assert sum(len(piece.words) for piece in running_pieces(text, 8)) == MOST_WORDS + 3


def test_places_are_those_of_the_text() -> None:
    text = "One two.\n“Three, four!”\n\nFive"
    places = [(text[p.start : p.end], p.line) for p in running_pieces(text, 9)]
    assert places == [("One two.", 0), ("“Three, four!”", 1), ("Five", 3)]


letters = st.text(st.sampled_from("aiMZé.!?…\"”’)( \n-—,*'"), max_size=80)
words = st.lists(
    st.sampled_from(["Mary", "went", "Mr.", "the", "e.g.", "garden.", "he", "“Oh!”", "\n", "--"]),
    max_size=30,
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(letters, words.map(" ".join)), st.integers(1, 6))
@example("a. b", 3)
def test_compiled_code_follows_the_specification(text: str, longest: int) -> None:
    if library() is None:
        pytest.skip("no kernel here")
    cutter = RunningText(WORDS, longest)
    got, wanted = cutter.split_all(text.encode()), cutter._split_in_python(text.encode(), True)
    for name, value in wanted._asdict().items():
        assert np.array_equal(getattr(got, name), value), name


@settings(max_examples=100, deadline=None)
@given(words.map(" ".join), st.lists(st.integers(1, 40), max_size=6))
def test_it_does_not_matter_where_a_stream_is_cut(text: str, cuts: list[int]) -> None:
    if library() is None:
        pytest.skip("no kernel here")
    cutter, whole = RunningText(WORDS, 5), text.encode()
    rows, held, rest = [], b"", whole
    for cut in cuts:
        held, rest = held + rest[:cut], rest[cut:]
        part = cutter.split(held, final=False)
        rows.append(part.words)
        held = held[part.consumed :]
    rows.append(cutter.split(held + rest).words)
    assert np.array_equal(np.concatenate(rows), cutter.split_all(whole).words)


def test_facts_of_babi_are_read_as_ever(official_data: Path) -> None:
    for path in sorted((official_data / "babi/en").glob("qa*_test.txt")):
        for line in path.read_text().splitlines()[:300]:
            sentence = line.split(" ", 1)[1].split("\t")[0]
            pieces = list(running_pieces(sentence, 50))
            assert [list(piece.words) for piece in pieces] == [tokenise(sentence)], path.name
