"""Rules of the questions against official ones: on made books, and on the official validation questions."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from test_cbt_build import book, write_book
from typer.testing import CliRunner

from entnet.cli import app
from entnet.data.cbt.agreement import compare
from entnet.data.cbt.build import BuildConfig, build_cbt
from entnet.data.cbt.format import BLANK, CbtQuestion, read_cbt, write_cbt
from entnet.data.cbt.rules import READINGS, Lexicon
from entnet.data.cbt.tags import Token
from entnet.errors import EntNetError

LEXICON = Lexicon({"story": 900, "house": 800, "rusks": 2}, {"story": 40, "chatterer": 300})
ENTITY = READINGS["official"].offered["NE"]


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (Token("Alice", "NNP", "PERSON"), True),
        (Token("evening", "NN", "TIME"), True),
        (Token("first", "JJ", "ORDINAL"), True),
        (Token("Saturday", "NNP", "DATE"), False),
        (Token("two", "CD", "NUMBER"), False),
        (Token("Mr.", "NNP", "PERSON"), False),
        (Token("fire", "NN", "O"), True),
        (Token("left", "VBD", "O"), True),
        (Token("house", "NN", "O"), False),
        (Token("rusks", "NNS", "O"), True),
        (Token("zither", "NN", "O"), True),
        (Token("Chatterer", "NNP", "O"), True),
        (Token("Story", "NNP", "O"), False),
        (Token("ran", "VBD", "O"), False),
    ],
)
def test_what_official_questions_take_for_an_entity(token: Token, expected: bool) -> None:
    assert ENTITY(token, LEXICON) is expected
    assert READINGS["official"].asks(token, "NE", LEXICON) is expected


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    folder = tmp_path / "tagged"
    folder.mkdir()
    lines = ["split\tfile"]
    for name, split, count in (
        ("a.tsv", "training", 60),
        ("b.tsv", "validation", 60),
        ("c.tsv", "test", 44),
    ):
        write_book(folder / name, book(count, count + len(lines)))
        lines.append(f"{split}\t{name}")
    (folder / "books.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def built(tagged: Path, tmp_path: Path) -> Path:
    """Questions that the rules made, in place of official ones."""
    build_cbt(tagged, tmp_path / "built", BuildConfig(kinds=("NE",)), processes=1)
    return tmp_path / "built" / "cbtest_NE_valid_2000ex.txt"


def test_questions_of_the_same_rules_are_all_found(tagged: Path, built: Path) -> None:
    got = compare(tagged, built, "NE", "valid")
    assert got.located == got.questions == got.eligible == got.possible > 0
    assert got.found == 100
    assert got.official.capitalised_answers == got.rebuilt.capitalised_answers
    assert got.official.questions == got.rebuilt.questions == got.drawn.questions


def test_questions_of_other_words_are_found_but_not_eligible(tagged: Path, built: Path) -> None:
    """A question for a verb of the same sentence stands in the books, but no rule would ask it."""
    changed = []
    for question in read_cbt(built):
        words = question.query.replace(BLANK, question.answer).split(" ")
        verb = next((word for word in words if word in {"was", "had", "saw", "ran"}), words[1])
        query = " ".join(BLANK if word == verb else word for word in words)
        others = [word for word in question.candidates if word != verb][:9]
        changed.append(CbtQuestion(question.sentences, query, verb, tuple(sorted([verb, *others]))))
    random.Random(0).shuffle(changed)
    path = built.parent / "cbtest_NE_valid_other.txt"
    write_cbt(path, changed)
    got = compare(tagged, path, "NE", "valid")
    assert got.located > 0
    assert got.eligible < got.located


def test_questions_from_elsewhere_are_refused(tagged: Path, built: Path) -> None:
    with pytest.raises(EntNetError, match="none of its questions stands in the test books"):
        compare(tagged, built, "NE", "test")


def test_the_command_says_how_near_it_comes(tagged: Path, built: Path) -> None:
    shown = CliRunner().invoke(
        app, ["data", "compare-cbt", str(built), "--tagged", str(tagged), "--json"]
    )
    assert shown.exit_code == 0
    assert '"found": 100' in shown.stdout
    refused = CliRunner().invoke(app, ["data", "compare-cbt", str(built.parent / "questions.txt")])
    assert refused.exit_code == 1
    assert "the name must say the kind" in str(refused.exception)


@pytest.mark.slow
def test_the_rules_ask_nine_in_ten_of_the_official_questions(official_data: Path) -> None:
    """On validation, by which they were chosen; candidates are like official ones within five points."""
    folder = official_data / "cbt"
    got = compare(
        folder / "tagged", folder / "questions" / "cbtest_NE_valid_2000ex.txt", "NE", "valid"
    )
    assert got.located >= 1980
    assert got.found >= 90
    assert abs(got.official.capitalised - got.rebuilt.capitalised) <= 5
    assert abs(got.official.capitalised_answers - got.drawn.capitalised_answers) <= 5
    assert abs(got.official.counted - got.rebuilt.counted) <= 5
