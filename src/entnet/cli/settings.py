"""``entnet settings``"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from entnet.cli.common import JsonOption, ModelFileOption, console, print_json
from entnet.config import Config, TrainConfig
from entnet.models import model_class


def register(app: typer.Typer) -> None:
    app.command()(settings)


def settings(
    model: Annotated[
        str, typer.Option(help="The kind of network whose settings to list.")
    ] = "entnet",
    model_file: ModelFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """List every setting of a network and of its training, with its default and what it does.

    [bold]Example:[/] entnet settings --model lstm; then: entnet train --set NAME=VALUE ...
    """
    sections = {"model": model_class(model).config_class, "train": TrainConfig}
    if as_json:
        print_json({name: describe(config) for name, config in sections.items()})
        return
    for name, config in sections.items():
        table = Table(title=f"{name}: {config.__name__}", title_justify="left")
        table.add_column("setting", no_wrap=True)
        table.add_column("default", no_wrap=True)
        table.add_column("values and meaning")
        for setting in describe(config):
            doc = setting["doc"].replace("``", "")
            meaning = Text.assemble((setting["type"], "dim"), "  ", doc)
            table.add_row(setting["name"], _shown(setting["default"]), meaning)
        console.print(table)


def describe(config: type[Config]) -> list[dict[str, Any]]:
    """Name, type, default and docstring of every field, in the order of the class."""
    docs = field_docs(config)
    return [
        {
            "name": field.name,
            "type": str(field.type).replace('"', "'"),
            "default": _default(field),
            "doc": docs.get(field.name, ""),
        }
        for field in dataclasses.fields(config)
    ]


def field_docs(config: type[Config]) -> dict[str, str]:
    """The text under each field of a configuration and of the classes that it extends."""
    docs: dict[str, str] = {}
    for owner in reversed(config.__mro__):
        if not (issubclass(owner, Config) and dataclasses.is_dataclass(owner)):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
                continue
            if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                docs[field.target.id] = " ".join(str(text.value.value).split())
    return docs


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        value = field.default
    elif field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    else:
        return None
    return value.to_dict() if isinstance(value, Config) else value


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):  # a table of settings: each has a meaning of its own in the text
        return "table"
    return str(value) if value not in ((), "") else "–"
