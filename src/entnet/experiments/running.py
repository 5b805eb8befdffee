"""One run of a sweep, from its specification to its line of results. Any process can do it."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from entnet.experiments.plan import specs_of
from entnet.experiments.preset import load_preset
from entnet.files import write_atomically
from entnet.locks import is_locked, sole_use
from entnet.models.registry import require_model_file
from entnet.tasks import benchmark
from entnet.tasks.spec import Result, RunSpec
from entnet.training.trainer import Callback

SCHEMA = 2
"""Of a line of results, the same for every benchmark; ``legacy`` reads older ones."""

CURVE_POINTS = 60


def run_one(spec: RunSpec, callback: Callback | None = None) -> Result:
    """Do a run, from wherever it stands, and return its line of results."""
    for file in spec.model_files:
        require_model_file(file)
    directory = Path(spec.directory)
    finished = directory / "line.json"
    if not is_outdated(spec) and finished.is_file():
        line: Result = json.loads(finished.read_text(encoding="utf-8"))
        return line
    for member in members_of(spec):
        run_one(member, callback)
    with sole_use(directory):
        began, cpu = time.monotonic(), time.process_time()
        line = {"schema": SCHEMA, **benchmark(spec.benchmark).run(spec, callback)}
        line["curve"] = learning_curve(directory / "metrics.jsonl")
        line.setdefault("seconds", round(time.monotonic() - began, 1))
        line["cpu_seconds"] = round(time.process_time() - cpu, 1)
        line["peak_memory_mb"] = peak_memory_mb()
        write_atomically(finished, json.dumps(line).encode())
    return line


def members_of(spec: RunSpec) -> list[RunSpec]:
    """The runs that a run needs first: those of its ensemble or mixture, and the one it begins as."""
    source = spec.source
    wanted: dict[str, list[int]] = {}
    if "of" in source:
        wanted = {source["of"]: list(source["seeds"])}
        wanted |= {name: [1] for name in source.get("language", ())}
    if source.get("begin"):
        wanted[source["begin"]] = [spec.seed]
    if not wanted:
        return []
    root, preset = Path(spec.directory).parents[3], load_preset(spec.table)
    members = [
        member
        for variant, seeds in wanted.items()
        for member in specs_of(preset, root, [spec.task], seeds, [variant])
    ]
    return [replace(member, data_root=spec.data_root) for member in members]


def is_outdated(spec: RunSpec) -> bool:
    """Whether the run's directory holds a run with other settings."""
    path = Path(spec.directory) / "run.json"
    if not path.is_file():
        return False
    about = json.loads(path.read_text(encoding="utf-8")).get("about", {})
    return bool(about.get("recipe") != spec.recipe)


def learning_curve(metrics: Path, points: int = CURVE_POINTS) -> dict[str, list[float]]:
    """Training and validation error at evenly spread epochs, the first and the last among them.

    Empty for a system that is not trained in epochs.
    """
    if not metrics.is_file():
        return {}
    lines = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    step = max((len(lines) - 1) / max(points - 1, 1), 1.0)
    places = {min(round(i * step), len(lines) - 1) for i in range(min(points, len(lines)))}
    kept = [lines[place] for place in sorted(places)]
    return {
        "epoch": [line["epoch"] for line in kept],
        "train_error": [round(line["train_error"], 2) for line in kept],
        "valid_error": [round(line["valid_error"], 2) for line in kept],
    }


def peak_memory_mb() -> int | None:
    """The most memory that this process has held so far; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(held / (1e6 if sys.platform == "darwin" else 1e3))


def is_busy(spec: RunSpec) -> bool:
    """Whether a process is at the run now, of this sweep or of another."""
    return is_locked(Path(spec.directory))
