"""The official file format of the Children's Book Test: what is written is read, and mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entnet.data.cbt.format import (
    BLANK,
    CbtQuestion,
    cbt_file_name,
    format_question,
    iterate_cbt,
    read_cbt,
    write_cbt,
)
from entnet.errors import DataError

CANDIDATES = ("Alice", "Dinah", "Hatter", "King", "Queen", "cat", "cook", "hare", "head", "tea")


def question(
    query: str = f"said {BLANK} , and `` no '' .",
    answer: str = "Alice",
    candidates: tuple[str, ...] = CANDIDATES,
) -> CbtQuestion:
    sentences = tuple(f"sentence {n} of Alice ; it -LRB- ends -RRB- ." for n in range(1, 21))
    return CbtQuestion(sentences, query, answer, candidates)


def lines_of(one: CbtQuestion) -> list[str]:
    return format_question(one).splitlines()


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_file_names_are_the_official_ones() -> None:
    assert cbt_file_name("NE", "train") == "cbtest_NE_train.txt"
    assert cbt_file_name("CN", "valid") == "cbtest_CN_valid_2000ex.txt"
    assert cbt_file_name("P", "test") == "cbtest_P_test_2500ex.txt"


def test_the_format_is_the_official_one() -> None:
    lines = lines_of(question())
    assert lines[0] == "1 sentence 1 of Alice ; it -LRB- ends -RRB- ."
    assert lines[20] == f"21 said {BLANK} , and `` no '' .\tAlice\t\t{'|'.join(CANDIDATES)}"
    assert lines[21] == ""


def test_written_questions_are_read_back(tmp_path: Path) -> None:
    questions = [question(), question(answer="tea"), question(f"{BLANK} !", "cook")]
    assert write_cbt(tmp_path / "q.txt", questions) == 3
    assert read_cbt(tmp_path / "q.txt") == questions
    assert read_cbt(tmp_path / "q.txt", limit=2) == questions[:2]
    assert [path.name for path in tmp_path.iterdir()] == ["q.txt"]


# What a tokeniser can give: neither blanks of any kind nor control characters.
token = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Zs", "Zl", "Zp")),
    min_size=1,
    max_size=6,
)


@given(st.lists(token, min_size=10, max_size=10, unique=True), st.integers(0, 9))
def test_any_tokens_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], which: int
) -> None:
    sentences = tuple(" ".join(words) for _ in range(20))
    one = CbtQuestion(sentences, f"{words[0]} {BLANK}", words[which], tuple(words))
    path = tmp_path_factory.mktemp("cbt") / "q.txt"
    write_cbt(path, [one])
    (read,) = read_cbt(path)
    assert read.sentences == one.sentences
    assert read.answer in read.candidates
    # Tokens that are made of bars alone can be cut in more than one way, all with ten parts.
    if not any("|" in word for word in words):
        assert read == one


def test_blank_lines_between_questions_may_be_missing(tmp_path: Path) -> None:
    lines = [*lines_of(question())[:21], *lines_of(question(answer="tea"))[:21]]
    assert [q.answer for q in read_cbt(write(tmp_path / "q.txt", lines))] == ["Alice", "tea"]


def test_blank_lines_may_be_many_and_lines_may_end_as_on_windows(tmp_path: Path) -> None:
    lines = ["", *lines_of(question())[:21], "", "  ", *lines_of(question())[:21]]
    path = tmp_path / "q.txt"
    path.write_bytes("\r\n".join(lines).encode())
    assert read_cbt(path) == [question(), question()]


def test_candidates_may_hold_the_bar_that_stands_between_them(tmp_path: Path) -> None:
    candidates = ("Alice", "a|b", "cook", "d", "e", "f", "g", "h", "i", "|")
    one = question(f"a|b and {BLANK} said | d e f g h i cook", "a|b", candidates)
    write_cbt(tmp_path / "q.txt", [one])
    assert read_cbt(tmp_path / "q.txt") == [one]


def test_punctuation_can_be_a_candidate(tmp_path: Path) -> None:
    candidates = ("''", ",", ".", ":", ";", "?", "!", "--", "``", "-LRB-")
    one = question(f"{BLANK} yes", ";", candidates)
    write_cbt(tmp_path / "q.txt", [one])
    assert read_cbt(tmp_path / "q.txt") == [one]


def test_fewer_than_ten_candidates_and_empty_ones_are_read(tmp_path: Path) -> None:
    lines = lines_of(question())
    lines[20] = f"21 said {BLANK} .\tAlice\t\tAlice||cook|Alice"
    (one,) = read_cbt(write(tmp_path / "q.txt", lines))
    assert one.candidates == ("Alice", "cook")


def spoilt(change: str) -> list[str]:
    """A good file with one thing wrong in its second question."""
    good, bad = lines_of(question()), lines_of(question())
    if change == "number":
        bad[4] = "7 a sentence ."
    elif change == "no number":
        bad[4] = "a sentence ."
    elif change == "empty sentence":
        bad[4] = "5 "
    elif change == "early query":
        bad[4] = "5" + bad[20][2:]
    elif change == "no query":
        bad = [*bad[:20], *lines_of(question())]
    elif change == "tabs":
        bad[20] = f"21 said {BLANK} .\tAlice\t{'|'.join(CANDIDATES)}"
    elif change == "no blank":
        bad[20] = bad[20].replace(BLANK, "nobody")
    elif change == "no answer":
        bad[20] = f"21 said {BLANK} .\t\t\t{'|'.join(CANDIDATES)}"
    elif change == "answer":
        bad[20] = f"21 said {BLANK} .\tBill\t\t{'|'.join(CANDIDATES)}"
    elif change == "cut":
        bad = bad[:9]
    return [*good, *bad]


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        ("number", 27, "numbered 7, but should be 5"),
        ("no number", 27, "starts with its number"),
        ("empty sentence", 27, "without words"),
        ("early query", 27, "after 4 sentences, but 20"),
        ("no query", 43, "numbered 1, but should be 21; the question before has no query"),
        ("tabs", 43, "2 tabs, but a query has 3"),
        ("no blank", 43, "no XXXXX"),
        ("no answer", 43, "no answer"),
        ("answer", 43, "'Bill' is not among the candidates"),
        ("cut", 31, "ends after sentence 9"),
    ],
)
def test_a_broken_file_is_refused_with_line_and_reason(
    tmp_path: Path, change: str, line: int, words: str
) -> None:
    path = write(tmp_path / "q.txt", spoilt(change))
    with pytest.raises(DataError) as caught:
        read_cbt(path)
    assert caught.value.line == line
    assert words in caught.value.reason
    assert str(path) in str(caught.value)


def test_questions_before_the_mistake_are_had(tmp_path: Path) -> None:
    found = iterate_cbt(write(tmp_path / "q.txt", spoilt("tabs")))
    assert next(found) == question()
    with pytest.raises(DataError):
        next(found)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no question"),
        (b"\n\n", "no question"),
        (b"1 caf\xe9 .\n", "not UTF-8 text (byte 0xe9)"),
        (b"1 a\0b\n", "binary"),
    ],
)
def test_what_is_no_text_of_questions_is_refused(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "q.txt").write_bytes(content)
    with pytest.raises(DataError, match="q.txt") as caught:
        read_cbt(tmp_path / "q.txt")
    assert words in str(caught.value)


def test_a_missing_file_and_a_directory_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_cbt(tmp_path / "q.txt")
    with pytest.raises(DataError, match="is a directory"):
        read_cbt(tmp_path)
