"""``entnet report``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entnet.cli.common import JsonOption, console, print_json
from entnet.errors import EntNetError
from entnet.report.write import report_figures, write_report


def register(app: typer.Typer) -> None:
    app.command()(report)


def report(
    results: Annotated[Path, typer.Option(help="The folder of finished runs.")] = Path("results"),
    docs: Annotated[Path, typer.Option(help="Where results/ and images/ go.")] = Path("docs"),
    readme: Annotated[
        Path,
        typer.Option(
            help="Gets the headline table, between its results:begin and results:end marks."
        ),
    ] = Path("README.md"),
    charts: Annotated[bool, typer.Option(help="Draw charts too (needs matplotlib).")] = True,
    as_json: JsonOption = False,
) -> None:
    """Make the tables of the paper from finished runs, beside the paper's figures.

    [bold]Example:[/] entnet report --json

    Writes docs/results, its charts and the table in README.md; with --json it writes no file and
    prints the figures.
    """
    if not any(results.glob("*.jsonl")):
        raise EntNetError(f"{results}: no results here; `entnet reproduce TABLE` makes some")
    if as_json:
        print_json(report_figures(results))
        return
    for path in write_report(results, docs, readme, charts):
        console.print(f"wrote {path}", markup=False, soft_wrap=True)
