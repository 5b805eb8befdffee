"""``entnet generate long``: facts hidden in books."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, TextIO

import numpy as np
import typer

from entnet.cli.common import error_console, warn
from entnet.cli.data import DirectoryOption
from entnet.data.babi import read_babi
from entnet.data.babi_tasks import generate
from entnet.data.long import (
    Background,
    HiddenStory,
    Part,
    Sample,
    book_files,
    book_text,
    samples_of,
    write_as_babi,
    write_as_json_line,
    write_as_text,
)
from entnet.data.sources import data_root, find_babi
from entnet.errors import EntNetError
from entnet.ops.running import MOST_WORDS, RunningText
from entnet.text import NULL_WORD, UNKNOWN_WORD


class Form(StrEnum):
    babi = "babi"
    jsonl = "jsonl"
    text = "text"


class BookPart(StrEnum):
    train = "train"
    valid = "valid"
    test = "test"


WRITE = {Form.babi: write_as_babi, Form.jsonl: write_as_json_line, Form.text: write_as_text}


def register(app: typer.Typer) -> None:
    app.command("long")(generate_long)


def generate_long(
    task: Annotated[int, typer.Option("--task", min=1, max=20, help="Task of bAbI, 1 to 20.")],
    words: Annotated[int, typer.Option(min=0, help="Words of books around the facts.")] = 1_000_000,
    stories: Annotated[int, typer.Option(min=1, help="Documents, each with one question.")] = 1,
    books: Annotated[
        Path | None,
        typer.Option(help="Folder of plain-text books, or one book; else gutenberg/ of the data."),
    ] = None,
    part: Annotated[
        BookPart, typer.Option(help="Books and stories for training, validation or testing.")
    ] = BookPart.test,
    seed: Annotated[int, typer.Option(help="The same seed gives the same documents.")] = 1,
    generated: Annotated[
        bool,
        typer.Option("--generated", help="Generated stories, even where official ones are here."),
    ] = False,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format",
            help="Else by the name of --out: .jsonl or bAbI's; text is the documents alone.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File; else printed.")] = None,
    directory: DirectoryOption = None,
) -> None:
    """Hide bAbI's stories in books, as the BABILong benchmark does: facts at places drawn evenly, the
    question last.

    [bold]Examples:[/]

    entnet generate long --task 1 --words 1000000 -o long.txt

    entnet generate long --task 2 --words 100000 --stories 10 --books my-books -o long.jsonl

    entnet generate long --task 1 --words 10000 --format text -o haystack.txt
    """
    which: Part = part.value
    text = book_text(book_files(books or (data_root(directory) / "gutenberg"), which))
    cut = RunningText([NULL_WORD, UNKNOWN_WORD], MOST_WORDS).split_all(text)
    background = Background((cut.words != 0).sum(1))
    places = np.stack([cut.starts, cut.ends], axis=1)
    samples = _samples(task, which, seed, generated, directory)
    rng = np.random.default_rng([seed, task, words])
    order = rng.permutation(len(samples)).tolist()
    form = form or (Form.jsonl if out and out.suffix == ".jsonl" else Form.babi)
    if form is Form.text and stories > 1:
        raise EntNetError("--format text is one document without its question: --stories 1")
    if out and out.suffix == ".json":
        raise EntNetError(f"{out}: documents are written as JSON lines; call it {out.stem}.jsonl")
    with _target(out) as target:
        for number in islice(cycle(order), stories):
            sample = samples[number]
            stretch = background.draw(words, len(sample.facts), rng)
            WRITE[form](HiddenStory(sample, text, places, stretch), target)
            if form is Form.text:
                error_console.print(f"ask: {sample.question}   [dim]right: {sample.answer}[/]")


def _samples(
    task: int, part: Part, seed: int, generated: bool, directory: Path | None
) -> list[Sample]:
    file = find_babi("en-10k", task, "test" if part == "test" else "train", directory)
    if generated or file is None:
        if not generated:
            warn(f"no official file of task {task} is here: the stories are generated")
        return list(samples_of(generate(task, 1_000, seed, split=part)))
    stories = read_babi(file)
    if part != "test":  # the last tenth of the training stories is for validation
        cut = len(stories) * 9 // 10
        stories = stories[:cut] if part == "train" else stories[cut:]
    return list(samples_of(stories))


@contextmanager
def _target(out: Path | None) -> Iterator[TextIO]:
    """A file that appears once it is whole, or standard output."""
    if out is None:
        yield sys.stdout
        return
    part = out.with_name(f".{out.name}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8") as file:
            yield file
        part.replace(out)
    except OSError as error:
        raise EntNetError(f"{out}: cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            part.unlink()
