"""What several verbs share: consoles, JSON output, settings given as key=value, the progress bar."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import typing
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from entnet.config import Config, ConfigError
from entnet.training.loop import EpochMetrics, Watcher

console = Console(highlight=False)
error_console = Console(stderr=True, highlight=False)

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]


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
        key = key.strip()
        if not equals:
            raise ConfigError(f"--set takes key=value, not {setting!r}")
        for owner, names, target in zip(owners, fields, options, strict=True):
            if key in names:
                hints = typing.get_type_hints(owner)
                target[key] = parse_value(key, text.strip(), hints[key])
                break
        else:
            raise ConfigError(
                f"no setting {key!r}; known: {', '.join(sorted(set().union(*fields)))}"
            )
    return options


def parse_value(key: str, text: str, hint: Any) -> Any:
    """A setting's text as a value of the type that its field has."""
    kinds = typing.get_args(hint) if typing.get_origin(hint) is not tuple else ()
    is_literal = typing.get_origin(hint) is Literal
    kinds = (hint,) if is_literal or not kinds else kinds
    if type(None) in kinds and text.lower() in {"none", ""}:
        return None
    for kind in kinds:
        if kind is bool and text.lower() in {"true", "false", "yes", "no", "on", "off", "1", "0"}:
            return text.lower() in {"true", "yes", "on", "1"}
        if kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        if typing.get_origin(kind) is tuple or kind is tuple:
            return _parse_list(key, text)
        if kind is str or typing.get_origin(kind) is Literal:
            return text
    wanted = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
    raise ConfigError(f"{key}={text}: {wanted} expected")


def _parse_list(key: str, text: str) -> tuple[str, ...]:
    """Texts with commas between them, or a list as presets have it: ["mary sandra", "john daniel"]."""
    if not text.startswith("["):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    with contextlib.suppress(json.JSONDecodeError):
        parts = json.loads(text)
        if all(isinstance(part, str) for part in parts):
            return tuple(parts)
    raise ConfigError(f'{key}={text}: a list such as ["one", "two"] expected, or: one, two')


class ProgressBar(Watcher):
    """Epochs as a bar, with loss, errors, sentences a second and time left."""

    def __init__(self, title: str = "training") -> None:
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("epoch {task.fields[epoch]}/{task.total:.0f}"),
            TextColumn("{task.fields[state]}"),
            TimeRemainingColumn(),
            console=error_console,
            transient=False,
        )
        self.task = self.bar.add_task(title, total=1, start=False, epoch=0, state="")
        self.done = 0

    def begin(self, epochs: int, done: int) -> None:
        self.done = done
        self.bar.start()
        self.bar.start_task(self.task)
        self.bar.update(self.task, total=epochs, completed=done, epoch=done)

    def batch(self, share: float) -> None:
        self.bar.update(self.task, completed=self.done + share)

    def epoch(self, metrics: EpochMetrics) -> None:
        self.done = metrics.epoch
        state = (
            f"loss {metrics.train_loss:.4f}  error {metrics.train_error:.1f}%  "
            f"validation {metrics.valid_error:.1f}%  {metrics.sentences_per_second:,.0f} sentences/s"
        )
        self.bar.update(self.task, completed=self.done, epoch=self.done, state=state)

    def end(self) -> None:
        self.bar.stop()
