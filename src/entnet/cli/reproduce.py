"""``entnet reproduce``"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from entnet.cli.common import ModelFileOption, console, error_console, parse_settings, warn
from entnet.errors import EntNetError
from entnet.experiments.display import LiveDisplay, PlainLines, best_by_task
from entnet.experiments.plan import is_changed, parse_numbers, specs_of
from entnet.experiments.preset import PARTS, Preset, Variant, load_preset, preset_names, read_preset
from entnet.experiments.results import line_key, read_results, results_path
from entnet.experiments.sweep import Sweep, SweepCallback, drop_outdated
from entnet.experiments.workers import LocalWorkers, Workers
from entnet.tasks import benchmark, require_data
from entnet.tasks.spec import RunSpec, TaskName, task_label

Engine = Literal["local", "ray"]


KNOWN = ", ".join(preset_names())


def register(app: typer.Typer) -> None:
    app.command()(reproduce)


def reproduce(
    table: Annotated[
        str, typer.Argument(help=f"The table: {KNOWN}; or a file of your own, mine.toml.")
    ],
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
            help="Only this variant of the table or of its trials, or group of them (table1a has entnet); "
            "may be repeated."
        ),
    ] = None,
    trials: Annotated[
        bool,
        typer.Option("--trials", help="Run what else was tried for the table, not the table."),
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(help="Runs at a time; else as many as cores.", min=1)
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs, not the preset's.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, e.g. --set learning_rate=0.003.")
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="Of propara, and of table4's readers: word vectors to begin with, a word and its numbers "
            "per line."
        ),
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
        bool,
        typer.Option(
            "--all-seeds",
            help="Run every seed, also of solved tasks and lesser learning rates.",
        ),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Drop runs that were done with other settings.")
    ] = False,
    model_file: ModelFileOption = None,
    engine: Annotated[Engine, typer.Option(help="Local processes, or a Ray cluster.")] = "local",
) -> None:
    """Run a table of the paper: every task, several seeds, each in a process of its own.

    [bold]Example:[/] entnet reproduce table2 --tasks 1,2 --seeds 1-3

    Interrupted at any moment, the same command goes on where it was. A finished run adds a line to
    results/TABLE.jsonl; `entnet report` makes the tables from these lines. Runs whose settings are changed
    by --set or --epochs are no runs of the table, and are written down apart from it.
    """
    given = list(settings or []) + ([f"epochs={epochs}"] if epochs is not None else [])
    if vectors:
        given.append(f"vectors={vectors.resolve()}")
    preset = _preset(table)
    wanted_tasks = _tasks(tasks, preset)
    wanted_seeds = _numbers(seeds, "--seeds")
    if trials and not preset.trials:
        raise EntNetError(f"nothing else was tried for {table}: it has no trials")
    meant = preset.trials if trials else preset.variants
    changes = _changes(preset, given, preset.chosen(variant) if variant else meant)
    specs = specs_of(
        preset,
        runs,
        wanted_tasks,
        wanted_seeds,
        variant,
        data_root=data,
        trials=trials,
        model_files=model_file or (),
        **changes,
    )
    folder = results or (runs / "results" if any(map(is_changed, specs)) else Path("results"))
    path = results_path(folder, preset.name)
    _check(specs, path)
    if fresh and (dropped := drop_outdated(specs, path)):
        warn(f"{dropped} runs with other settings dropped")
    stop_at_zero = preset.stop_at_zero and not all_seeds
    _sweep(Sweep(specs, path, _workers(engine, jobs), stop_at_zero, all_seeds, _callback()))


def _preset(table: str) -> Preset:
    """A table of the package, or a file of one's own."""
    if table.endswith(".toml"):
        return read_preset(Path(table))
    if table not in preset_names():
        raise EntNetError(
            f"no table {table!r}; there are {KNOWN}, and files of your own, such as mine.toml"
        )
    return load_preset(table)


def _check(specs: Sequence[RunSpec], path: Path) -> None:
    """Before the first run starts: settings that can be, and data that are there, for all of them."""
    done = {line_key(line) for line in read_results(path)}
    for spec in {(s.task, s.variant): s for s in specs if s.key not in done}.values():
        parts = (spec.model, spec.train, spec.source)
        for owner, options in zip(
            benchmark(spec.benchmark).settings(spec.kind), parts, strict=False
        ):
            owner.from_dict(options)
        require_data(spec)


def _callback() -> SweepCallback:
    return LiveDisplay(console) if console.is_terminal else PlainLines(console)


def _sweep(sweep: Sweep) -> None:
    """Run it, and print what the table comes to for the tasks asked for."""
    try:
        failed = sweep.run()
    except KeyboardInterrupt:
        error_console.print("stopped; the same command goes on where it was")
        raise typer.Exit(130) from None
    for task, line in best_by_task(sweep.own_lines).items():
        best = line["best"]
        tested = f"{best['test_error']:.2f}% test error" if "test_error" in best else "not tested"
        console.print(
            f"{task_label(task, sweep.specs[0].benchmark):>6}: {tested} "
            f"({line['variant']} seed {line['seed']}, chosen by validation error "
            f"{best['valid_error']:.2f}%)",
            soft_wrap=True,
        )
    console.print(
        f"results are in {sweep.results}; `entnet report` makes the tables", soft_wrap=True
    )
    if failed:
        for ended in failed:
            error_console.print(f"{ended.spec.name}: {ended.problem}", markup=False, soft_wrap=True)
        raise EntNetError(f"{len(failed)} runs failed")


def _changes(
    preset: Preset, given: Sequence[str], variants: Sequence[Variant]
) -> dict[str, dict[str, Any]]:
    """What is changed of the model, the training and the source; every system asked for must have it."""
    changes: dict[str, dict[str, Any]] = {}
    if not given:
        return changes
    settings = benchmark(preset.benchmark).settings
    for variant in variants:
        owners = settings(variant.kind or preset.kind)
        if not owners:
            raise EntNetError(f"{variant.name} has nothing to set; --variant says what to run")
        for part, options in zip(PARTS, parse_settings(given, *owners), strict=False):
            changes.setdefault(part, {}).update(options)
    return changes


def _tasks(text: str | None, preset: Preset) -> list[TaskName] | None:
    """The tasks asked for, of those that the preset has."""
    if text is None:
        return None
    named = {task.lower(): task for task in preset.tasks if isinstance(task, str)}
    wanted: list[TaskName]
    if named:
        parts = [part.strip() for part in text.split(",")]
        wanted = [named.get(part.lower(), part) for part in parts]
    else:
        wanted = list(_numbers(text, "--tasks") or [])
    for task in wanted:
        if task not in preset.tasks:
            raise EntNetError(
                f"--tasks: no task {task} in {preset.name}; it has {', '.join(map(str, preset.tasks))}"
            )
    return wanted


def _numbers(text: str | None, option: str) -> list[int] | None:
    if text is None:
        return None
    try:
        return parse_numbers(text, option)
    except ValueError as error:
        raise EntNetError(str(error)) from error


def _workers(engine: Engine, jobs: int | None) -> Workers:
    if engine == "ray":
        from entnet.experiments.ray_workers import RayWorkers

        return RayWorkers(jobs)
    return LocalWorkers(jobs or os.cpu_count() or 1)
