"""``entnet data``: list, verify, download."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn
from rich.table import Table

from entnet.cli.common import JsonOption, console, error_console, print_json
from entnet.data import sources
from entnet.errors import EntNetError

data_app = typer.Typer(help="Find, verify and download data sets.", no_args_is_help=True)

DirectoryOption = Annotated[
    Path | None,
    typer.Option(
        "--dir", help="Data directory; else $ENTNET_DATA, else the user's data directory."
    ),
]


def register(app: typer.Typer) -> None:
    app.add_typer(data_app, name="data")


@data_app.command("list")
def list_data(directory: DirectoryOption = None, as_json: JsonOption = False) -> None:
    """Show which data is found, and where."""
    root = sources.data_root(directory)
    found = {name: Counter(sources.verify(name, directory).values()) for name in sources.SOURCES}
    if as_json:
        print_json({"directory": str(root), "sets": {n: dict(c) for n, c in found.items()}})
        return
    table = Table("data set", "files as published", "changed", "missing", title=str(root))
    for name, states in found.items():
        table.add_row(name, str(states["ok"]), str(states["changed"]), str(states["missing"]))
    console.print(table)
    console.print("`entnet data download NAME` fetches a data set; `entnet generate` needs none.")


@data_app.command()
def verify(
    name: Annotated[str, typer.Argument(help="babi, cbt or propara")],
    directory: DirectoryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a data set's files with the published ones, by checksum."""
    states = sources.verify(_known(name), directory)
    if as_json:
        print_json(states)
    else:
        for path, state in states.items():
            if state != "ok":
                console.print(f"{state:8} {path}")
        good = sum(state == "ok" for state in states.values())
        console.print(f"{good} of {len(states)} files are as published")
    if any(state == "changed" for state in states.values()):
        raise typer.Exit(1)


@data_app.command()
def download(
    name: Annotated[str, typer.Argument(help="babi, cbt or propara")],
    directory: DirectoryOption = None,
    address: Annotated[
        list[str] | None,
        typer.Option(
            help="Another address to fetch the official archive from; for propara one for each of two."
        ),
    ] = None,
) -> None:
    """Fetch a data set from its official address; interrupted, the same command goes on."""
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console) as bar:
        task = bar.add_task(name, total=None)
        folder = sources.download(
            _known(name),
            directory,
            address,
            lambda done, total: bar.update(task, completed=done, total=total),
        )
    console.print(f"{name} is in {folder}, every known file as published", soft_wrap=True)


@data_app.command()
def babilong(
    task: Annotated[str, typer.Argument(help="qa1, qa2, … qa20")],
    length: Annotated[str, typer.Argument(help="0k, 1k, 2k, … 128k, 256k, 512k, 1M or 10M (4 GB)")],
    directory: DirectoryOption = None,
    address: Annotated[
        str, typer.Option(help="Another address, with {task} and {length} in it.")
    ] = sources.BABILONG,
) -> None:
    """Fetch one file of the BABILong benchmark; interrupted, the same command goes on.

    [bold]Example:[/] entnet data babilong qa1 16k; then: entnet evaluate long FILE
    """
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console) as bar:
        shown = bar.add_task(f"{task} {length}", total=None)
        path = sources.download_babilong(
            task,
            length,
            directory,
            address,
            lambda done, total: bar.update(shown, completed=done, total=total),
        )
    console.print(str(path), markup=False, soft_wrap=True)


def _known(name: str) -> str:
    if name not in sources.SOURCES:
        raise EntNetError(f"no data set {name!r}; known: {', '.join(sources.SOURCES)}")
    return name
