"""Configurations refuse what cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from entnet import ConfigError, EntNetConfig, TrainConfig


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
        ({"key_words": ("a",)}, "for tied keys only"),
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
        ({"rate": 0}, "rate is 0"),
        ({"give_up": ("12",)}, "give_up has .12., but must be such as .12 14.0."),
        ({"give_up": ("12 soon",)}, "give_up has .12 soon."),
        ({"give_up": ("12 test 14.0",)}, "give_up has .12 test 14.0."),
        ({"rate": "fast"}, "rate is 'fast', but must be float"),
        ({"clip": -1.0}, "clip is -1.0"),
        ({"validation": 1.0}, "validation is a share"),
        ({"hold": 0}, "hold is 0"),
        ({"schedule": "cosine"}, "schedule is 'cosine'"),
        ({"exchange_where_until": 5}, "limit of exchange_where, but there is none"),
    ],
)
def test_impossible_training(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TrainConfig.from_dict(values)


def test_there_and_back() -> None:
    config = EntNetConfig(keys="tied", key_words=("a", "b"), slots=2, memory_limit=None)
    assert EntNetConfig.from_dict(config.to_dict()) == config
    assert config.replace(width=3).width == 3
