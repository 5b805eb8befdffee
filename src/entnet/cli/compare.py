"""``entnet compare``"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from entnet.cli.common import JsonOption, console, error_console, print_json, warn
from entnet.errors import EntNetError
from entnet.experiments.display import LiveDisplay, PlainLines
from entnet.experiments.plan import parse_numbers
from entnet.experiments.results import results_path
from entnet.experiments.sweep import Sweep, outdated_specs
from entnet.experiments.workers import LocalWorkers
from entnet.files import write_atomically
from entnet.report.comparison import (
    PRESET,
    OwnStories,
    comparison,
    draw,
    standings,
    system_names,
    table_rows,
)
from entnet.report.markdown import markdown_table
from entnet.tasks.spec import TaskName


def register(app: typer.Typer) -> None:
    app.command()(compare)


def compare(
    systems: Annotated[
        str, typer.Option(help=f"Which, e.g. entnet,qrn; of {', '.join(system_names())}.")
    ] = "entnet,memn2n,dmn,qrn",
    tasks: Annotated[str, typer.Option(help="Tasks of bAbI 10k, e.g. 1,4-6.")] = "1",
    train_file: Annotated[
        Path | None, typer.Option("--train", help="Your own stories to train on, in place of bAbI.")
    ] = None,
    valid_file: Annotated[
        Path | None,
        typer.Option("--valid", help="Stories to choose by; else the last tenth of --train."),
    ] = None,
    test_file: Annotated[
        Path | None, typer.Option("--test", help="Stories to test with; needed with --train.")
    ] = None,
    minutes: Annotated[
        float, typer.Option(help="Core-minutes for each system, seed and task.")
    ] = 20.0,
    seeds: Annotated[int, typer.Option(help="Runs of each system on each task.")] = 5,
    out: Annotated[Path, typer.Option(help="Where runs, table and chart go.")] = Path("comparison"),
    jobs: Annotated[
        int | None, typer.Option(help="Runs at a time; else as many as cores.", min=1)
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The data directory; else $ENTNET_DATA.")
    ] = None,
    chart: Annotated[bool, typer.Option(help="Draw compare.png.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Train several systems on the same stories with the same time, and set them side by side.

    [bold]Example:[/] entnet compare --systems entnet,lstm --train mine.jsonl --test held-out.jsonl

    Every run has one core for so many minutes by the clock (so leave it that core), and may end sooner,
    once it makes no more errors on validation. Errors are on the test stories, at the epoch that is best
    on validation. Interrupted at any moment, the same command goes on where it was. OUT gets compare.md,
    compare.json and compare.png.
    """
    if minutes <= 0 or seeds < 1:
        raise EntNetError("--minutes must be above 0, and --seeds at least 1")
    specs = comparison(
        out,
        [name.strip() for name in systems.split(",") if name.strip()],
        minutes,
        seeds,
        _numbers(tasks),
        _own_stories(train_file, valid_file, test_file),
        data,
    )
    results = results_path(out, PRESET)
    if outdated := outdated_specs(specs, results):
        raise EntNetError(
            f"{out} has runs with other settings, such as other --minutes or stories ({outdated[0].name}); "
            "give another --out, or delete it"
        )
    callback = LiveDisplay(console) if console.is_terminal and not as_json else None
    quiet = callback or (PlainLines(error_console if as_json else console))
    sweep = Sweep(specs, results, LocalWorkers(jobs or os.cpu_count() or 1), callback=quiet)
    try:
        failed = sweep.run()
    except KeyboardInterrupt:
        error_console.print("stopped; the same command goes on where it was")
        raise typer.Exit(130) from None
    _write(out, results, minutes, chart, as_json)
    if failed:
        for ended in failed:
            error_console.print(f"{ended.spec.name}: {ended.problem}", markup=False, soft_wrap=True)
        raise EntNetError(f"{len(failed)} runs failed")


def _numbers(text: str) -> list[TaskName]:
    try:
        return list(parse_numbers(text, "--tasks"))
    except ValueError as error:
        raise EntNetError(str(error)) from error


def _own_stories(train: Path | None, valid: Path | None, test: Path | None) -> OwnStories | None:
    if train is None:
        if valid or test:
            raise EntNetError("--valid and --test are for stories of your own; --train is missing")
        return None
    if test is None:
        raise EntNetError("--train needs --test: stories that no system has seen")
    for path in (train, valid, test):
        if path is not None and not path.is_file():
            raise EntNetError(f"{path}: no such file")
    return OwnStories(train.resolve(), test.resolve(), valid.resolve() if valid else None)


def _write(out: Path, results: Path, minutes: float, chart: bool, as_json: bool) -> None:
    """The table, for people and for programs, and the chart."""
    found = standings(results)
    if not found:
        return
    head, rows = table_rows(found)
    figures = {"minutes": minutes, "systems": {one.system: one.to_dict() for one in found}}
    title = f"Test error in percent, mean ± standard deviation over seeds; {minutes:g} core-minutes"
    if any(one.cut_short for one in found):
        title += ". Cut: runs that the time limit ended"
    write_atomically(out / "compare.json", json.dumps(figures, indent=1).encode())
    write_atomically(out / "compare.md", f"{title}.\n\n{markdown_table(head, rows)}".encode())
    if chart:
        try:
            draw(found, out / "compare.png")
        except EntNetError as error:
            warn(str(error))
    if as_json:
        print_json(figures)
        return
    table = Table(*head, title=title)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print(f"table and chart are in {out}", soft_wrap=True)
