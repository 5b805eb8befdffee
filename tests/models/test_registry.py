"""A kind is found whatever was imported before, from the package, a plug-in or a file."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from entnet import EntNet, ModelFileError, Vocab
from entnet.models import kinds, load_model_file, model_class, register, registry

KINDS = ("entnet", "lstm", "memn2n", "window-memory")

MINE = """
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from entnet.config import ModelConfig
from entnet.models import StoryModel, register


@dataclass(frozen=True)
class BagConfig(ModelConfig):
    kind: ClassVar[str] = "KIND"
    width: int = 8


@register
class Bag(StoryModel):
    config_class = BagConfig

    def __init__(self, config, vocab):
        super().__init__(config, vocab)
        self.embedding = nn.Parameter(torch.randn(config.vocabulary, config.width))

    def forward(self, batch):
        question = self.embedding[batch.question_words].sum(1)
        return question @ self.embedding.T
"""


def write_model(directory: Path, kind: str) -> Path:
    path = directory / f"{kind}.py"
    path.write_text(MINE.replace("KIND", kind))
    return path


@pytest.fixture(autouse=True)
def forget_new_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds()  # modules are imported once, and register once
    monkeypatch.setattr(registry, "_classes", dict(registry._classes))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_found_in_a_fresh_process(kind: str) -> None:
    code = f"from entnet.models.registry import model_class; print(model_class({kind!r}).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == model_class(kind).__name__, done.stderr


def test_all_kinds_are_listed() -> None:
    assert set(KINDS) <= set(kinds())


def test_an_unknown_kind_says_what_there_is_and_what_to_pass() -> None:
    with pytest.raises(ModelFileError, match=r"'gru'.*entnet, .*lstm, .*--model-file"):
        model_class("gru")


def test_a_kind_cannot_be_taken_twice() -> None:
    class Other(EntNet):
        pass

    with pytest.raises(ModelFileError, match="'entnet' is taken by entnet.models.entnet.EntNet"):
        register(Other)
    assert model_class("entnet") is EntNet


def test_a_file_brings_its_kind_and_may_be_loaded_again(tmp_path: Path) -> None:
    path = write_model(tmp_path, "bag")
    assert load_model_file(path) == ["bag"]
    assert load_model_file(path) == ["bag"]
    assert model_class("bag").__name__ == "Bag"


def test_mistakes_in_a_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model_file(tmp_path / "none.py")
    path = tmp_path / "broken.py"
    path.write_text("1 / 0")
    with pytest.raises(ModelFileError, match="broken.py: ZeroDivisionError"):
        load_model_file(path)
    path.write_text("x = 1")
    with pytest.raises(ModelFileError, match="registers no model"):
        load_model_file(path)


@pytest.mark.slow
def test_a_saved_model_keeps_its_source_and_never_runs_it_unasked(tmp_path: Path) -> None:
    path = write_model(tmp_path, "kept")
    (kind,) = load_model_file(path)
    vocab = Vocab(["<null>", "mary"])
    bag = model_class(kind)
    saved = tmp_path / "saved"
    bag(bag.config_class(vocabulary=2, sentence_length=3), vocab).save_pretrained(saved)
    copy = saved / "model.py"
    assert copy.read_bytes() == path.read_bytes()

    trap = tmp_path / "ran"
    copy.write_text(copy.read_text() + f"\nopen({str(trap)!r}, 'w').close()\n")
    load = f"from entnet import StoryModel; StoryModel.from_pretrained({str(saved)!r})"
    refused = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True)
    assert f"pass --model-file {copy}" in refused.stderr
    assert not trap.exists()
    asked = f"from entnet.models import load_model_file; load_model_file({str(copy)!r}); {load}"
    subprocess.run([sys.executable, "-c", asked], check=True)
    assert trap.exists()


def test_plug_ins_are_found_by_entry_point_and_a_broken_one_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_model(tmp_path, "pluggedin")
    monkeypatch.syspath_prepend(str(tmp_path))
    group = registry.ENTRY_POINTS
    found = [
        EntryPoint("broken", "no_such_module", group),
        EntryPoint("mine", "pluggedin", group),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: found)
    registry._import_all.cache_clear()
    assert model_class("pluggedin").__name__ == "Bag"
    assert "broken (no_such_module) cannot be loaded" in caplog.text


@pytest.mark.slow
def test_an_installed_plug_in_is_found_by_its_metadata_alone(tmp_path: Path) -> None:
    """What pip leaves behind when it installs docs/new-model.md's package."""
    write_model(tmp_path, "installed")
    metadata = tmp_path / "installed-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text("[entnet.models]\ninstalled = installed\n")
    code = "from entnet.models import model_class; print(model_class('installed').__module__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout.strip() == "installed", done.stderr
