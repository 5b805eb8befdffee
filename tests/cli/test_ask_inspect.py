"""``entnet ask``, ``inspect`` and ``serve`` at the command line."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from entnet import EntNet, EntNetError, Tracker, write_babi, write_jsonl
from entnet.cli import app
from entnet.cli.conversation import Conversation
from entnet.report.write import report_figures, write_report
from small_networks import make_stories

STORY = "Mary went to the garden.\nJohn moved to the office.\nMary travelled to the kitchen.\n"


@pytest.fixture
def story(tmp_path: Path) -> Path:
    (tmp_path / "story.txt").write_text(STORY)
    return tmp_path / "story.txt"


@pytest.fixture
def tied(walking_networks: dict[str, Path]) -> str:
    return str(walking_networks["walks-tied"])


def entnet(*arguments: str | Path, typed: str | None = None) -> Result:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=typed)
    assert done.exit_code == 0, (done.output, done.exception)
    return done  # type: ignore[return-value]


def refused(*arguments: str | Path) -> str:
    """What is said instead: the command line prints it in one line, as tests/cli/test_cli.py shows."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert isinstance(done.exception, EntNetError), (done.output, done.exception)
    return str(done.exception)


# ask


def test_ask_a_story_file(tied: str, story: Path) -> None:
    done = entnet("ask", tied, "--story", story, "--question", "Where is Mary?", "--json")
    got = json.loads(done.stdout)
    tracker = Tracker.from_pretrained(tied)
    tracker.read(STORY)
    expected = tracker.ask("Where is Mary?")
    assert got["answer"] == expected.answer == "kitchen"
    assert got["probability"] == pytest.approx(expected.probability)
    assert got["sentences"] == 3
    shown = entnet("ask", tied, "--story", story, "--question", "Where is John?").output
    assert "office" in shown
    assert "attention" in shown


def test_ask_reads_every_format_and_picks_a_story(tied: str, tmp_path: Path) -> None:
    stories = make_stories(3, seed=8)
    write_babi(tmp_path / "all.txt", stories)
    write_jsonl(tmp_path / "all.jsonl", stories)
    question = stories[1].questions[-1]
    answers = [
        json.loads(
            entnet("ask", tied, "--story", tmp_path / name, "--number", "2",
                   "--question", question.text, "--json").stdout
        )
        for name in ("all.txt", "all.jsonl")
    ]  # fmt: skip
    assert answers[0] == answers[1]
    assert answers[0]["answer"] == question.answer
    ask = ("ask", tied, "--story", tmp_path / "all.txt", "--question", "Where is Mary?")
    assert "holds 3 stories" in refused(*ask)
    assert "there are 1 to 3" in refused(*ask, "--number", "4")


def test_ask_looks_back_as_far_as_in_training(tied: str, tmp_path: Path) -> None:
    limit = EntNet.from_pretrained(tied).config.memory_limit
    assert limit is not None
    lines = ["Mary went to the garden."] + ["John went to the office."] * limit
    (tmp_path / "long.txt").write_text("\n".join(lines))
    done = entnet(
        "ask", tied, "--story", tmp_path / "long.txt", "--question", "Where is John?", "--json"
    )
    assert json.loads(done.stdout)["sentences"] == limit


def test_ask_names_or_refuses_unknown_words(tied: str, story: Path) -> None:
    ask = ("ask", tied, "--story", story, "--question", "Where is Zoe?", "--json")
    assert json.loads(entnet(*ask).stdout)["unknown"] == ["zoe"]
    assert "zoe" in refused(*ask, "--strict")


ASKED = """Mary went to the garden.
Where is Mary?
John moved to the office. Mary travelled to the kitchen.
Where is Mary?\tkitchen
"""


def test_ask_answers_the_questions_of_the_file(tied: str, tmp_path: Path) -> None:
    story = tmp_path / "asked.txt"
    story.write_text(ASKED)
    got = json.loads(entnet("ask", tied, "--story", story, "--json").stdout)["answers"]
    assert [(one["after"], one["answer"]) for one in got] == [(1, "garden"), (3, "kitchen")]
    assert "right" not in got[0]
    assert got[1]["right"] is True
    shown = entnet("ask", tied, "--story", story, typed="Where is John?\n").output
    first, last = shown.index("(after 1)"), shown.index("(after 3)")
    assert first < shown.index("garden", first) < last < shown.index("kitchen", last)
    assert "office" in shown[last:]  # the prompt goes on where the story ended


