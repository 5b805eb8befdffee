"""The command line, run as a user runs it, from its arguments to its exit status."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from entnet import read_babi, write_babi, write_jsonl
from entnet.cli import main
from entnet.data.babi_tasks import generate

Done = subprocess.CompletedProcess[str]


def entnet(*arguments: str | Path, check: bool = True) -> Done:
    """A command, in this process; what it prints, and its exit status."""
    command = ["entnet", *map(str, arguments)]
    out, err, status = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", command),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
    if check:
        assert status == 0, err.getvalue()
    return Done(command, status, out.getvalue(), err.getvalue())


def entnet_process(*arguments: str | Path) -> Done:
    """The same in a process of its own, which takes longer to start than most commands to run."""
    command = [sys.executable, "-m", "entnet", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def plain(text: str) -> str:
    """Text without colours, line breaks as blanks."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", text).split())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_babi(folder / "train.txt", generate(1, 1000, seed=1))
    write_babi(folder / "test.txt", generate(1, 100, seed=1, split="test"))
    return folder


@pytest.fixture(scope="module")
def run(files: Path) -> tuple[Path, dict[str, Any]]:
    out = files / "run"
    done = entnet_process(
        "train", "--train", files / "train.txt", "--test", files / "test.txt", "--epochs", "15",
        "--seed", "3", "--out", out, "--set", "width=20", "--set", "slots=5", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out, json.loads(done.stdout)


def test_train_reports_and_learns(run: tuple[Path, dict[str, Any]]) -> None:
    out, result = run
    assert result["seed"] == 3
    assert result["epochs"] == 15
    assert result["best"]["test_error"] < 50
    assert (out / "model" / "model.safetensors").is_file()


def test_evaluate_agrees_with_training(run: tuple[Path, dict[str, Any]], files: Path) -> None:
    out, result = run
    done = entnet("evaluate", out, files / "test.txt", "--json", "--predictions")
    got = json.loads(done.stdout)
    assert got["questions"] == 100
    assert got["error_percent"] == result["best"]["test_error"]
    answers = [q.answer for story in read_babi(files / "test.txt") for q in story.questions]
    wrong = sum(a != b for a, b in zip(got["predictions"], answers, strict=True))
    assert wrong == got["errors"]


def test_evaluate_shows_its_mistakes(run: tuple[Path, dict[str, Any]], files: Path) -> None:
    done = entnet(
        "evaluate", run[0], files / "test.txt", "--json", "--predictions", "--mistakes", "999"
    )
    got = json.loads(done.stdout)
    asked = [(s, q) for s in read_babi(files / "test.txt") for q in s.questions]
    expected = [
        {
            "sentences": list(story.sentences[: question.after]),
            "question": question.text,
            "answer": question.answer,
            "said": said,
        }
        for (story, question), said in zip(asked, got["predictions"], strict=True)
        if said != question.answer
    ]
    assert got["mistakes"] == expected
    assert len(expected) == got["errors"] > 1
    shown = entnet("evaluate", run[0], files / "test.txt", "--mistakes", "1").stdout
    first = expected[0]
    assert all(line in shown for line in (*first["sentences"], first["question"]))
    assert shown.count("right: ") == 1
    assert f"right: {first['answer']}; said: {first['said']}" in shown


def test_evaluate_reads_json_lines_alike(run: tuple[Path, dict[str, Any]], files: Path) -> None:
    write_jsonl(files / "test.jsonl", read_babi(files / "test.txt"))
    first, second = (
        json.loads(entnet("evaluate", run[0], files / name, "--json").stdout)
        for name in ("test.txt", "test.jsonl")
    )
    assert first == second


def test_unknown_words_are_named_or_refused(run: tuple[Path, dict[str, Any]], files: Path) -> None:
    odd = files / "odd.txt"
    odd.write_text("1 Mary moved to the zoo.\n2 Where is Mary? \tzoo\t1\n")
    done = entnet("evaluate", run[0], odd, "--json")
    assert json.loads(done.stdout)["unknown_words"] == ["zoo"]
    assert json.loads(done.stdout)["errors"] == 1
    assert "read as unknown: zoo" in plain(done.stderr)
    refused = entnet("evaluate", run[0], odd, "--strict", check=False)
    assert refused.returncode == 1
    assert "does not know: zoo" in plain(refused.stderr)
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 Mary moved.\n3 Where is Mary? \tzoo\t1\n", "line 2: numbered 3, but should be 2"),
        ("", "the file is empty"),
    ],
)
def test_mistakes_are_told_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    broken = tmp_path / "broken.txt"
    broken.write_text(content)
    done = entnet("train", "--train", broken, "--out", tmp_path / "run", check=False)
    assert done.returncode == 1
    assert message in plain(done.stderr)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_mistake_ends_the_process_without_a_traceback(tmp_path: Path) -> None:
    done = entnet_process("train", "--train", tmp_path / "none.txt", "--out", tmp_path / "run")
    assert done.returncode == 1
    assert plain(done.stderr).startswith("error: ")
    assert "none.txt" in done.stderr
    assert "Traceback" not in done.stderr


