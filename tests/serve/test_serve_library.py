"""The networks that a service offers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from entnet import EntNet, EntNetConfig, EntNetError, Vocab, list_pretrained
from entnet.config import ConfigError
from entnet.release.cbt import SHIPPED
from entnet.release.propara import NAME as PROPARA
from entnet.serve.library import Library
from entnet.serve.problems import NoModelError
from entnet.serve.run import is_loopback, settings_for
from entnet.serve.settings import ServeSettings


def test_networks_are_loaded_once_and_few_at_a_time(walking_networks: dict[str, Path]) -> None:
    library = Library([str(path) for path in walking_networks.values()], limit=1)
    assert library.names == ["walks-free", "walks-tied"]
    free = library.load("walks-free")
    assert library.load("walks-free") is free
    library.load("walks-tied")
    assert library.load("walks-free") is not free
    with pytest.raises(NoModelError, match="walks-tied"):
        library.load("../walks-free")


def test_a_runs_network_goes_by_the_runs_name(
    walking_networks: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(walking_networks["walks-free"], tmp_path / "my-run" / "model")
    assert Library([str(tmp_path / "my-run")]).names == ["my-run"]


def test_two_of_the_same_name_are_refused(
    walking_networks: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(walking_networks["walks-free"], tmp_path / "walks-free")
    with pytest.raises(EntNetError, match="two networks named"):
        Library([str(walking_networks["walks-free"]), str(tmp_path / "walks-free")])


def test_a_card_tells_what_a_network_is(walking_networks: dict[str, Path], tmp_path: Path) -> None:
    for name in ("babi-qa7", "own-qa9"):
        shutil.copytree(walking_networks["walks-free"], tmp_path / name)
    card = {"title": "counting, 10k", "task": 7, "test_error": 0.3}
    (tmp_path / "babi-qa7" / "card.json").write_text(json.dumps(card))
    offers = Library([str(tmp_path / "babi-qa7"), str(tmp_path / "own-qa9")]).offers
    said = {
        name: (offer.about["task"], offer.about["test_error"]) for name, offer in offers.items()
    }
    assert said == {"babi-qa7": (7, 0.3), "own-qa9": (9, None)}


def test_networks_that_need_keys_with_each_story_are_refused(tmp_path: Path) -> None:
    vocab = Vocab.build(["cat", "dog"])
    config = EntNetConfig(vocabulary=len(vocab), width=4, slots=2, keys="story", output="slots")
    EntNet(config, vocab).save_pretrained(tmp_path / "cloze")
    with pytest.raises(EntNetError, match="cloze cannot be served: this network takes its keys"):
        Library([str(tmp_path / "cloze")])


def test_what_is_shipped_is_offered() -> None:
    if list_pretrained():
        # Those for the Children's Book Test need a question's candidates, and read no other story.
        stories = [name for name in list_pretrained() if name not in (*SHIPPED, PROPARA)]
        assert Library().names == stories
        assert list(Library().processes) == [PROPARA]
    else:
        with pytest.raises(EntNetError, match="no network to serve"):
            Library()


def test_beyond_loopback_a_key_is_needed() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org"))
    assert "localhost" in settings_for("127.0.0.1", ServeSettings()).hosts
    with pytest.raises(EntNetError, match="--api-key"):
        settings_for("0.0.0.0", ServeSettings())
    assert settings_for("0.0.0.0", ServeSettings(api_key="long enough")).hosts == ()
    with pytest.raises(ConfigError, match="8 characters"):
        ServeSettings(api_key="long enough,short")
