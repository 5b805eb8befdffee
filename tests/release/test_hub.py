"""Networks on a Hugging Face hub: a real one on this machine, spoken to by huggingface_hub itself."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from entnet import StoryModel, Tracker
from entnet.cli import app
from entnet.errors import EntNetError, ModelFileError
from entnet.export import save_page
from entnet.hub import fetch, is_repository
from entnet.models.base import locate, pretrained_root
from entnet.release.hub import pull, push
from entnet.serve.library import Library
from local_hub import TOKEN, Hub, open_hub

# huggingface_hub's own way of sending files.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
NAME = "anna/qa1"


@pytest.fixture(scope="module")
def running() -> Iterator[Hub]:
    with open_hub() as hub:
        yield hub


@pytest.fixture
def hub(running: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """The hub, empty, and a user who is logged in."""
    for name, value in {
        "HF_ENDPOINT": running.url,
        "HF_HUB_CACHE": str(tmp_path / "cache"),
        "HF_TOKEN": TOKEN,
    }.items():
        monkeypatch.setenv(name, value)
    running.repositories.clear()
    running.asked.clear()
    running.broken = running.page = False
    fetch.cache_clear()
    yield running
    fetch.cache_clear()


def files_of(name: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (pretrained_root() / name).iterdir()}


def answers(tracker: Tracker) -> tuple[str, float]:
    tracker.read("Alice went to the garden. John moved to the office.")
    answer = tracker.ask("Where is Alice?")
    return answer.answer, answer.probability


def test_there_and_back(hub: Hub, tmp_path: Path) -> None:
    """What was pushed is read by name, the same to the last bit, new names and all."""
    where, commit = push("babi-qa1", NAME, licence="mit")
    assert where == f"{hub.url}/{NAME}"
    stored = hub.repositories[NAME].versions[commit]
    assert {name: stored[name] for name in files_of("babi-qa1")} == files_of("babi-qa1")
    assert stored.keys() - files_of("babi-qa1").keys() == {"README.md"}
    assert any(asked.startswith("PUT /large/") for asked in hub.asked)
    assert answers(Tracker.from_pretrained(NAME)) == answers(Tracker.from_pretrained("babi-qa1"))
    assert sorted(path.name for path in pull(NAME, tmp_path / "own").iterdir()) == sorted(
        files_of("babi-qa1")
    )
    assert Library([NAME]).names == ["qa1"]
    assert save_page(NAME, tmp_path / "page.html") > 100_000
    # The same again is no new commit.
    assert push("babi-qa1", NAME, licence="mit")[1] == commit


def test_nothing_but_weights_and_json_is_downloaded(hub: Hub) -> None:
    code = {"model.py": b"raise SystemExit", "pytorch_model.bin": b"\x80\x04", "x.pkl": b"."}
    hub.add(NAME, {**files_of("babi-qa1"), **code, "README.md": b"# hello"})
    found = locate(NAME)
    assert {path.name for path in found.iterdir()} == set(files_of("babi-qa1"))
    fetched = {asked.rpartition("/")[2] for asked in hub.asked if "/resolve/" in asked}
    assert not fetched & code.keys()


def test_versions(hub: Hub) -> None:
    first = hub.add(NAME, files_of("babi-qa1"))
    hub.repositories[NAME].branches["v1"] = first
    hub.add(NAME, files_of("babi-qa2"))
    for version, slots in (("", "babi-qa2"), ("@v1", "babi-qa1"), (f"@{first}", "babi-qa1")):
        found = StoryModel.from_pretrained(NAME + version)
        assert found.vocab == StoryModel.from_pretrained(slots).vocab
    with pytest.raises(ModelFileError, match="has no version 'v9'"):
        locate(f"{NAME}@v9")


def test_without_the_hub_what_was_downloaded_is_used(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(NAME, files_of("babi-qa1"))
    before = locate(NAME)
    hub.broken = True
    fetch.cache_clear()
    assert locate(NAME) == before
    hub.broken, hub.page = False, True
    fetch.cache_clear()
    assert locate(NAME) == before
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{taken.getsockname()[1]}")
        fetch.cache_clear()
        assert locate(NAME) == before
        with pytest.raises(ModelFileError, match=r"ben/other: no directory.* cannot be reached"):
            locate("ben/other")


def test_a_repository_that_is_not_there_or_private(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelFileError, match="neither a directory here nor a repository"):
        Tracker.from_pretrained("anna/nothing")
    with pytest.raises(ModelFileError, match="Cannot have -- or"):
        Tracker.from_pretrained("anna/not--a-name")
    push("babi-qa1", NAME, private=True)
    assert hub.repositories[NAME].private
    assert Tracker.from_pretrained(NAME)
    fetch.cache_clear()
    monkeypatch.setenv("HF_TOKEN", "hf_of_somebody_else")
    with pytest.raises(ModelFileError, match="hf auth login"):
        locate(NAME)
    with pytest.raises(EntNetError, match="anna/new: the hub does not let you write"):
        push("babi-qa1", "anna/new")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"model.safetensors": None}, "lacks model.safetensors"),
        ({"config.json": None, "vocab.json": None}, "lacks config.json, vocab.json"),
        ({"model.safetensors": b"no weights"}, "corrupt or truncated"),
        ({"config.json": b"[]"}, "not written by entnet"),
        ({"vocab.json": b'["<null>", 5]'}, "not a vocabulary"),
        ({"card.json": b"[" * 99_999}, "not JSON that can be read"),
        ({"card.json": b'{"temperature": 0}'}, "temperature must be above 0"),
        ({"card.json": b'{"binding": {"kinds": 5}}'}, "not a network's card"),
        (
            {"card.json": b'{"binding": {"kinds": [], "places": {"a _ b": [7]}, "questions": {}}}'},
            "not one that entnet wrote",
        ),
    ],
    ids=str,
)
def test_files_that_are_not_what_they_should_be(
    hub: Hub, broken: dict[str, bytes | None], message: str
) -> None:
    files = {**files_of("babi-qa1"), **broken}
    hub.add(NAME, {name: text for name, text in files.items() if text is not None})
    with pytest.raises(EntNetError, match=re.escape(message)):
        Tracker.from_pretrained(NAME)


def test_too_much_is_not_downloaded(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entnet.hub.MOST_BYTES", 1000)
    hub.add(NAME, files_of("babi-qa1"))
    with pytest.raises(ModelFileError, match="at most 1,000 are downloaded"):
        locate(NAME)
    assert not any("/resolve/" in asked for asked in hub.asked)


@pytest.mark.parametrize("name", ["babi-joint", "babi-qa2", "cbt-ne", "world", "long"])
def test_cards_are_in_the_format_of_the_hub(hub: Hub, name: str) -> None:
    push(name, NAME)
    (files,) = (files for files in hub.repositories[NAME].versions.values() if files)
    empty, front, text = files["README.md"].decode().split("---\n", 2)
    about = yaml.safe_load(front)
    assert empty == ""
    assert about["library_name"] == "entnet"
    assert about["pipeline_tag"] == "question-answering"
    assert f'Tracker.from_pretrained("{NAME}")' in text
    results = about.get("model-index", [{"results": []}])[0]["results"]
    # Only what was measured on official test files is said to be.
    assert len(results) == {"babi-joint": 20, "babi-qa2": 1}.get(name, 0)
    if name == "babi-joint":
        third = results[2]
        assert third["dataset"]["config"] == "en-10k-qa3"
        assert third["metrics"][0]["value"] == pytest.approx(95.3)
        assert "person: mary" in text


def test_what_names_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for name in ("anna/qa1", "anna/qa1@v1", "A-b/c_d.e"):
        assert is_repository(name)
    for name in (
        "qa1",
        "runs/qa1",
        "./a/b",
        "a/b/c",
        "/a/b",
        "a/b@",
        "a b/c",
        "ä/b",
        "-a/b",
        "",
        "a/b@../c",
        "a/..b",
    ):
        assert not is_repository(name), name
    assert not is_repository(Path("anna/qa1"))
    for wrong in ("qa1", "anna/qa1@v1", "a/b/c"):
        with pytest.raises(EntNetError, match="does not name a repository"):
            push("babi-qa1", wrong)


def test_networks_of_other_kinds_are_not_pushed(hub: Hub, tmp_path: Path) -> None:
    for name, text in {**files_of("babi-qa1"), "model.py": b"print()"}.items():
        (tmp_path / name).write_bytes(text)
    with pytest.raises(EntNetError, match="without running code"):
        push(str(tmp_path), NAME)
    assert not hub.asked


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    fetch.cache_clear()
    for act in (lambda: Tracker.from_pretrained("anna/qa5"), lambda: push("babi-qa1", NAME)):
        with pytest.raises(EntNetError, match=re.escape("pip install 'entnet[hub]'")):
            act()


def test_by_command(hub: Hub, tmp_path: Path) -> None:
    run = CliRunner()
    done = run.invoke(app, ["models", "push", "babi-qa1", NAME, "--license", "mit"])
    assert done.exit_code == 0, done.output
    done = run.invoke(app, ["models", "pull", NAME, "-o", str(tmp_path / "own")])
    assert done.exit_code == 0, done.output
    done = run.invoke(app, ["models", "pull", NAME, "-o", str(tmp_path / "own")])
    assert done.exit_code != 0
    story = "Mary went to the garden.\nWhere is Mary?\n"
    done = run.invoke(app, ["ask", NAME], input=story)
    assert "garden" in done.output
