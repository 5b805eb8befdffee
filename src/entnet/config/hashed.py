"""Settings as they were written when most results were recorded.

A recipe is the hash of a run's options as its preset wrote them then. Settings have better names now; to
hash a recipe, they are turned back into the old ones, so that results from before the renaming still belong
to their presets. tests/experiments/test_recorded_results.py holds this for every committed result.
"""

from __future__ import annotations

from typing import Any

from entnet.config.older import IN_PERMUTE, LISTS
from entnet.config.train import TrainConfig

OLD_NAMES = {new: old for old, new in TrainConfig.aliases.items()}
OLD_PERMUTE = {new: old for old, new in IN_PERMUTE.items()}
OLD_LISTS = {new: old for old, new in LISTS.items()}
OLD_VALUES = {
    name: {new: old for old, new in values.items()}
    for name, values in TrainConfig.value_aliases.items()
}

OLD_SOURCE_NAMES = {"fresh": "oov_rows", "disguise": "oov_probability"}
"""What is said of a benchmark's data: {old: new}."""


def old_source_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of the source under their old names."""
    old = {new: before for before, new in OLD_SOURCE_NAMES.items()}
    return {old.get(name, name): value for name, value in options.items()}


def old_train_options(options: dict[str, Any]) -> dict[str, Any]:
    """Training options under their old names, with the old values; none is added or left out."""
    old: dict[str, Any] = {}
    for name, value in TrainConfig.renamed(options).items():
        known = OLD_VALUES.get(name, {})
        if name == "permute":
            old |= {OLD_PERMUTE[part]: _in_texts(part, said) for part, said in value.items()}
        elif name in OLD_LISTS:
            old[OLD_LISTS[name]] = [_text(name, rule) for rule in value]
        else:
            old[OLD_NAMES.get(name, name)] = known.get(value, value) if known else value
    return old


def _in_texts(part: str, value: Any) -> Any:
    """A part of ``permute`` as it was written before there were tables."""
    if part == "groups":
        return [_group(group) for group in value]
    return " ".join(value) if part in ("skip_if", "only_if") else value


def _group(group: Any) -> str:
    """["mary", "sandra"] as "mary sandra"; members of several words have +, blocks have / between them."""
    if any(isinstance(part, str) for part in group):
        return " ".join(group)
    if any(isinstance(word, str) for member in group for word in member):
        return " ".join("+".join(member) for member in group)
    return " / ".join(" ".join("+".join(member) for member in block) for block in group)


def _text(name: str, rule: dict[str, Any]) -> str:
    if name == "oversample":
        return f"{rule['times']} {' '.join(rule['words'])}"
    if name == "curriculum":
        return f"{rule['epochs']} {' '.join(rule['only'])}"
    training = "training " if rule.get("metric") == "train_error" else ""
    return f"{rule['epoch']} {training}{rule['above']}"
