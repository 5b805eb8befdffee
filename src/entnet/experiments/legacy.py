"""Settings as they were written when most results were recorded.

A recipe is the hash of a run's options as its preset wrote them then. Settings have better names now; to
hash a recipe, they are turned back into the old ones, so that results from before the renaming still belong
to their presets. tests/experiments/test_recorded_results.py holds this for every committed result.
"""

from __future__ import annotations

from typing import Any

from entnet.config import TrainConfig
from entnet.config.older import IN_PERMUTE, LISTS

OLD_NAMES = {new: old for old, new in TrainConfig.aliases.items()}
OLD_PERMUTE = {new: old for old, new in IN_PERMUTE.items()}
OLD_LISTS = {new: old for old, new in LISTS.items()}
OLD_VALUES = {
    name: {new: old for old, new in values.items()}
    for name, values in TrainConfig.value_aliases.items()
}


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


Line = dict[str, Any]

GRID_UPDATES = 500
"""Updates per epoch on the grid; older lines count updates."""


def current_line(line: Line) -> Line:
    """A line of results as it would be written today; the file keeps it as it was."""
    if "best" in line:
        return line
    if isinstance(line.get("valid"), dict):
        return _grid_line(line)
    return _cbt_line(line)


def _grid_line(line: Line) -> Line:
    """Lines of table1a and table1b had shares of questions by length, and updates."""
    made = {name: value for name, value in line.items() if name not in _GRID_ONLY}
    spec = {**_GRID_DEFAULTS, **line["spec"]} if "spec" in line else {}
    old = f"{line['kind']} rate {line['rate']:g}"
    made["variant"] = line["variant"].replace(old, f"{line['kind']}-lr-{line['rate']:g}")
    cells = {
        length: {
            "valid_error": percent(line["valid"][length]),
            "test_error": percent(line["test"][length]),
        }
        for length in line["test"]
    }
    best: Line = {
        name: round(sum(cell[name] for cell in cells.values()) / len(cells), 6)
        for name in ("valid_error", "test_error")
    }
    best["cells"] = cells
    if spec:
        updates, model = spec["updates"], line["model"]
        quarter = updates // GRID_UPDATES // 4
        made["train"] = {
            "seed": line["seed"],
            "loss": "mean",
            "learning_rate": spec["rate"],
            "max_grad_norm": spec["clip"],
            "batch_size": spec["stories"],
            "batch_unit": "stories",
            "halving_rule": "text",
            "weight_average": spec["average"],
            "checkpoint": "last",
            "epochs": updates // GRID_UPDATES,
            "halve_every": spec["halve_every"] // GRID_UPDATES,
            "give_up": [f"{quarter} training {100 * spec['give_up']:g}"],
        }
        made["source"] = {
            name: spec[name]
            for name in ("length", "shortest", "ask_from", "ask_agents", "test_lengths")
        } | {"test_stories": spec["test_stories"]}
        if spec["test_lengths"] == [spec["length"]]:
            made["source"]["test_lengths"] = []
        made |= {"model": model, "epochs": line["updates"] // GRID_UPDATES}
        made["best_epoch"] = made["epochs"]
        best |= {"valid_questions": line["questions"], "test_questions": line["questions"]}
        made["averaged"] = line["chosen"] == "average"
        made["seconds"] = line.get("processor_seconds", line.get("seconds"))
    return {**made, "best": best, "last": best}


_GRID_DEFAULTS: Line = {
    "clip": 40.0,
    "stories": 32,
    "halve_every": 10_000,
    "shortest": None,
    "ask_from": None,
    "ask_agents": "all",
    "average": 0.0,
    "give_up": 1.0,
    "test_lengths": [],
    "test_stories": 5_000,
}
_GRID_ONLY = ("spec", "length", "rate", "updates", "chosen", "valid", "test", "questions", "curve")


def _cbt_line(line: Line) -> Line:
    """Lines of table4 had accuracies, and passes over the data as epochs."""
    made = {name: value for name, value in line.items() if name not in _CBT_ONLY}
    best: Line = {}
    for name in ("valid", "test"):
        best[f"{name}_error"] = percent(1 - line[name])
        if f"{name}_questions" in line:
            best[f"{name}_questions"] = line[f"{name}_questions"]
    if "epochs" in line:
        made["passes"] = line["epochs"]
    return {**made, "best": best, "last": best}


_CBT_ONLY = ("valid", "test", "valid_questions", "test_questions", "epochs", "curve")


def percent(share: float) -> float:
    """A share of questions in percent, without what the multiplication adds to its last digits."""
    return round(100 * share, 6)
