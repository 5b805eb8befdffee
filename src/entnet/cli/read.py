"""``entnet read``: a text of any length, read once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from entnet.cli.common import JsonOption, console, error_console, print_json, warn
from entnet.errors import EntNetError
from entnet.files import write_atomically
from entnet.inspection.needles import draw_needles
from entnet.models.stream_reader import BLOCK, Needle, Position, Watch
from entnet.tracker import Tracker

SNAPSHOT_SECONDS = 5.0


def register(app: typer.Typer) -> None:
    app.command()(read)


def read(
    model: Annotated[
        str,
        typer.Argument(help="A network that reads running text: long, its directory, or a run's."),
    ],
    file: Annotated[Path, typer.Argument(help="Plain text, of any length; - for standard input.")],
    ask: Annotated[
        list[str] | None, typer.Option("--ask", help="Ask this at the end; may be given again.")
    ] = None,
    opened: Annotated[
        bool,
        typer.Option("--opened", help="List the sentences that opened a gate, with their lines."),
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", help="Draw the sentences that opened a gate, as .png or .svg."),
    ] = None,
    snapshot: Annotated[
        Path | None,
        typer.Option(
            "--snapshot",
            help="Keep the memory here while reading; the same command goes on from it.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Read a text from beginning to end with a memory of constant size, and answer questions.

    [bold]Example:[/] entnet read long book.txt --ask "Where is Mary?" --opened
    """
    tracker = Tracker.from_pretrained(model)
    if snapshot is not None and snapshot.is_file():
        tracker.restore(snapshot.read_bytes())
        warn(f"goes on from {snapshot}, which has read {tracker.position.words:,} words")
    began, first = time.monotonic(), tracker.position
    needles: list[Needle] = []
    with _open(file) as source, _bar(file, tracker.position) as show:
        _skip(source, file, tracker.position)
        watch = show if snapshot is None else _keeping(tracker, snapshot, show)
        try:
            for needle in tracker.read_stream(_blocks(source), watch):
                if opened or picture:
                    needles.append(needle)
        finally:
            if snapshot is not None:
                _keep(tracker, snapshot)
    seconds = time.monotonic() - began
    if picture is not None:
        title = f"{tracker.position.words:,} words of {file.name}, {len(needles)} sentences opened a gate"
        draw_needles(needles, tracker.position.bytes, title, picture)
    answers = [tracker.ask(question) for question in ask or []]
    if unknown := {word: None for one in answers for word in one.unknown}:
        warn(f"words that this network does not know: {', '.join(unknown)}")
    position = tracker.position
    rate = (position.words - first.words) / max(seconds, 1e-9)
    if as_json:
        found = {"needles": [one._asdict() for one in needles]} if opened else {}
        said = [
            {
                "question": one.question,
                "answer": one.answer,
                "probability": round(one.probability, 6),
            }
            for one in answers
        ]
        timing = {"seconds": round(seconds, 3), "words_per_second": round(rate)}
        print_json({**asdict(position), **timing, "answers": said, **found})
        return
    if opened:
        console.print(needle_table(needles))
    console.print(
        f"{position.words:,} words in {position.sentences:,} sentences; {position.opened:,} opened a gate\n"
        f"[dim]{seconds:.1f} s, {rate:,.0f} words/s[/]"
    )
    for one in answers:
        console.print(f"{one.question}  [bold green]{one.answer}[/]  [dim]{one.probability:.1%}[/]")


def needle_table(needles: list[Needle]) -> Table:
    table = Table("line", "byte", "gate", "slot", "sentence", title="Sentences that opened a gate")
    for one in needles:
        cells = (f"{one.line:,}", f"{one.start:,}", f"{one.gate:.2f}", str(one.slot + 1))
        table.add_row(*cells, Text(one.sentence))
    return table


@contextmanager
def _open(file: Path) -> Iterator[BinaryIO]:
    if str(file) == "-":
        yield typer.get_binary_stream("stdin")
        return
    try:
        source = file.open("rb")
    except OSError as error:
        raise EntNetError(f"{file}: cannot be read: {error.strerror}") from error
    with source:
        yield source


def _skip(source: BinaryIO, file: Path, position: Position) -> None:
    """Go to where a snapshot was taken."""
    if not position.bytes:
        return
    if str(file) != "-" and file.stat().st_size < position.bytes:
        raise EntNetError(f"{file}: shorter than what the snapshot has read; it is of another text")
    left = position.bytes
    if source.seekable():
        source.seek(left)
        return
    while left and (block := source.read(min(left, BLOCK))):
        left -= len(block)


def _blocks(source: BinaryIO) -> Iterator[bytes]:
    while block := source.read(BLOCK):
        yield block


def _keep(tracker: Tracker, path: Path) -> None:
    write_atomically(path, tracker.snapshot())


def _keeping(tracker: Tracker, path: Path, show: Watch) -> Watch:
    """Snapshots every few seconds, at places between two sentences."""
    last = time.monotonic()

    def watch(position: Position) -> None:
        nonlocal last
        show(position)
        if time.monotonic() - last >= SNAPSHOT_SECONDS:
            _keep(tracker, path)
            last = time.monotonic()

    return watch


@contextmanager
def _bar(file: Path, start: Position) -> Iterator[Callable[[Position], None]]:
    """A bar on standard error, where that is a terminal, with words a second and time left."""
    if not error_console.is_terminal:
        yield lambda position: None
        return
    size = file.stat().st_size if str(file) != "-" else None
    columns = (
        TextColumn("{task.fields[words]:>14} words"),
        BarColumn(),
        TextColumn("{task.fields[rate]:>12} words/s"),
        TimeRemainingColumn(),
    )
    began = time.monotonic()
    with Progress(*columns, console=error_console, transient=True) as progress:
        bar = progress.add_task("", total=size, completed=start.bytes, words="0", rate="")

        def show(position: Position) -> None:
            rate = (position.words - start.words) / max(time.monotonic() - began, 1e-9)
            progress.update(
                bar, completed=position.bytes, words=f"{position.words:,}", rate=f"{rate:,.0f}"
            )

        yield show
