"""A directory that is not what it says: an error for people each time, before anything large is made."""

from __future__ import annotations

import json
import random
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from entnet import EntNet, EntNetConfig, EntNetError, ModelFileError, StoryModel, Tracker, Vocab

WORDS = ["mary", "went", "to", "the", "garden"]
LARGE = 64_000
"""Kilobytes that refusing a network may take at most."""


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("networks") / "small"
    vocab = Vocab.build(WORDS)
    EntNet(EntNetConfig(vocabulary=len(vocab), width=4, slots=2), vocab).save_pretrained(path)
    return path


@pytest.fixture
def copy(network: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(network, tmp_path / "copy"))


def edit(path: Path, **changes: Any) -> None:
    about = json.loads((path / "config.json").read_text())
    about["config"] = {**about["config"], **changes}
    (path / "config.json").write_text(json.dumps(about))


@pytest.mark.parametrize(
    "changes",
    [
        {"sentence_length": 10**7},
        {"sentence_length": 10**7, "encoder": "bow"},
        {"sentence_length": 10**7, "encoder": "position"},
        {"hops": 10**9},
        {"hops": 101},
        {"width": 60_000},
        {"width": 10**12},
        {"slots": 10**9},
        {"slots": 10**40},
        {"slots": 900, "width": 900},
        {"vocabulary": 10**9},
        {"memory_limit": 10**30},
        {"answer_set": "answers", "answer_words": [77]},
        {"answer_set": "answers", "answer_words": [-1]},
        {"answer_set": "answers", "answer_words": ["mary"]},
        {"keys": "tied", "key_words": [1, 2]},
        {"keys": "tied", "key_words": ["mary", "nobody"]},
        {"width": -4},
        {"width": 4.5},
        {"width": True},
        {"dropout": float("nan")},
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(copy: Path, changes: dict[str, Any]) -> None:
    StoryModel.from_pretrained(copy)  # so that torch has loaded what it needs
    edit(copy, **changes)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFileError):
        StoryModel.from_pretrained(copy)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < LARGE


@pytest.mark.parametrize("kind", ["lstm", "memn2n"])
def test_other_networks_too(copy: Path, kind: str) -> None:
    about = {"format": 1, "kind": kind, "config": {"vocabulary": 6, "hops": 10**9}}
    (copy / "config.json").write_text(json.dumps(about))
    with pytest.raises(ModelFileError):
        StoryModel.from_pretrained(copy)


@pytest.mark.parametrize("file", ["config.json", "vocab.json"])
@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"config":' * 100_000,
        b"1" * 5000,
        b'{"format": ' + b"1" * 5000 + b', "kind": "entnet", "config": {}}',
        b'{"format": 1, "kind": ["entnet"], "config": {}}',
        b"\xff\xfe\x00",
        b"",
        b"null",
        b'["<null>", "a", "a"]',
        b'["<null>", 5]',
        b'["\\ud800"]',
    ],
    ids=lambda content: content[:20].decode("latin-1"),
)
def test_files_that_are_not_what_they_should_be(copy: Path, file: str, content: bytes) -> None:
    (copy / file).write_bytes(content)
    with pytest.raises(ModelFileError) as error:
        StoryModel.from_pretrained(copy)
    assert len(str(error.value)) < 2000


def test_sixty_thousand_repeated_words_are_named_at_once(copy: Path) -> None:
    words = ["<null>", *(f"w{n % 30_000}" for n in range(60_000))]
    (copy / "vocab.json").write_text(json.dumps(words))
    with pytest.raises(ModelFileError, match="repeated"):
        StoryModel.from_pretrained(copy)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_numbers_are_refused(copy: Path, value: float) -> None:
    weights = load_file(copy / "model.safetensors")
    weights["embedding"][1, 1] = value
    save_file(weights, copy / "model.safetensors")
    with pytest.raises(ModelFileError, match="embedding holds values that are not numbers"):
        StoryModel.from_pretrained(copy)


def test_random_changes_are_refused_or_harmless(copy: Path) -> None:
    """Hundreds of changed values: an error for people, or a network that can be read with."""
    about = json.loads((copy / "config.json").read_text())
    dice = random.Random(5)
    values = [
        None,
        True,
        -1,
        0,
        1,
        3,
        10**6,
        10**400,
        0.5,
        1e308,
        "",
        "mask",
        [],
        [1],
        {},
        "x" * 50,
    ]
    loaded = 0
    for _ in range(400):
        changed = {**about["config"], dice.choice(list(about["config"])): dice.choice(values)}
        (copy / "config.json").write_text(json.dumps({**about, "config": changed}))
        try:
            model = StoryModel.from_pretrained(copy)
        except ModelFileError:
            continue
        loaded += 1
        try:
            Tracker(model).read("Mary went to the garden.")  # type: ignore[arg-type]
        except EntNetError:
            continue
    assert loaded


def test_a_network_that_is_right_is_loaded_as_before(network: Path) -> None:
    model = StoryModel.from_pretrained(network)
    weights = load_file(network / "model.safetensors")
    assert all(torch.equal(weights[name], tensor) for name, tensor in model.state_dict().items())
