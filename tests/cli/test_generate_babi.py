"""``entnet generate babi`` and ``compare``"""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from entnet.cli.common import TABLE_ENDS, TABLE_STARTS
from entnet.cli.generate import generate_app
from entnet.data.babi import file_name, format_babi, read_babi
from entnet.data.babi_tasks import SPLITS, TASKS, Knobs, generate
from entnet.data.identity import count_shared
from entnet.data.reading import read_stories
from entnet.errors import EntNetError

runner = CliRunner()


def run(*arguments: str) -> str:
    return runner.invoke(generate_app, arguments, catch_exceptions=False).output


@pytest.mark.parametrize("name", ["qa3.txt", "qa3.jsonl"])
def test_a_file_holds_what_python_generates(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    said = run("babi", "--task", "3", "--questions", "20", "--seed", "4", "-o", str(path))
    assert "20 questions" in said
    assert read_stories(path) == generate(3, 20, seed=4)


def test_without_a_file_stories_are_printed() -> None:
    assert run("babi", "--task", "4", "--questions", "3") == format_babi(
        generate(4, 3, seed=1), blank_before_tab=False
    )


def test_splits_of_all_tasks_have_the_official_names(tmp_path: Path) -> None:
    arguments = ("--task", "all", "--questions", "9", "--held-out", "5", "--split")
    run("babi", *arguments, "-o", str(tmp_path))
    for task in TASKS:
        for split, questions in zip(SPLITS, (9, 5, 5), strict=True):
            stories = read_babi(tmp_path / file_name(task, split))
            assert stories == generate(task, questions, seed=1, split=split)


def test_knobs_reach_the_stories() -> None:
    printed = run(
        *("babi", "--task", "2", "--questions", "6", "--people", "Zoe,Max", "--places", "8"),
        *("--objects", "key", "--questions-per-story", "3", "--no-noise"),
    )
    knobs = Knobs(
        people=("Zoe", "Max"), places=8, objects=("key",), questions_per_story=3, noise=False
    )
    assert printed == format_babi(generate(2, 6, seed=1, knobs=knobs))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--task", "21"), "no task 21"),
        (("--task", "one"), "a number, several"),
        (("--task", "1,2"), "must name a directory"),
        (("--task", "4", "--people", "3"), "task 4 has no people"),
    ],
)
def test_mistakes_are_named(arguments: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(EntNetError, match=complaint):
        run("babi", *arguments)


def test_the_table_of_a_page_is_replaced(official_data: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"Before.\n{TABLE_STARTS}old\n{TABLE_ENDS}After.\n")
    run("compare", "--task", "17", "--dir", str(official_data), "-o", str(page))
    text = page.read_text()
    assert text.startswith(f"Before.\n{TABLE_STARTS}| task |")
    assert "| 17 positional-reasoning | 10,000 |" in text
    assert text.endswith(f"{TABLE_ENDS}After.\n")


def test_a_page_without_a_table_is_refused(official_data: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Nothing here.\n")
    with pytest.raises(EntNetError, match="has no table"):
        run("compare", "--task", "17", "--dir", str(official_data), "-o", str(page))


def test_parts_of_a_seed_share_no_story_and_the_note_says_so(tmp_path: Path) -> None:
    stories = {}
    for name, part, count in (("a", "train", 60), ("b", "train", 20), ("c", "test", 60)):
        path = tmp_path / f"{name}.txt"
        said = run(
            "babi", "--task", "2", "--questions", str(count), "--part", part, "-o", str(path)
        )
        assert "a file with the same task, seed and part begins with" in said
        stories[name] = read_babi(path)
    assert count_shared(stories["a"], stories["b"]) == len(stories["b"])
    assert count_shared(stories["a"], stories["c"]) == 0
