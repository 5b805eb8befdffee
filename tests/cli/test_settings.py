"""Settings given as key=value on the command line."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from entnet.cli import app
from entnet.cli.common import parse_settings
from entnet.config import ConfigError, EntNetConfig, TrainConfig

GROUPS = [["mary", "sandra"], ["john", "daniel"]]


@pytest.mark.parametrize(
    "text",
    ["mary sandra, john daniel", '["mary sandra", "john daniel"]', "mary sandra,john daniel,"],
)
def test_a_list_has_commas_or_is_written_as_in_presets(text: str) -> None:
    assert parse_settings([f"exchange={text}"], TrainConfig) == [{"permute": {"groups": GROUPS}}]


@pytest.mark.parametrize("text", ['["mary sandra"', "[mary]", "[1, 2]"])
def test_a_broken_list_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match='a list such as .*"one", "two".* expected'):
        parse_settings([f"exchange={text}"], TrainConfig)


def test_values_have_their_fields_type() -> None:
    given = [
        "learning_rate=0.5",
        "epochs=3",
        "hold_epochs=none",
        "example=question",
        "drop_last=yes",
    ]
    (options,) = parse_settings(given, TrainConfig)
    assert options == {
        "learning_rate": 0.5,
        "epochs": 3,
        "hold_epochs": None,
        "example": "question",
        "drop_last": True,
    }
    with pytest.raises(ConfigError, match="epochs=many: int expected"):
        parse_settings(["epochs=many"], TrainConfig)


def test_settings_lists_every_field_with_its_default_and_text() -> None:
    listed = json.loads(CliRunner().invoke(app, ["settings", "--json"]).stdout)
    for section, owner in (("model", EntNetConfig), ("train", TrainConfig)):
        got = {setting["name"]: setting for setting in listed[section]}
        default = json.loads(json.dumps(owner().to_dict()))
        assert {name: setting["default"] for name, setting in got.items()} == default
    docs = {setting["name"]: setting["doc"] for setting in listed["model"]}
    assert docs["slots"] == "m: memory slots."
    assert docs["sentence_length"].startswith("L: words in the longest sentence")  # inherited
    undocumented = [name for name, doc in docs.items() if not doc]
    assert undocumented == []


def test_settings_are_those_of_the_kind_of_network() -> None:
    listed = json.loads(CliRunner().invoke(app, ["settings", "--model", "lstm", "--json"]).stdout)
    assert "slots" not in {setting["name"] for setting in listed["model"]}


def test_settings_fit_a_terminal_and_cut_no_name() -> None:
    shown = CliRunner().invoke(app, ["settings"], env={"COLUMNS": "80"}).output
    assert "separate_encoders" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_older_names_and_values_still_work() -> None:
    given = ["rate=0.5", "hold=none", "epoch=draws", "patience=3", "stop_after_best=7"]
    (options,) = parse_settings(given, TrainConfig)
    assert options == {
        "learning_rate": 0.5,
        "hold_epochs": None,
        "sampling": "replacement",
        "lr_patience": 3,
        "early_stopping": 7,
    }


def test_tables_are_given_part_by_part_or_as_json() -> None:
    given = [
        'permute.groups=[["mary", "sandra"]]',
        "permute.from_epoch=40",
        "permute.skip_if=bored, tired",
        'prune=[{"epoch": 12, "above": 14}]',
    ]
    (options,) = parse_settings(given, TrainConfig)
    assert options == {
        "permute": {
            "groups": [["mary", "sandra"]],
            "from_epoch": 40,
            "skip_if": ("bored", "tired"),
        },
        "prune": [{"epoch": 12, "above": 14}],
    }
    with pytest.raises(ConfigError, match="permute has groups, skip_if"):
        parse_settings(["permute.words=a"], TrainConfig)
    with pytest.raises(ConfigError, match="JSON expected"):
        parse_settings(["prune=12 14"], TrainConfig)
