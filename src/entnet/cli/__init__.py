"""The command line: thin verbs, one module each."""

from __future__ import annotations

import sys
from inspect import getdoc
from typing import Annotated, NoReturn

import typer
from rich.markup import escape

from entnet.cli import (
    ask,
    compare,
    data,
    data_cbt,
    demo,
    evaluate,
    export,
    generate,
    inspect,
    models,
    read,
    report,
    reproduce,
    serve,
    settings,
    symmetries,
    train,
)
from entnet.cli.common import error_console
from entnet.errors import EntNetError
from entnet.training.result import package_version

app = typer.Typer(
    name="entnet",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for verb in (
    demo,
    ask,
    read,
    inspect,
    serve,
    export,
    train,
    settings,
    evaluate,
    reproduce,
    compare,
    report,
    models,
    data,
    data_cbt,
    symmetries,
    generate,
):
    verb.register(app)


def _join_lines(verbs: typer.Typer) -> None:
    """Help is wrapped for the terminal's width, so lines in the code must not end in it too."""
    for command in verbs.registered_commands:
        text = getdoc(command.callback) or ""
        command.help = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    for group in verbs.registered_groups:
        if group.typer_instance is not None:
            _join_lines(group.typer_instance)


_join_lines(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"entnet {package_version()}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Recurrent Entity Networks: read a story once, track the world, answer at any moment."""


def main() -> None:
    """Run the command line; mistakes that a user can mend are told in one line, without a traceback."""
    try:
        app()
    except EntNetError as error:
        _fail(str(error))
    except OSError as error:
        if error.filename is None:  # not about a file that the user named
            raise
        _fail(f"{error.filename}: {error.strerror}")


def _fail(message: str) -> NoReturn:
    error_console.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
    sys.exit(1)
