"""Counts of question files beside the official ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from entnet.data.cbt.format import BLANK, SPLITS, CbtQuestion, cbt_file_name, write_cbt
from entnet.data.cbt.stats import measure_kind, read_official_stats, stats_markdown
from entnet.errors import DataError


def question(query: str, extra: str = "x") -> CbtQuestion:
    candidates = ("A", "b", "c", "d", "e", "f", "g", "h", "i", extra)
    return CbtQuestion(
        ("A b c d e", *["f g h i"] * 19), f"{query} {BLANK} {extra} .", "A", candidates
    )


def test_counts_of_small_files(tmp_path: Path) -> None:
    files = {
        "train": [question("one"), question("one"), question("two")],
        "valid": [question("one"), question("three", "Y")],
        "test": [question("four")],
    }
    for split in SPLITS:
        write_cbt(tmp_path / cbt_file_name("NE", split), files[split])
    found = measure_kind(tmp_path, "NE")
    train, valid = found["train"], found["valid"]
    assert (train.examples, train.distinct) == (3, 2)
    assert (train.story_words, train.query_words) == (5 + 19 * 4, 4)
    # a to i, the blank, one, two, x and the full stop
    assert (train.vocabulary, train.candidates) == (14, 10)
    assert train.new_words is None
    assert (valid.new_words, valid.new_candidates, valid.repeated) == (2, 1, 1)
    # f, g, h and i stand in 19 sentences, the answer A in one; as books go, each sentence counts once.
    assert valid.by_context == 0
    assert valid.by_corpus == pytest.approx(1 / 9)
    text = stats_markdown({"NE": found}, {})
    assert "| questions | 3 / – | 2 / – | 1 / – |" in text


def test_official_counts_are_read(official_data: Path) -> None:
    official = read_official_stats(official_data / "cbt" / "stats" / "stats_NE.txt")
    assert official["train"].examples == 108_719
    assert official["train"].candidates == 24_707
    assert official["train"].story_words == pytest.approx(433.077, abs=1e-3)
    assert official["valid"].new_candidates == 390
    assert official["test"].repeated == 33
    assert (official["test"].by_context, official["valid"].by_context) == (0.299, None)


def test_a_file_that_is_no_statistics_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_official_stats(tmp_path / "none.txt")
    (tmp_path / "stats.txt").write_text("nothing")
    with pytest.raises(DataError, match="0 files described"):
        read_official_stats(tmp_path / "stats.txt")
    (tmp_path / "stats.txt").write_text("PROCESSING: a\n" * 3)
    with pytest.raises(DataError, match="no line for examples"):
        read_official_stats(tmp_path / "stats.txt")


def test_the_most_frequent_candidate_may_be_the_answer(tmp_path: Path) -> None:
    candidates = ("A", "B", "c", "d", "e", "f", "g", "h", "i", "j")
    sentences = ("A c", "A d", *[f"B {n} ." for n in range(18)])
    often = CbtQuestion(sentences, f"{BLANK} .", "B", candidates)
    tied = CbtQuestion(("A B", *["k ."] * 19), f"{BLANK} .", "A", candidates)
    for split, questions in (("train", [often]), ("valid", [often, tied]), ("test", [tied])):
        write_cbt(tmp_path / cbt_file_name("CN", split), questions)  # type: ignore[arg-type]
    found = measure_kind(tmp_path, "CN")
    assert found["train"].by_context is None
    assert found["valid"].by_context == pytest.approx((1 + 0.5) / 2)
    # In training B is more frequent than A: right for the first, wrong for the second.
    assert found["valid"].by_corpus == pytest.approx(0.5)
