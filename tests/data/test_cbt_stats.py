"""Counts of question files beside the official ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from entnet.data.cbt import BLANK, SPLITS, CbtQuestion, cbt_file_name, write_cbt
from entnet.data.cbt_stats import measure_kind, read_official_stats, stats_markdown
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
    text = stats_markdown({"NE": found}, {})
    assert "| questions | 3 / – | 2 / – | 1 / – |" in text


def test_official_counts_are_read(official_data: Path) -> None:
    official = read_official_stats(official_data / "cbt" / "stats" / "stats_NE.txt")
    assert official["train"].examples == 108_719
    assert official["train"].candidates == 24_707
    assert official["train"].story_words == pytest.approx(433.077, abs=1e-3)
    assert official["valid"].new_candidates == 390
    assert official["test"].repeated == 33


def test_a_file_that_is_no_statistics_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_official_stats(tmp_path / "none.txt")
    (tmp_path / "stats.txt").write_text("nothing")
    with pytest.raises(DataError, match="0 files described"):
        read_official_stats(tmp_path / "stats.txt")
    (tmp_path / "stats.txt").write_text("PROCESSING: a\n" * 3)
    with pytest.raises(DataError, match="no line for examples"):
        read_official_stats(tmp_path / "stats.txt")
