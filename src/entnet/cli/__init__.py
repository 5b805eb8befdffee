"""The command line: thin verbs, one module each."""

from __future__ import annotations

import sys

import typer
from rich.markup import escape

from entnet.cli import (
    ask,
    data,
    data_cbt,
    demo,
    evaluate,
    generate,
    inspect,
    models,
    report,
    reproduce,
    serve,
    train,
)
from entnet.cli.common import error_console
from entnet.config import ConfigError
from entnet.errors import EntNetError

app = typer.Typer(
    name="entnet",
    help="Recurrent Entity Networks: read a story once, track the world, answer at any moment.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for verb in (
    demo,
    ask,
    inspect,
    serve,
    train,
    evaluate,
    reproduce,
    report,
    models,
    data,
    data_cbt,
    generate,
):
    verb.register(app)


def main() -> None:
    """Run the command line; mistakes that a user can mend are told in one line, without a traceback."""
    try:
        app()
    except (EntNetError, ConfigError) as error:
        error_console.print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(1)
