"""Configurations refuse what cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from entnet import ConfigError, EntNetConfig, EntNetError, TrainConfig
from entnet.config.hashed import old_train_options


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 0}, "width is 0, but must be at least 1"),
        ({"width": 2.5}, "width is 2.5, but must be int"),
        ({"width": True}, "width is True"),
        ({"encoder": "lstm"}, "encoder is 'lstm', but must be 'mask' or 'bow' or 'position'"),
        ({"vocabulary": 1}, "vocabulary is 1"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"embedding_scale": -1}, "embedding_scale is -1"),
        ({"keys": "tied"}, "a word for each of the 20 slots, got 0"),
        ({"key_words": ("a",)}, "for tied and named keys only"),
        ({"output": "slots", "hops": 2}, "one hop"),
        ({"answer_words": (1,)}, "answer_set"),
        ({"memory_limit": 0}, "memory_limit is 0"),
        ({"shape": 1}, "no such field: shape"),
    ],
)
def test_impossible_networks(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        EntNetConfig.from_dict(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"learning_rate": 0}, "learning_rate is 0"),
        ({"give_up": ("12",)}, "give_up has .12., but must be such as .12 14.0."),
        ({"give_up": ("12 soon",)}, "give_up has .12 soon."),
        ({"give_up": ("12 test 14.0",)}, "give_up has .12 test 14.0."),
        ({"learning_rate": "fast"}, "learning_rate is 'fast', but must be float"),
        ({"max_grad_norm": -1.0}, "max_grad_norm is -1.0"),
        ({"validation": 1.0}, "validation is a share"),
        ({"hold_epochs": 0}, "hold_epochs is 0"),
        ({"schedule": "cosine"}, "schedule is 'cosine'"),
        ({"exchange_where_until": 5}, "limit of only_if, but there is none"),
    ],
)
def test_impossible_training(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TrainConfig.from_dict(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"permute": {"groups": ["mary"]}}, "groups has 'mary', but must be lists of words"),
        ({"permute": {"groups": [["a", ["b", "c"]]]}}, "but not mixed"),
        ({"permute": {"groups": [[["a", "b"], ["c"]]]}}, "every member needs as many words"),
        ({"permute": {"groups": [[[["a"]], [["b"], ["c"]]]]}}, "every block needs as many members"),
        ({"permute": {"groups": [["a", "b"], ["b", "c"]]}}, "'b' is in two groups"),
        ({"permute": {"from_epoch": 0}}, "from_epoch is 0"),
        ({"permute": {"group": []}}, "Permute: no such field: group"),
        ({"oversample": [{"times": 2}]}, "Oversample: words: at least one"),
        ({"curriculum": [{"epochs": 0, "only": ["a"]}]}, "Stage: epochs is 0"),
        ({"prune": [{"metric": "loss"}]}, "metric is 'loss', but must be 'valid_error' or"),
        ({"prune": ["12 14.0"]}, "prune is .* a list of Prune"),
        ({"repeat": ["2 a"], "oversample": [{"words": ["a"]}]}, "oversample is given twice"),
    ],
)
def test_impossible_tables(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TrainConfig.from_dict(values)


STRUCTURED = {
    "permute": {
        "groups": [
            ["mary", "sandra"],
            [["north", "n"], ["south", "s"]],
            [[["left"], ["right"]], [["above"], ["below"]]],
        ],
        "skip_if": ["bored", "tired"],
        "only_if": ["milk"],
        "only_if_until": 12,
        "from_epoch": 40,
    },
    "oversample": [{"words": ["east", "west"], "times": 4}],
    "curriculum": [{"epochs": 60, "only": ["frog"]}, {"epochs": 20, "only": ["frog", "lion"]}],
    "prune": [
        {"epoch": 12, "above": 14.0},
        {"epoch": 34, "metric": "train_error", "above": 50},
    ],
}
IN_TEXTS = {
    "exchange": ["mary sandra", "north+n south+s", "left right / above below"],
    "exchange_unless": "bored tired",
    "exchange_where": "milk",
    "exchange_where_until": 12,
    "exchange_from": 40,
    "repeat": ["4 east west"],
    "begin": ["60 frog", "20 frog lion"],
    "give_up": ["12 14.0", "34 training 50"],
}


def test_tables_go_to_json_and_back_and_are_read_from_older_texts() -> None:
    config = TrainConfig.from_dict(STRUCTURED)
    assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert TrainConfig.from_dict(IN_TEXTS) == config
    assert old_train_options(STRUCTURED) == IN_TEXTS
    assert TrainConfig.renamed(IN_TEXTS) == STRUCTURED
    assert config.replace(epochs=3).permute == config.permute


def test_an_impossible_configuration_is_an_error_of_this_package() -> None:
    with pytest.raises(EntNetError):
        TrainConfig(epochs=0)
    assert issubclass(ConfigError, ValueError)


def test_there_and_back() -> None:
    config = EntNetConfig(keys="tied", key_words=("a", "b"), slots=2, memory_limit=None)
    assert EntNetConfig.from_dict(config.to_dict()) == config
    assert config.replace(width=3).width == 3


def test_older_names_and_values_are_read() -> None:
    old = {"rate": 0.5, "epoch": "draws", "patience": 3, "stop_after_best": 7, "select": "last"}
    config = TrainConfig.from_dict(old)
    assert (config.learning_rate, config.sampling, config.checkpoint) == (
        0.5,
        "replacement",
        "last",
    )
    assert (config.lr_patience, config.early_stopping) == (3, 7)
    with pytest.raises(ConfigError, match="learning_rate is given twice"):
        TrainConfig.from_dict({"rate": 0.5, "learning_rate": 0.1})
