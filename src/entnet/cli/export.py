"""``entnet export``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entnet.cli.common import console
from entnet.export import save_onnx, save_page


def register(app: typer.Typer) -> None:
    verbs = typer.Typer(help="Networks in other forms.", no_args_is_help=True)
    verbs.callback()(lambda: None)
    verbs.command()(page)
    verbs.command()(onnx)
    app.add_typer(verbs, name="export")


def page(
    model: Annotated[
        str, typer.Argument(help="A shipped network's name, its directory, or a run's.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write.")],
    title: Annotated[str, typer.Option(help="The page's title.")] = "",
) -> None:
    """One HTML file that runs the network in the browser: no server, nothing loaded from elsewhere.

    Put it on any web space, send it by mail, or open it from the disk.

    [bold]Example:[/] entnet export page babi-joint -o page.html
    """
    size = save_page(model, output, title)
    console.print(f"[dim]written:[/] {output} ({size / 1000:,.0f} kB)")


def onnx(
    model: Annotated[
        str, typer.Argument(help="A shipped network's name, its directory, or a run's.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The directory to write into.")],
) -> None:
    """Two graphs for ONNX Runtime: one reads a sentence into the memory, one answers a question.

    [bold]Example:[/] entnet export onnx babi-joint -o babi-joint-onnx
    """
    for path in save_onnx(model, output):
        console.print(f"[dim]written:[/] {path} ({path.stat().st_size / 1000:,.0f} kB)")
