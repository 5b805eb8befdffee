"""Networks on disk."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from entnet import Corpus, EntNet, EntNetConfig, ModelFileError, Story, StoryModel, Vocab
from entnet.data.story import story_words


@pytest.fixture
def saved(stories: list[Story], tmp_path: Path) -> tuple[EntNet, Corpus, Path]:
    vocab = Vocab.build(story_words(stories))
    config = EntNetConfig(vocabulary=len(vocab), sentence_length=5, width=4, slots=2)
    model = EntNet(config, vocab)
    model.save_pretrained(tmp_path / "net")
    return model, Corpus.encode(stories, vocab, 5), tmp_path / "net"


def test_saved_and_loaded_answers_alike(saved: tuple[EntNet, Corpus, Path]) -> None:
    model, corpus, path = saved
    batch = corpus.entries().batch(np.arange(3))
    loaded = StoryModel.from_pretrained(path)
    assert isinstance(loaded, EntNet)
    assert loaded.config == model.config
    assert loaded.vocab == model.vocab
    assert torch.equal(loaded(batch), model(batch))
    assert sorted(p.name for p in path.iterdir()) == [
        "config.json",
        "model.safetensors",
        "vocab.json",
    ]


def _edit(path: Path, **changes: object) -> None:
    about = json.loads(path.read_text())
    path.write_text(json.dumps({**about, **changes}))


def test_each_damage_has_its_message(saved: tuple[EntNet, Corpus, Path]) -> None:
    model, _, path = saved
    weights = (path / "model.safetensors").read_bytes()
    config = json.loads((path / "config.json").read_text())["config"]

    def refused(message: str) -> None:
        with pytest.raises(ModelFileError, match=message):
            StoryModel.from_pretrained(path)
        model.save_pretrained(path)

    (path / "model.safetensors").write_bytes(weights[:-10])
    refused("corrupt or truncated")
    (path / "model.safetensors").write_bytes(b"PK\x03\x04 something else entirely")
    refused("corrupt or truncated")
    (path / "model.safetensors").unlink()
    refused("missing")
    (path / "config.json").write_text("{")
    refused("not JSON")
    (path / "config.json").write_text("{}")
    refused("not written by entnet")
    _edit(path / "config.json", format=99)
    refused("format version 99")
    _edit(path / "config.json", kind="perceptron")
    refused("kind 'perceptron'")
    _edit(path / "config.json", config={**config, "colour": "red"})
    refused("no such field: colour")
    _edit(path / "config.json", config={**config, "width": 5})
    refused(r"is \(.*\), the configuration says")
    _edit(path / "config.json", config={**config, "gate_bias": False})
    refused("has unexpected memory.gate_bias")
    _edit(path / "config.json", config={**config, "share_slopes": False})
    refused("lacks readout.slope")
    (path / "vocab.json").write_text('["<null>", "a"]')
    refused("the vocabulary has 2")
    (path / "vocab.json").unlink()
    refused("vocab.json is missing")
    StoryModel.from_pretrained(path)


def test_unknown_name_lists_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is not there"):
        StoryModel.from_pretrained("no-such-network")
    with pytest.raises(ModelFileError, match="holds no network"):
        StoryModel.from_pretrained(tmp_path)
