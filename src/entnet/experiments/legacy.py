"""Lines of results from before the one schema, read as they would be written today."""

from __future__ import annotations

from entnet.tasks.spec import Result

GRID_UPDATES = 500
"""Updates per epoch on the grid; older lines count updates."""


def current_line(line: Result) -> Result:
    """A line of results as it would be written today; the file keeps it as it was."""
    if "best" in line:
        return line
    if isinstance(line.get("valid"), dict):
        return _grid_line(line)
    return _cbt_line(line)


def _grid_line(line: Result) -> Result:
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
    best: Result = {
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


_GRID_DEFAULTS: Result = {
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


def _cbt_line(line: Result) -> Result:
    """Lines of table4 had accuracies, and passes over the data as epochs."""
    made = {name: value for name, value in line.items() if name not in _CBT_ONLY}
    best: Result = {}
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
