"""Any set of systems on the same stories with the same time: what is run, and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from entnet.errors import EntNetError
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import load_preset
from entnet.experiments.results import read_results
from entnet.report.markdown import number
from entnet.tasks.spec import Result, RunSpec, TaskName

PRESET = "compare"


@dataclass(frozen=True)
class OwnStories:
    """Files to train on, to choose by, and to test with."""

    train: Path
    test: Path
    valid: Path | None = None

    @property
    def name(self) -> str:
        return self.train.stem

    @property
    def digest(self) -> str:
        """Of what is in the files: runs on other stories are other runs."""
        found = hashlib.sha256()
        for path in filter(None, (self.train, self.valid, self.test)):
            found.update(hashlib.sha256(path.read_bytes()).digest())
        return found.hexdigest()[:12]


def system_names() -> list[str]:
    """Every system that has a recipe."""
    return [variant.name for variant in load_preset(PRESET).variants]


def comparison(
    out: Path,
    systems: Sequence[str],
    minutes: float,
    seeds: int,
    tasks: Sequence[TaskName] | None = None,
    own: OwnStories | None = None,
    data_root: Path | None = None,
) -> list[RunSpec]:
    """The runs: each system by its recipe, for so many minutes on one core, on every task."""
    known = system_names()
    if unknown := [name for name in systems if name not in known]:
        raise EntNetError(f"no system {unknown[0]!r}; there are {', '.join(known)}")
    preset = load_preset(PRESET)
    specs = specs_of(
        preset,
        out / "runs",
        [1] if own else tasks,
        range(1, seeds + 1),
        list(systems) or known,
        data_root=data_root,
    )
    limit = {"max_seconds": 60.0 * minutes, "threads": 1}
    specs = [replace(spec, train={**spec.train, **limit}) for spec in specs]
    return [_on_own(spec, own) for spec in specs] if own else specs


def _on_own(spec: RunSpec, own: OwnStories) -> RunSpec:
    source = {"train": str(own.train), "test": str(own.test)}
    source |= {"valid": str(own.valid)} if own.valid else {}
    source["digest"] = own.digest
    directory = Path(spec.directory.replace("/qa1/", f"/{own.name}/"))
    return replace(
        spec,
        task=own.name,
        tasks=(own.name,),
        benchmark="stories",
        data=own.train.name,
        source=source,
        directory=str(directory),
    )


@dataclass(frozen=True)
class Standing:
    """How one system did: test errors in percent, at the epoch that is best on validation."""

    system: str
    errors: dict[str, list[float]]
    """By task, every seed's."""
    seconds_per_epoch: float
    parameters: int
    memory_mb: int | None
    minutes: float
    """Core-minutes of training, per run."""
    cut_short: int = 0
    """Runs that their time limit ended: with more time they might have come further."""

    @property
    def mean(self) -> float:
        """Over tasks, of the mean over seeds."""
        return fmean(fmean(errors) for errors in self.errors.values())

    def to_dict(self) -> dict[str, Any]:
        return {
            "mean_error": round(self.mean, 4),
            "tasks": {
                task: {
                    "mean": round(fmean(errors), 4),
                    "sd": round(_deviation(errors), 4),
                    "seeds": len(errors),
                }
                for task, errors in self.errors.items()
            },
            "seconds_per_epoch": round(self.seconds_per_epoch, 3),
            "minutes_per_run": round(self.minutes, 2),
            "runs_cut_short": self.cut_short,
            "parameters": self.parameters,
            "peak_memory_mb": self.memory_mb,
        }


def standings(results: Path) -> list[Standing]:
    """Every system that has finished runs, the best first."""
    lines: dict[str, list[Result]] = {}
    for line in read_results(results):
        lines.setdefault(line["variant"], []).append(line)
    return sorted(
        (_standing(system, runs) for system, runs in lines.items()), key=lambda one: one.mean
    )


def _standing(system: str, lines: list[Result]) -> Standing:
    errors: dict[str, list[float]] = {}
    for line in sorted(lines, key=lambda line: (str(line["task"]).zfill(3), line["seed"])):
        errors.setdefault(str(line["task"]), []).append(line["best"]["test_error"])
    held = [line["peak_memory_mb"] for line in lines if line.get("peak_memory_mb")]
    return Standing(
        system,
        errors,
        sum(line["seconds"] for line in lines) / max(sum(line["epochs"] for line in lines), 1),
        max(line["parameters"] for line in lines),
        max(held) if held else None,
        fmean(line["seconds"] for line in lines) / 60,
        sum(map(_cut_short, lines)),
    )


def _cut_short(line: Result) -> bool:
    limit = float(line.get("train", {}).get("max_seconds", 0.0))
    return 0 < limit <= float(line["seconds"])


def _deviation(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


def table_rows(found: Sequence[Standing]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table: a row per system."""
    tasks = sorted({task for one in found for task in one.errors}, key=lambda t: t.zfill(3))
    named = [f"qa{task}" if task.isdigit() else task for task in tasks]
    mean = ["mean"] if len(tasks) > 1 else []
    head = ["system", *named, *mean, "runs", "s/epoch", "min/run", "parameters", "MB"]
    rows = []
    for one in found:
        cells = [
            f"{fmean(errors):.1f} ± {_deviation(errors):.1f}" if errors else "–"
            for errors in (one.errors.get(task) for task in tasks)
        ]
        whole = [f"{one.mean:.1f}" if len(one.errors) == len(tasks) else "–"] if mean else []
        rows.append(
            [
                *(one.system, *cells, *whole),
                str(sum(map(len, one.errors.values())))
                + f" ({one.cut_short} cut)" * (one.cut_short > 0),
                *(f"{one.seconds_per_epoch:.2f}", number(one.minutes)),
                f"{one.parameters:,}",
                "–" if one.memory_mb is None else str(one.memory_mb),
            ]
        )
    return head, rows


def draw(found: Sequence[Standing], path: Path) -> None:
    """Test error by system and task, or of one task by system: every seed a dot, their mean a bar."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise EntNetError("the chart needs matplotlib: pip install 'entnet[plots]'") from error
    tasks = sorted({task for one in found for task in one.errors}, key=lambda t: t.zfill(3))
    width = 0.8 / len(found)
    figure, axis = pyplot.subplots(
        figsize=(max(5.0, 0.35 * len(tasks) * len(found) + 2.5), 3.8), layout="constrained"
    )
    for place, one in enumerate(found):
        at = [tasks.index(task) + (place - (len(found) - 1) / 2) * width for task in one.errors]
        axis.bar(at, [fmean(e) for e in one.errors.values()], 0.9 * width, label=one.system)
        for x, errors in zip(at, one.errors.values(), strict=True):
            axis.plot([x] * len(errors), errors, ".", color="black", markersize=3)
    names = [f"task {task}" if task.isdigit() else task for task in tasks]
    axis.set(ylabel="test error, %", ylim=(0, None))
    axis.axhline(5, color="grey", linewidth=0.8, linestyle=":")
    if len(tasks) == 1:
        places = [(place - (len(found) - 1) / 2) * width for place in range(len(found))]
        axis.set_xticks(places, [one.system for one in found])
        axis.set_xlabel(names[0])
    else:
        axis.set_xticks(range(len(tasks)), names)
        axis.legend(fontsize="small", ncols=2)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