def test_bad_settings_are_told(files: Path, tmp_path: Path) -> None:
    for setting, message in (
        ("width=wide", "width=wide: int expected"),
        ("colour=red", "no setting 'colour'"),
        ("width", "key=value"),
        ("encoder=big", "must be 'mask' or 'bow'"),
    ):
        done = entnet(
            "train", "--train", files / "train.txt", "--out", tmp_path / "x", "--set", setting,
            check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert message in plain(done.stderr)


def test_ctrl_c_leaves_a_run_that_goes_on(files: Path, tmp_path: Path) -> None:
    arguments = [
        "train", "--train", str(files / "train.txt"), "--out", str(tmp_path / "run"),
        "--epochs", "1000", "--set", "width=24", "--set", "engine=reference",
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "entnet", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background has had interrupts ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    metrics = tmp_path / "run" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not (metrics.is_file() and metrics.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the same command goes on" in plain(complaints)
    assert "Traceback" not in complaints


def test_data_list_and_verify(tmp_path: Path) -> None:
    empty = json.loads(entnet("data", "list", "--dir", tmp_path, "--json").stdout)
    assert empty["sets"]["babi"] == {"missing": 80}
    wrong = tmp_path / "babi" / "en" / "qa1_single-supporting-fact_train.txt"
    wrong.parent.mkdir(parents=True)
    wrong.write_text("1 Not official.\n")
    done = entnet("data", "verify", "babi", "--dir", tmp_path, check=False)
    assert done.returncode == 1
    assert "changed en/qa1" in plain(done.stdout)
    assert "no data set 'bible'" in plain(entnet("data", "verify", "bible", check=False).stderr)


def test_tensorboard_events(files: Path, tmp_path: Path) -> None:
    entnet(
        "train", "--train", files / "test.txt", "--out", tmp_path / "run", "--epochs", "2",
        "--set", "width=8", "--tensorboard",
    )  # fmt: skip
    assert list((tmp_path / "run" / "tensorboard").glob("events.*"))


def test_demo_reads_and_answers() -> None:
    done = entnet("demo", "--epochs", "2", "--questions", "500")
    text = plain(done.stdout)
    assert "Where is the milk?" in text
    assert "the slot holds" in text


@pytest.mark.parametrize("verb", ["train", "generate"])
def test_places_that_cannot_be_written_are_said_in_one_line(files: Path, verb: str) -> None:
    taken = files / "taken"
    taken.write_text("a file, where a folder would have to be")
    arguments = {
        "train": ("--train", files / "train.txt", "--out", taken / "run", "--epochs", "1"),
        "generate": ("babi", "--task", "1", "--questions", "5", "--out", taken / "a.txt"),
    }
    done = entnet(verb, *arguments[verb], check=False)
    assert done.returncode == 1
    assert plain(done.stderr).startswith("error: ")
    assert str(taken) in plain(done.stderr).replace(" ", "")


def test_the_version_is_printed() -> None:
    from importlib.metadata import version

    from typer.testing import CliRunner

    from entnet.cli import app

    assert CliRunner().invoke(app, ["--version"]).output == f"entnet {version('entnet')}\n"


def test_names_of_models_are_whole_in_a_narrow_terminal() -> None:
    from typer.testing import CliRunner

    from entnet import list_pretrained
    from entnet.cli import app

    shown = CliRunner().invoke(app, ["models"], env={"COLUMNS": "80"}).output
    assert set(list_pretrained()) <= set(re.findall(r"[\w-]+", shown))


def test_progress_says_how_many_epochs_and_how_long(files: Path, tmp_path: Path) -> None:
    done = entnet(
        "train", "--train", files / "test.txt", "--out", tmp_path / "run", "--epochs", "3",
        "--set", "width=8",
    )  # fmt: skip
    said = plain(done.stderr)
    assert re.search(r"epoch 1/3, at most 0:00:\d\d left loss [\d.]+ error", said)
    assert "epoch 3/3, at most 0:00:00 left" in said


def test_every_verb_explains_itself() -> None:
    from typer.testing import CliRunner

    from entnet.cli import app

    def help_of(*verb: str) -> str:
        return plain(CliRunner().invoke(app, [*verb, "--help"], env={"COLUMNS": "100"}).output)

    verbs = ("train", "evaluate", "ask", "generate", "models", "data", "demo", "inspect", "serve")
    for verb in (*verbs, "settings", "reproduce", "report"):
        assert verb in help_of()
        assert len(help_of(verb)) > 100


def test_help_fills_the_width_of_the_terminal() -> None:
    """A paragraph's lines are as long as they can be, whatever their length in the code."""
    from typer.testing import CliRunner

    from entnet.cli import app

    for verb in (["train"], ["generate", "babi"]):
        shown = CliRunner().invoke(app, [*verb, "--help"], env={"COLUMNS": "60"}).output
        about = [line.strip() for line in shown.partition("╭")[0].splitlines()[3:]]
        for line, following in itertools.pairwise(about):
            if line and following:
                assert len(line) + 1 + len(following.split()[0]) > 58, line


def test_environment_names_the_data_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTNET_DATA", str(tmp_path))
    assert json.loads(entnet("data", "list", "--json").stdout)["directory"] == str(tmp_path)
