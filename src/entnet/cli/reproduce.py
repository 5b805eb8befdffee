"""``entnet reproduce``"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from entnet.cli.common import console, error_console, parse_settings, warn
from entnet.config import TrainConfig
from entnet.data.cbt import KINDS, Kind
from entnet.errors import EntNetError
from entnet.experiments import cbt, gridworld
from entnet.experiments.cbt_systems import SYSTEMS
from entnet.experiments.display import LiveDisplay, PlainLines, best_by_task
from entnet.experiments.gridworld_run import GridSpec
from entnet.experiments.preset import load_preset, preset_names
from entnet.experiments.results import results_path
from entnet.experiments.spec import is_changed, parse_numbers, specs_of, task_label
from entnet.experiments.sweep import Sweep, SweepWatcher, drop_outdated
from entnet.experiments.workers import LocalWorkers, Workers
from entnet.models import model_class

Engine = Literal["local", "ray"]


@dataclass(frozen=True)
class Other:
    """A table with a way of running of its own: the function, and its arguments for our options."""

    run: Callable[..., object]
    folder: str
    arguments: dict[str, str]


OTHERS = {
    "table1a": Other(
        gridworld.reproduce_table1a,
        "gridworld",
        {
            "seeds": "seeds",
            "tasks": "lengths",
            "variant": "kinds",
            "jobs": "jobs",
            "set": "changes",
        },
    ),
    "table1b": Other(gridworld.reproduce_table1b, "gridworld", {"seeds": "seeds", "jobs": "jobs"}),
    "table4": Other(
        cbt.reproduce_table4,
        "cbt",
        {"seeds": "seeds", "tasks": "kinds", "variant": "systems", "set": "changes"},
    ),
}

KNOWN = ", ".join([*preset_names(), *OTHERS])


def register(app: typer.Typer) -> None:
    app.command()(reproduce)


def reproduce(
    table: Annotated[str, typer.Argument(help=f"The table: {KNOWN}.")],
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Only these tasks, e.g. 1,4-6; of table1a these lengths, of table4 NE or CN."
        ),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="These seeds, e.g. 1-3, not the preset's.")
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this variant of the preset, or this network of table1a or table4; may be repeated."
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Runs at a time; else as many as cores.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs, not the preset's.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, e.g. --set rate=0.003.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The data directory; else $ENTNET_DATA.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Where runs keep what they need to go on.")] = Path(
        "runs"
    ),
    results: Annotated[
        Path | None,
        typer.Option(
            help="Where finished runs are written down; else results, or RUNS/results if changed."
        ),
    ] = None,
    all_seeds: Annotated[
        bool, typer.Option("--all-seeds", help="Run every seed, even when a task is solved.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Drop runs that were done with other settings.")
    ] = False,
    engine: Annotated[Engine, typer.Option(help="Local processes, or a Ray cluster.")] = "local",
) -> None:
    """Run a table of the paper: every task, several seeds, each in a process of its own.

    [bold]Example:[/] entnet reproduce table2 --tasks 1,2 --seeds 1-3

    Interrupted at any moment, the same command goes on where it was. A finished run adds a line to
    results/TABLE.jsonl; `entnet report` makes the tables from these lines. Runs whose settings are changed
    by --set or --epochs are no runs of the table, and are written down apart from it.
    """
    given = list(settings or []) + ([f"epochs={epochs}"] if epochs else [])
    if other := OTHERS.get(table):
        asked = {"tasks": tasks, "seeds": seeds, "variant": variant, "jobs": jobs, "set": given}
        known = ["runs", "results", *other.arguments]
        changed = data or all_seeds or fresh or engine != "local"
        if changed or any(asked[name] and name not in known for name in asked):
            raise EntNetError(f"{table} takes --{', --'.join(known)} only")
        parsed = {
            "tasks": _kinds(tasks) if table == "table4" else _numbers(tasks, "--tasks"),
            "seeds": _numbers(seeds, "--seeds"),
            "variant": variant,
            "jobs": jobs or os.cpu_count() or 1,
            "set": _changes(table, given, variant) if given else None,
        }
        arguments = {
            argument: parsed[name]
            for name, argument in other.arguments.items()
            if parsed[name] is not None
        }
        folder = results or (runs / "results" if given else Path("results"))
        other.run(results=folder, runs=runs / other.folder, **arguments)
        return
    if table not in preset_names():
        raise EntNetError(f"no table {table!r}; there are {KNOWN}")
    preset = load_preset(table)
    model, train = parse_settings(given, model_class(preset.kind).config_class, TrainConfig)
    wanted_tasks = _numbers(tasks, "--tasks", preset.tasks)
    wanted_seeds = _numbers(seeds, "--seeds")
    specs = specs_of(preset, runs, wanted_tasks, wanted_seeds, variant, model, train, data)
    folder = results or (runs / "results" if any(map(is_changed, specs)) else Path("results"))
    path = results_path(folder, table)
    if fresh and (dropped := drop_outdated(specs, path)):
        warn(f"{dropped} runs with other settings dropped")
    stop_at_zero = preset.stop_at_zero and not all_seeds
    _sweep(Sweep(specs, path, _workers(engine, jobs), stop_at_zero, _watcher()))


def _watcher() -> SweepWatcher:
    return LiveDisplay(console) if console.is_terminal else PlainLines(console)


def _sweep(sweep: Sweep) -> None:
    """Run it, and tell what the table comes to for the tasks asked for."""
    try:
        failed = sweep.run()
    except KeyboardInterrupt:
        error_console.print("stopped; the same command goes on where it was")
        raise typer.Exit(130) from None
    asked = {spec.task for spec in sweep.specs}
    for task, line in best_by_task([line for line in sweep.lines if line["task"] in asked]).items():
        best = line["best"]
        console.print(
            f"{task_label(task):>6}: {best['test_error']:.2f}% test error ({line['variant']} seed "
            f"{line['seed']}, chosen by validation error {best['valid_error']:.2f}%)",
            soft_wrap=True,
        )
    console.print(
        f"results are in {sweep.results}; `entnet report` makes the tables", soft_wrap=True
    )
    if failed:
        for ended in failed:
            error_console.print(f"{ended.spec.name}: {ended.problem}", markup=False, soft_wrap=True)
        raise EntNetError(f"{len(failed)} runs failed")


def _changes(table: str, given: Sequence[str], systems: Sequence[str] | None) -> dict[str, Any]:
    """Settings of the grid's runs, or of table 4, where every system asked for must have them."""
    if table == "table1a":
        return parse_settings(given, GridSpec)[0]
    changes: dict[str, Any] = {}
    for system in (SYSTEMS[name] for name in systems or SYSTEMS if name in SYSTEMS):
        if not system.settings:
            raise EntNetError(f"{system.name} has nothing to set; --variant says what to run")
        for part in parse_settings(given, *system.settings):
            changes |= part
    return changes


def _kinds(text: str | None) -> Sequence[Kind]:
    """The kinds of question asked for; they are the tasks of table 4."""
    if text is None:
        return cbt.TABLE_KINDS
    wanted = text.upper().split(",")
    for name in wanted:
        if name not in KINDS:
            raise EntNetError(
                f"--tasks: no kind of question {name!r}; there are {', '.join(KINDS)}"
            )
    return [kind for kind in KINDS if kind in wanted]


def _numbers(text: str | None, option: str, known: Sequence[int] | None = None) -> list[int] | None:
    if text is None:
        return None
    try:
        numbers = parse_numbers(text, option)
    except ValueError as error:
        raise EntNetError(str(error)) from error
    unknown = [n for n in numbers if known is not None and n not in known]
    if unknown:
        raise EntNetError(f"{option}: no task {unknown[0]}")
    return numbers


def _workers(engine: Engine, jobs: int | None) -> Workers:
    if engine == "ray":
        from entnet.experiments.ray_workers import RayWorkers

        return RayWorkers(jobs)
    return LocalWorkers(jobs or os.cpu_count() or 1)
