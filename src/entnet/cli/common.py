"""What several verbs share: consoles, JSON output, settings given as key=value, the progress bar."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
import typing
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from entnet.config import Config, ConfigError, TrainConfig
from entnet.config.older import OLDER_TYPES
from entnet.errors import EntNetError
from entnet.experiments.preset import merged
from entnet.files import write_atomically
from entnet.models.registry import require_model_file
from entnet.training.loop import Callback, EpochMetrics

console = Console(highlight=False)
error_console = Console(stderr=True, highlight=False)

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]


def _load_model_files(files: list[Path] | None) -> list[Path] | None:
    """Define the models of these files before anything else is done."""
    for file in files or ():
        require_model_file(file)
    return files


ModelFileOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--model-file",
        metavar="FILE.py",
        callback=_load_model_files,
        help="A Python file that defines models of your own. It is run, so read it first.",
    ),
]


TABLE_STARTS, TABLE_ENDS = "<!-- table starts -->\n", "<!-- table ends -->\n"


def replace_table(page: Path, table: str) -> None:
    """Write a table into a Markdown page, between the marks where the old one stands."""
    before, starts, rest = page.read_text(encoding="utf-8").partition(TABLE_STARTS)
    _, ends, after = rest.partition(TABLE_ENDS)
    if not ends:
        raise EntNetError(f"{page} has no table between {TABLE_STARTS.strip()} and its end")
    write_atomically(page, (before + starts + table + ends + after).encode())


def print_json(value: Any) -> None:
    """JSON on standard output, one object, nothing else."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def warn(message: str) -> None:
    """A remark on standard error, so that standard output stays clean."""
    error_console.print(f"[yellow]note:[/] {escape(message)}", soft_wrap=True)


def parse_settings(settings: Sequence[str], *owners: type[Config]) -> list[dict[str, Any]]:
    """Sort ``key=value`` texts into options of each of these configurations."""
    options: list[dict[str, Any]] = [{} for _ in owners]
    fields = [{field.name for field in dataclasses.fields(owner)} for owner in owners]
    for setting in settings:
        key, equals, text = setting.partition("=")
        key, text = key.strip(), text.strip()
        if not equals:
            raise ConfigError(f"--set takes key=value, not {setting!r}")
        for owner, names, target in zip(owners, fields, options, strict=True):
            value = _setting_of(owner, names, key, text)
            if value is not None:
                target.update(merged(target, owner.renamed(value)))
                break
        else:
            raise ConfigError(
                f"no setting {key!r}; known: {', '.join(sorted(set().union(*fields)))}"
            )
    return options


def _setting_of(owner: type[Config], names: set[str], key: str, text: str) -> dict[str, Any] | None:
    """A setting under its name, if it is this configuration's: ``part.name`` is one of a table's."""
    name, _, part = owner.aliases.get(key, key).partition(".")
    if owner is TrainConfig and name in OLDER_TYPES and not part:
        return {name: parse_value(name, text, OLDER_TYPES[name])}
    if name not in names:
        return None
    hint = typing.get_type_hints(owner)[name]
    if not part:
        return {name: parse_value(name, text, hint)}
    parts = (
        [each.name for each in dataclasses.fields(hint)] if dataclasses.is_dataclass(hint) else []
    )
    if part not in parts:
        raise ConfigError(f"no setting {key!r}; {name} has {', '.join(parts) or 'no parts'}")
    return {name: {part: parse_value(key, text, typing.get_type_hints(hint)[part])}}


def parse_value(key: str, text: str, hint: Any) -> Any:
    """A setting's text as a value of the type that its field has."""
    kinds = typing.get_args(hint) if typing.get_origin(hint) is not tuple else ()
    is_literal = typing.get_origin(hint) is Literal
    kinds = (hint,) if is_literal or not kinds else kinds
    if type(None) in kinds and text.lower() in {"none", ""}:
        return None
    for kind in kinds:
        items = typing.get_args(kind) if typing.get_origin(kind) is tuple else ()
        if any(each is Any or dataclasses.is_dataclass(each) for each in (kind, *items)):
            return _parse_json(key, text)
        if kind is bool and text.lower() in {"true", "false", "yes", "no", "on", "off", "1", "0"}:
            return text.lower() in {"true", "yes", "on", "1"}
        if kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        if typing.get_origin(kind) is tuple or kind is tuple:
            parts = _parse_list(key, text)
            return tuple(parse_value(key, part, typing.get_args(kind)[0]) for part in parts)
        if kind is str or typing.get_origin(kind) is Literal:
            return text
    wanted = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
    raise ConfigError(f"{key}={text}: {wanted} expected")


def _parse_json(key: str, text: str) -> Any:
    """Tables, and lists of them, are written as JSON."""
    try:
        return json.loads(text or "[]")
    except json.JSONDecodeError as error:
        raise ConfigError(
            f'{key}={text}: JSON expected, as [["mary", "sandra"]] or [{{"epoch": 12, "above": 14}}]'
        ) from error


def _parse_list(key: str, text: str) -> tuple[str, ...]:
    """Texts with commas between them, or a list as presets have it: ["mary sandra", "john daniel"]."""
    if not text.startswith("["):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    with contextlib.suppress(json.JSONDecodeError):
        parts = json.loads(text)
        if all(isinstance(part, str) for part in parts):
            return tuple(parts)
    raise ConfigError(f'{key}={text}: a list such as ["one", "two"] expected, or: one, two')


class ProgressBar(Callback):
    """Epochs done of all, time left, loss and errors: a live line, or in a log one line now and then."""

    def __init__(self, title: str = "training", seconds_between_lines: float = 10.0) -> None:
        self.title = title
        self.seconds_between_lines = seconds_between_lines
        self.live = error_console.is_terminal
        columns: list[ProgressColumn] = [
            SpinnerColumn(),
            TextColumn("epoch {task.fields[epoch]}/{task.total:.0f}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            TextColumn("{task.fields[state]}"),
        ]
        if error_console.width >= 120:
            columns[1:1] = [TextColumn("{task.description}"), BarColumn()]
        self.bar = Progress(*columns, console=error_console, transient=False)
        self.task = self.bar.add_task(title, total=1, start=False, epoch=0, state="")
        self.epochs = self.done = self.begun_at = 0
        self.started = self.printed = 0.0

    def begin(self, epochs: int, done: int) -> None:
        self.epochs, self.done, self.begun_at = epochs, done, done
        self.started = time.monotonic()
        if self.live:
            self.bar.start()
            self.bar.start_task(self.task)
            self.bar.update(self.task, total=epochs, completed=done, epoch=done)

    def batch(self, share: float) -> None:
        if self.live:
            self.bar.update(self.task, completed=self.done + share)

    def epoch(self, metrics: EpochMetrics) -> None:
        self.done = metrics.epoch
        state = (
            f"loss {metrics.train_loss:.3f}  error {metrics.train_error:.1f}%  "
            f"valid {metrics.valid_error:.1f}%"
        )
        if self.live:
            self.bar.update(self.task, completed=self.done, epoch=self.done, state=state)
            return
        now = time.monotonic()
        if self.done == self.epochs or now - self.printed >= self.seconds_between_lines:
            self.printed = now
            each = (now - self.started) / (self.done - self.begun_at)
            left = timedelta(seconds=round(each * (self.epochs - self.done)))
            error_console.print(
                f"{escape(self.title)}: epoch {self.done}/{self.epochs}, at most {left} left  {state}",
                soft_wrap=True,
            )

    def end(self) -> None:
        if self.live:
            self.bar.stop()
