"""Long texts at the command line: hidden in books, read as a stream, evaluated; all with ``long``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from entnet import EntNetError
from entnet.cli import app

BOOK = (
    "CHAPTER I\n\nOnce upon a time there was a king who had no son. “Where is he?” said the queen.\n"
    "Mr. Brown went to bed at 10.30--he was old. The garden was full of milk and honey.\n\n"
) * 20
FACTS = "Mary went to the garden.", "John moved to the office.", "Mary travelled to the kitchen."
QUESTION = "Where is Mary?"


def entnet(*arguments: str | Path, typed: str | bytes | None = None) -> Result:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=typed)
    assert done.exit_code == 0, (done.output, done.exception)
    return done  # type: ignore[return-value]


def read(*arguments: str | Path, typed: str | None = None) -> dict[str, Any]:
    return json.loads(entnet("read", "long", *arguments, "--json", typed=typed).stdout)  # type: ignore[no-any-return]


def refused(*arguments: str | Path) -> str:
    """What is said instead, in one line, as tests/cli/test_cli.py shows."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert isinstance(done.exception, EntNetError), (done.output, done.exception)
    return str(done.exception)


@pytest.fixture
def haystack(tmp_path: Path) -> Path:
    """Facts with some of a book before each, and after the last."""
    path = tmp_path / "haystack.txt"
    path.write_text("".join(BOOK + fact + "\n\n" for fact in FACTS) + BOOK, encoding="utf-8")
    return path


@pytest.fixture
def books(tmp_path: Path) -> Path:
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "one.txt").write_text(BOOK, encoding="utf-8")
    return folder


# read


def test_the_needles_are_found_with_their_places(haystack: Path) -> None:
    got = read(haystack, "--ask", QUESTION, "--ask", "Where is John?", "--opened")
    assert [one["answer"] for one in got["answers"]] == ["kitchen", "office"]
    assert [needle["sentence"] for needle in got["needles"]] == list(FACTS)
    text = haystack.read_bytes()
    for needle in got["needles"]:
        assert text[needle["start"] : needle["end"]].decode() == needle["sentence"]
        assert text.splitlines()[needle["line"] - 1].decode() == needle["sentence"]
    assert got["opened"] == len(FACTS)
    assert got["bytes"] == len(text)
    assert got["words"] == len(text.decode().split())


def test_people_get_a_table_answers_and_the_speed(haystack: Path) -> None:
    shown = entnet("read", "long", haystack, "--ask", QUESTION, "--opened").stdout
    for part in (*FACTS, f"{QUESTION}  kitchen", "words/s", "3 opened a gate", "line", "gate"):
        assert part in shown, part
    assert FACTS[0] not in entnet("read", "long", haystack, "--ask", QUESTION).stdout


def test_standard_input_is_read_like_a_file(haystack: Path) -> None:
    timing = {"seconds", "words_per_second"}
    of_file, typed = read(haystack, "--opened"), read("-", "--opened", typed=haystack.read_text())
    assert all(of_file[key] == typed[key] for key in of_file.keys() - timing)


def test_reading_goes_on_from_a_snapshot(haystack: Path, tmp_path: Path) -> None:
    whole, text = read(haystack, "--ask", QUESTION, "--opened"), haystack.read_bytes()
    snapshot, half = tmp_path / "kept", text.index(FACTS[1].encode())
    haystack.write_bytes(text[:half])
    first = read(haystack, "--snapshot", snapshot, "--ask", QUESTION, "--opened")
    assert first["answers"][0]["answer"] == "garden"
    haystack.write_bytes(text)
    second = read(haystack, "--snapshot", snapshot, "--ask", QUESTION, "--opened")
    assert second["answers"] == whole["answers"]
    assert first["needles"] + second["needles"] == whole["needles"]
    for count in ("bytes", "lines", "words", "sentences", "opened"):
        assert second[count] == whole[count]
    again = entnet("read", "long", haystack, "--snapshot", snapshot, "--ask", QUESTION)
    assert f"has read {whole['words']:,} words" in " ".join(again.stderr.split())
    assert "kitchen" in again.stdout


