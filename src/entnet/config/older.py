"""Settings that were texts in a little language, as the tables of today.

    exchange = ["mary sandra", "north+n south+s / east+e west+w"]    permute.groups
    exchange_unless, exchange_where = "bored tired"                  permute.skip_if, permute.only_if
    exchange_where_until = 132                                       permute.only_if_until
    exchange_from = 40                                               permute.from_epoch
    repeat = ["4 north south"]                                       oversample
    begin = ["40 north south"]                                       curriculum
    give_up = ["12 14.0", "34 training 49.5"]                        prune

Older presets, commands, runs and results have them; ``hashed.py`` goes the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from entnet.config.base import ConfigError

IN_PERMUTE = {
    "exchange": "groups",
    "exchange_unless": "skip_if",
    "exchange_where": "only_if",
    "exchange_where_until": "only_if_until",
    "exchange_from": "from_epoch",
}
LISTS = {"repeat": "oversample", "begin": "curriculum", "give_up": "prune"}
OLDER_TYPES: dict[str, Any] = {
    **dict.fromkeys(("exchange", *LISTS), tuple[str, ...]),
    **dict.fromkeys(("exchange_unless", "exchange_where"), str),
    "exchange_where_until": int | None,
    "exchange_from": int,
}
"""What the older settings hold."""


def restructured(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same options with tables in place of texts; others are left alone."""
    options = {name: value for name, value in values.items() if name not in OLDER_TYPES}
    permute = {
        IN_PERMUTE[name]: _IN_PERMUTE.get(name, _same)(value)
        for name, value in values.items()
        if name in IN_PERMUTE
    }
    if permute:
        options["permute"] = {**_table(options.get("permute", {})), **permute}
    for name, new in LISTS.items():
        if name not in values:
            continue
        if options.get(new):
            raise ConfigError(f"TrainConfig: {new} is given twice, once by an older name")
        options[new] = [_LISTS[name](text) for text in values[name]]
    return options


def _table(permute: Any) -> dict[str, Any]:
    return dict(permute) if isinstance(permute, Mapping) else dict(permute.to_dict())


def _same(value: Any) -> Any:
    return value


def group_of(text: str) -> list[Any]:
    """ "mary sandra", "north+n south+s", or blocks of these with / between them."""
    blocks = [[member.split("+") for member in block.split()] for block in text.split("/")]
    if not all(blocks):
        raise ConfigError(f"exchange: {text!r}: words expected on both sides of /")
    if len(blocks) > 1:
        return blocks
    if all(len(member) == 1 for member in blocks[0]):
        return [member[0] for member in blocks[0]]
    return blocks[0]


def _groups(texts: Sequence[str]) -> list[Any]:
    return [group_of(text) for text in texts]


_IN_PERMUTE: dict[str, Callable[[Any], Any]] = {
    "exchange": _groups,
    "exchange_unless": str.split,
    "exchange_where": str.split,
}


def _number_and_words(text: str, option: str) -> tuple[int, list[str]]:
    number, *words = text.split() or [""]
    if not number.isdigit() or int(number) < 1 or not words:
        raise ConfigError(
            f"{option}: a number and words expected, as '4 north south', not {text!r}"
        )
    return int(number), words


def _oversample(text: str) -> dict[str, Any]:
    times, words = _number_and_words(text, "repeat")
    return {"words": words, "times": times}


def _stage(text: str) -> dict[str, Any]:
    epochs, words = _number_and_words(text, "begin")
    return {"epochs": epochs, "only": words}


def _prune(text: str) -> dict[str, Any]:
    try:
        epoch, *kind, above = text.split()
        if kind not in ([], ["training"]):
            raise ValueError(kind)
        metric = {"metric": "train_error"} if kind else {}
        number = float(above) if "." in above else int(above)
        return {"epoch": int(epoch), **metric, "above": number}
    except ValueError as error:
        raise ConfigError(
            f'TrainConfig: give_up has {text!r}, but must be such as "12 14.0" or "9 training 30"'
        ) from error


_LISTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "repeat": _oversample,
    "begin": _stage,
    "give_up": _prune,
}
