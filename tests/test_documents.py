"""What README and docs show is so: code runs, commands exist, examples print what is said."""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from cbt_questions import trade_question
from entnet.cli import app
from entnet.data.cbt.format import write_cbt
from entnet.models.base import locate
from local_hub import open_hub

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OWN_TESTS = {"new-task.md", "new-model.md"}
"""Pages whose code is to be put into files, as their own tests do."""
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))


def blocks(page: Path, *languages: str) -> list[str]:
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [text for language, text in found if language in languages]


def commands(text: str) -> list[list[str]]:
    """The lines of a block that call a program, as words; a line that ends in a backslash goes on."""
    lines = text.replace("\\\n", " ").splitlines()
    calls = [line.removeprefix("$ ") for line in lines]
    return [
        shlex.split(call, comments=True) for call in calls if call.startswith(("entnet ", "make "))
    ]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMAND = typer.main.get_command(app)


def test_python_in_the_readme_prints_what_its_comments_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = []
    for code in blocks(ROOT / "README.md", "python"):
        exec(compile(code, "README.md", "exec"), {})
        said += re.findall(r"^print\(.*\)  # (.+)$", code, re.MULTILINE)
    assert said
    assert capsys.readouterr().out.splitlines() == said


@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if blocks(p, "python") and p.name not in OWN_TESTS],
    ids=lambda p: p.name,
)
def test_python_on_a_page_runs_from_top_to_bottom(page: Path, elsewhere: Path) -> None:
    # Files that a page made with commands before, or has the reader download.
    write_cbt(elsewhere / "cbtest_NE_test_2500ex.txt", [trade_question(seed) for seed in range(3)])
    (elsewhere / "haystack.txt").write_text("Mary went to the garden. It rained.\n")
    if page.name == "export.md":
        pytest.importorskip("onnxruntime")
        outcome = CliRunner().invoke(app, ["export", "onnx", "babi-joint", "-o", "babi-joint-onnx"])
        assert outcome.exit_code == 0, outcome.output
    names: dict[str, object] = {"__name__": "page"}
    with the_readers_hub(elsewhere) if page.name == "hub.md" else contextlib.nullcontext():
        for code in blocks(page, "python"):
            if "--8<--" not in code:  # an example, which has a test of its own
                exec(compile(code, str(page), "exec"), names)


@contextlib.contextmanager
def the_readers_hub(folder: Path) -> Iterator[None]:
    """A hub that holds the network which a page puts there."""
    with open_hub() as hub, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_ENDPOINT", hub.url)
        patch.setenv("HF_HUB_CACHE", str(folder / "hub"))
        hub.add(
            "anna/mine", {path.name: path.read_bytes() for path in locate("babi-qa1").iterdir()}
        )
        yield


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.name not in OWN_TESTS], ids=lambda p: p.name
)
def test_commands_on_a_page_are_such_as_the_command_line_takes(page: Path) -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for text in blocks(page, "", "sh", "console"):
        for program, *words in commands(text):
            if program == "make":
                assert set(words) <= set(targets), f"make {' '.join(words)}"
                continue
            command = COMMAND
            with command.make_context("entnet", words) as context:
                while words := [*context._protected_args, *context.args]:  # the verb, then its own
                    name, command, words = command.resolve_command(context, words)  # type: ignore
                    context = command.make_context(name, words, parent=context)


def test_the_first_training_has_the_files_that_it_names(elsewhere: Path) -> None:
    """What is trained on and tested on in Getting started is what `generate` there writes."""
    (block,) = [t for t in blocks(ROOT / "docs/getting-started.md", "sh") if "generate babi" in t]
    (generate, *others) = [words for _, *words in commands(block)]
    few = [*generate, "--questions", "100"]
    assert CliRunner().invoke(app, few).exit_code == 0
    named = {word for words in others for word in words if word.endswith(".txt")}
    assert len(named) == 2
    assert all((elsewhere / name).is_file() for name in named)


def test_the_session_in_the_readme_is_a_real_one(elsewhere: Path) -> None:
    (session,) = blocks(ROOT / "README.md", "console")
    show, ask = re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]
    (elsewhere / "story.txt").write_text(show.partition("\n")[2])
    call, _, shown = ask.partition("\n")
    command = [sys.executable, "-m", *shlex.split(call)]
    printed = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=elsewhere
    ).stdout
    assert asked_and_answered(shown) == asked_and_answered(printed) != []


def asked_and_answered(text: str) -> list[list[str]]:
    """The questions of a session and its answers, without how sure they are."""
    lines = [line.split() for line in text.splitlines()]
    return [
        words[:2] if words[0] == "answer" else words
        for words in lines
        if words and words[0] in ("answer", "Where")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_examples_print_what_their_pages_say(
    example: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    include = re.escape(f'```python\n--8<-- "examples/{example.name}"\n```\n')
    told = re.compile(include + r"\nIt prints\n\n```text\n(.*?)```", re.DOTALL)
    (shown,) = [text for page in PAGES for text in told.findall(page.read_text(encoding="utf-8"))]
    runpy.run_path(str(example), run_name="__main__")
    without_figures = [re.sub(r"[\d.]+", "#", text) for text in (shown, capsys.readouterr().out)]
    assert without_figures[0] == without_figures[1]


def test_prose_is_wrapped() -> None:
    """At column 120, and in code that is shown too; rows of tables, pictures and JSON may be longer."""
    long = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "results" / "README.md"]
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > 120 and not line.startswith(("|", "![", "{"))
    ]
    assert not long


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=quiet)
    assert done.returncode == 0, done.stderr
    for page, content in (
        ("reference/commands.html", "entnet reproduce"),
        ("reference/settings.html", "learning_rate"),
        ("reference/python.html", "read_stories"),
        ("results/table2.html", "path-finding"),
    ):
        assert content in (tmp_path / page).read_text(encoding="utf-8")