def test_a_picture_of_the_needles(haystack: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    entnet("read", "long", haystack, "--picture", tmp_path / "new" / "needles.svg")
    shown = (tmp_path / "new" / "needles.svg").read_text()
    assert all(fact in shown for fact in FACTS)  # as text, or in a comment beside its outlines


def test_unknown_words_of_a_question_are_named(haystack: Path) -> None:
    done = entnet("read", "long", haystack, "--ask", "Where is Elvis?")
    assert "does not know: elvis" in " ".join(done.stderr.split())


def test_what_cannot_be_read_is_refused(haystack: Path, tmp_path: Path) -> None:
    assert "cannot be read: No such file" in refused("read", "long", tmp_path / "none.txt")
    assert "cannot be read: Is a directory" in refused("read", "long", tmp_path)
    assert "`entnet models` lists one that does (long)" in refused("read", "babi-qa1", haystack)
    assert "not one short question" not in refused("read", "long", haystack, "--ask", "")


def test_snapshots_of_something_else_are_refused(haystack: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("something else")
    assert "not a snapshot" in refused("read", "long", haystack, "--snapshot", kept)
    assert kept.read_text() == "something else"
    kept.unlink()
    read(haystack, "--snapshot", kept)
    haystack.write_text(FACTS[0])
    assert "it is of another text" in refused("read", "long", haystack, "--snapshot", kept)


# generate long


def test_a_document_is_what_was_asked_for(books: Path, tmp_path: Path) -> None:
    out, task = tmp_path / "new" / "long.txt", ("--task", "1", "--generated", "--books", books)
    entnet("generate", "long", *task, "--words", "500", "--stories", "3", "-o", out)
    lines = out.read_text().splitlines()
    assert [line.split()[0] for line in lines].count("1") == 3
    assert sum("\t" in line for line in lines) == 3
    assert 1500 <= sum(len(line.split()) for line in lines) < 2200
    printed = entnet("generate", "long", *task, "--words", "500", "--stories", "3").stdout
    assert printed == out.read_text()
    another = entnet("generate", "long", *task, "--words", "500", "--seed", "2").stdout
    assert another.splitlines() != lines[: len(another.splitlines())]


def test_a_haystack_is_text_alone_and_says_what_to_ask(books: Path, tmp_path: Path) -> None:
    task = ("--task", "1", "--generated", "--books", books, "--words", "400")
    done = entnet("generate", "long", *task, "--format", "text", "-o", tmp_path / "hay.txt")
    question, right = done.stderr.removeprefix("ask: ").strip().split("   right: ")
    got = read(tmp_path / "hay.txt", "--ask", question)
    assert got["answers"][0]["answer"] == right
    assert question not in (tmp_path / "hay.txt").read_text()


def test_documents_that_cannot_be_made_are_refused(books: Path, tmp_path: Path) -> None:
    make = ("generate", "long", "--task", "1", "--generated", "--words", "50")
    assert "no folder of books" in refused(*make, "--books", tmp_path / "none")
    (books / "one.txt").write_text(" \n")
    assert "hold no sentence" in refused(*make, "--books", books)
    (books / "one.txt").write_text(BOOK)
    make = (*make, "--books", books)
    assert "--stories 1" in refused(*make, "--format", "text", "--stories", "2")
    assert "call it a.jsonl" in refused(*make, "-o", tmp_path / "a.json")
    assert "cannot be written" in refused(*make, "-o", books / "one.txt" / "a.txt")
    assert [path.name for path in books.iterdir()] == ["one.txt"]


# evaluate


@pytest.mark.parametrize("name", ["long.txt", "long.jsonl"])
def test_long_files_are_evaluated(books: Path, tmp_path: Path, name: str) -> None:
    task = ("--task", "1", "--generated", "--books", books, "--words", "400", "--stories", "4")
    entnet("generate", "long", *task, "-o", tmp_path / name)
    got = json.loads(entnet("evaluate", "long", tmp_path / name, "--predictions", "--json").stdout)
    assert (got["questions"], got["errors"], got["error_percent"]) == (4, 0, 0.0)
    assert len(got["predictions"]) == 4
    assert got["words"] >= 1600
    assert got["opened"] >= 4


def test_lines_are_numbered_as_far_as_they_go(tmp_path: Path) -> None:
    """Stories go on over questions and beyond what bAbI's files number; a 1 begins another."""
    path = tmp_path / "long.txt"
    lines = [f"{number} It rained in the king's garden." for number in range(3, 3001)]
    told = [f"1 {FACTS[0]}", f"2 {QUESTION}\tgarden\t1", *lines, f"3001 {QUESTION}\tgarden\t1"]
    told += [f"1 {FACTS[2]}", f"2 {QUESTION}\toffice\t1"]
    path.write_text("\n".join(told) + "\n")
    done = entnet("evaluate", "long", path, "--mistakes", "2", "--json")
    got = json.loads(done.stdout)
    assert (got["questions"], got["errors"]) == (3, 1)
    (mistake,) = got["mistakes"]
    assert (mistake["sentences"], mistake["said"]) == ([FACTS[2]], "kitchen")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.txt", "1 Mary ran.\nJohn ran.\n", "a.txt, line 2: a line starts with its number"),
        ("a.txt", "", "a.txt: holds no story"),
        ("a.jsonl", '{"input": "a", "question": "b"}\n', "a.jsonl, line 1: not a document"),
        ("a.json", '{"input": "a"}', "a.json: not a list of documents"),
        ("none.txt", None, "none.txt: cannot be read"),
    ],
)
def test_broken_long_files_are_refused(
    tmp_path: Path, name: str, text: str | None, problem: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    assert problem in refused("evaluate", "long", tmp_path / name, "--json")