def test_questions_of_a_file_see_no_further_back_than_in_training(
    tied: str, tmp_path: Path
) -> None:
    limit = EntNet.from_pretrained(tied).config.memory_limit
    assert limit is not None
    early = "Mary went to the garden."
    lines = [early, "Where is Mary?", *["John went to the office."] * limit, "Where is Mary?"]
    story = tmp_path / "long.txt"
    story.write_text("\n".join(lines))
    first, last = json.loads(entnet("ask", tied, "--story", story, "--json").stdout)["answers"]
    assert first["answer"] == "garden"
    tracker = Tracker.from_pretrained(tied)
    tracker.read_sentences(lines[2:-1])
    assert last["probability"] == pytest.approx(tracker.ask("Where is Mary?").probability)
    shown = entnet("ask", tied, "--story", story, typed="").output
    assert "(after 1)" in shown
    assert f"(after {limit + 1})" in shown


def test_ask_mistakes(tied: str, tmp_path: Path) -> None:
    assert "--question" in refused("ask", tied, "--json")
    assert "no such file" in refused("ask", tied, "--story", tmp_path / "x", "--question", "Why?")
    assert "is not there" in refused("ask", tmp_path / "nothing", "--question", "Why?")
    (tmp_path / "binary").write_bytes(b"\0\1\2")
    assert "binary" in refused("ask", tied, "--story", tmp_path / "binary", "--question", "Why?")


def test_lines_piped_in_are_a_conversation(tied: str, tmp_path: Path) -> None:
    saved = tmp_path / "memory"
    typed = f"""Mary went to the garden. Where is Mary?
Mary moved to the kitchen.
? where is mary
:undo
where is Mary?
:save {saved}
:reset
:load {saved}
Where is Mary?
:slots
:quit
Where is nobody?
"""
    output = entnet("ask", tied, typed=typed).output
    answers = [line.split()[1] for line in output.splitlines() if line.startswith("answer")]
    assert answers == ["garden", "kitchen", "garden", "garden"]
    assert "took back Mary moved to the kitchen." in output
    assert "nobody" not in output
    assert saved.stat().st_size > 100


class TestConversation:
    """The prompt's own behaviour, line by line."""

    @pytest.fixture
    def said(self) -> io.StringIO:
        return io.StringIO()

    @pytest.fixture
    def talk(self, tied: str, said: io.StringIO) -> Conversation:
        return Conversation(Tracker.from_pretrained(tied), Console(file=said, width=120))

    def test_undo_goes_all_the_way_back(self, talk: Conversation, said: io.StringIO) -> None:
        for line in STORY.splitlines():
            talk.line(line)
        for _ in range(3):
            talk.line(":undo")
        assert talk.sentences == []
        assert talk.tracker.sentences_read == 0
        talk.line(":undo")
        assert "nothing to take back" in said.getvalue()

    @pytest.mark.parametrize(
        ("line", "says"),
        [
            (":dance", "no command :dance"),
            (":save", ":save FILE"),
            (":load /no/such/file", "cannot be read"),
            (":save /dev/null/x", "cannot be written"),
            (":load a\0b", "cannot be read"),
            ("?", "at least one word"),
            (":help", "take back the last sentence"),
            (":story", "nothing read yet"),
            ("Mary flew to the garden.", "unknown: flew"),
            ("Where is Mary", "read as a sentence: a question ends with ?"),
        ],
    )
    def test_lines_that_need_an_answer_get_one(
        self, talk: Conversation, said: io.StringIO, line: str, says: str
    ) -> None:
        talk.line(line)
        assert says in said.getvalue()

    def test_a_foreign_file_changes_nothing(
        self, talk: Conversation, said: io.StringIO, tmp_path: Path
    ) -> None:
        talk.line("Mary went to the garden.")
        (tmp_path / "x").write_bytes(b"not a memory")
        talk.line(f":load {tmp_path / 'x'}")
        assert "not a snapshot" in said.getvalue()
        assert talk.sentences == ["Mary went to the garden."]


