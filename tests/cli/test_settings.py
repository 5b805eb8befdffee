"""Settings given as key=value on the command line."""

from __future__ import annotations

import pytest

from entnet.cli.common import parse_settings
from entnet.config import ConfigError, TrainConfig

GROUPS = ("mary sandra", "john daniel")


@pytest.mark.parametrize(
    "text",
    ["mary sandra, john daniel", '["mary sandra", "john daniel"]', "mary sandra,john daniel,"],
)
def test_a_list_has_commas_or_is_written_as_in_presets(text: str) -> None:
    assert parse_settings([f"exchange={text}"], TrainConfig) == [{"exchange": GROUPS}]


@pytest.mark.parametrize("text", ['["mary sandra"', "[mary]", "[1, 2]"])
def test_a_broken_list_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match='a list such as .*"one", "two".* expected'):
        parse_settings([f"exchange={text}"], TrainConfig)


def test_values_have_their_fields_type() -> None:
    given = ["rate=0.5", "epochs=3", "hold=none", "draw=question", "whole_batches_only=yes"]
    (options,) = parse_settings(given, TrainConfig)
    assert options == {
        "rate": 0.5,
        "epochs": 3,
        "hold": None,
        "draw": "question",
        "whole_batches_only": True,
    }
    with pytest.raises(ConfigError, match="epochs=many: int expected"):
        parse_settings(["epochs=many"], TrainConfig)