def test_the_prompt_at_a_terminal(tied: str, tmp_path: Path) -> None:
    """A real terminal: lines are typed, Ctrl-C drops a line, history is kept, Ctrl-D ends."""
    control, terminal = pty.openpty()
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(tmp_path),
        "TERM": "xterm",
        "OMP_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "entnet", "ask", tied],
        stdin=terminal, stdout=terminal, stderr=terminal, env=environment,
    )  # fmt: skip
    os.close(terminal)
    shown, seen = b"", 0

    def wait_for(text: bytes) -> None:
        nonlocal shown, seen
        end = time.monotonic() + 60
        while text not in shown[seen:]:
            assert time.monotonic() < end, shown
            if select.select([control], [], [], 0.1)[0]:
                chunk = os.read(control, 4096)
                shown += chunk
                if b"\x1b[6n" in chunk:  # the prompt asks where the cursor is
                    os.write(control, b"\x1b[1;1R")
        seen = shown.index(text, seen) + len(text)

    try:
        wait_for(b":help")
        wait_for(b"sentences read")
        os.write(control, b"Mary went to the garden.\r")
        wait_for(b"opened")
        wait_for(b"1 sentences read")
        os.write(control, b"half a line")
        wait_for(b"line")
        os.write(control, b"\x03")
        wait_for(b"1 sentences read")
        os.write(control, b"Where is Mary?\r")
        wait_for(b"attention")
        wait_for(b"1 sentences read")
        os.write(control, b"\x04")
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(control)
    assert b"Traceback" not in shown
    history = (tmp_path / "entnet" / "ask-history").read_text()
    assert "Where is Mary?" in history


# inspect


def test_inspect_shows_draws_and_exports(tied: str, story: Path, tmp_path: Path) -> None:
    picture, page = tmp_path / "x.svg", tmp_path / "x.html"
    output = entnet(
        "inspect", tied, story, "--question", "Where is Mary?", "--plot", picture, "--html", page
    ).output
    assert "kitchen" in output
    assert "attention" in output
    assert picture.read_text().startswith("<?xml")
    assert "Where is Mary?" in page.read_text()


def test_inspect_gives_everything_to_programs(tied: str, story: Path) -> None:
    got = json.loads(entnet("inspect", tied, story, "--words", "2", "--json").stdout)
    assert [step["sentence"] for step in got["steps"]] == STORY.splitlines()
    assert all(len(words) == 2 for words in got["steps"][-1]["words"])


def test_inspect_without_a_file_takes_the_papers_story(tied: str) -> None:
    got = json.loads(entnet("inspect", tied, "--json").stdout)
    assert len(got["steps"]) == 12
    assert got["questions"][0]["question"] == "Where is the milk?"


def test_inspect_counts_places(
    tied: str, walking_networks: dict[str, Path], tmp_path: Path
) -> None:
    write_babi(tmp_path / "stories.txt", make_stories(30, seed=4))
    count = ("--places", tmp_path / "stories.txt", "--stories", "20")
    got = json.loads(entnet("inspect", tied, *count, "--json").stdout)["places"]
    assert got["stories"] == 20
    assert got["share"] > 0.9
    assert "20 stories" in entnet("inspect", tied, *count).output
    assert "tied" in refused("inspect", walking_networks["walks-free"], *count)
    entnet("inspect", tied, *count, "--results", tmp_path)
    other = shutil.copytree(tied, tmp_path / "another")
    entnet("inspect", other, *count, "--results", tmp_path)
    kept = report_figures(tmp_path)["table3-places"]
    assert kept == {Path(tied).name: got, "another": got}
    write_report(tmp_path, tmp_path, tmp_path / "README.md", charts=False)
    page = (tmp_path / "results" / "table3.md").read_text()
    assert f"| people and things | **{got['share']:.1%}** | **{got['share']:.1%}** |" in page
    assert "| mary | garden |" in page


# serve


def test_serve_mistakes(tied: str, tmp_path: Path, free_port: Any) -> None:
    assert "--api-key" in refused("serve", tied, "--host", "0.0.0.0")
    assert "no config.json" in refused("serve", tmp_path)
    with free_port() as taken:
        assert "cannot listen" in refused("serve", tied, "--port", str(taken))


@pytest.fixture
def free_port() -> Any:
    import socket
    from contextlib import contextmanager

    @contextmanager
    def held() -> Any:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            yield listener.getsockname()[1]

    return held
