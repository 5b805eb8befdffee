"""``entnet data build-cbt``"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, cast

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from entnet.cli.common import JsonOption, console, error_console, print_json
from entnet.cli.data import DirectoryOption, data_app
from entnet.data import sources
from entnet.data.cbt.agreement import compare
from entnet.data.cbt.build import BuildConfig, build_cbt, default_directory
from entnet.data.cbt.format import KINDS, Kind, Split
from entnet.data.cbt.stats import (
    COUNTS,
    Stats,
    measure_kind,
    read_official_stats,
    stats_markdown,
    write_stats,
)
from entnet.errors import EntNetError

ReadingChoice = Literal["official", "entities", "capitalised", "names"]


def register(app: typer.Typer) -> None:
    """The verb belongs to ``entnet data``."""
    data_app.command("build-cbt")(build)
    data_app.command("compare-cbt")(compare_with_official)


def build(
    tagged: Annotated[
        Path | None,
        typer.Argument(help="Folder of tagged books with books.tsv; else cbt/tagged in the data."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to put the questions; else the user's cache.")
    ] = None,
    kinds: Annotated[str, typer.Option(help="Which of NE, CN, V, P.")] = "NE,CN",
    seed: Annotated[int, typer.Option(help="Draws candidates and samples.")] = 1,
    reading: Annotated[
        ReadingChoice, typer.Option(help="What counts as a word of a kind; see docs/cbt.md.")
    ] = "official",
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
    stats: Annotated[
        bool, typer.Option("--stats", help="Also print counts beside the official ones.")
    ] = False,
    results: Annotated[
        Path | None,
        typer.Option(help="Also keep those counts in this folder, for `entnet report`."),
    ] = None,
    directory: DirectoryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Build questions of the Children's Book Test from tagged books, in the official format.

    [bold]Example:[/] entnet data build-cbt --kinds NE,CN,V,P --stats

    A tagged book is a file of lines `token, tab, part of speech, tab, entity label`, a blank line after
    each sentence; books.tsv beside the books says which are for training, validation and test.
    """
    config = BuildConfig(seed=seed, reading=reading, kinds=_kinds(kinds))
    place = tagged or sources.data_root(directory) / "cbt" / "tagged"
    target = out or default_directory()
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console) as bar:
        task = bar.add_task("books", total=None)
        about = build_cbt(
            place, target, config, jobs, lambda n, total: bar.update(task, completed=n, total=total)
        )
    if as_json:
        print_json({**about, "directory": str(target)})
    else:
        for name, count in about["questions"].items():
            console.print(f"{name:8} {count:>8,} of {about['possible'][name]:,} possible questions")
        console.print(
            f"built in {about['seconds']:.0f} s; the files are in {target}", soft_wrap=True
        )
    if stats or results:
        built = {kind: measure_kind(target, kind) for kind in config.kinds}
        official = _official(config.kinds, sources.data_root(directory))
        if stats:
            console.print(stats_markdown(built, official), soft_wrap=True)
        if results:
            write_stats(results / COUNTS, built, official)


def compare_with_official(
    questions: Annotated[
        Path, typer.Argument(help="A file of official questions, e.g. cbtest_NE_valid_2000ex.txt.")
    ],
    tagged: Annotated[
        Path | None, typer.Option(help="Folder of tagged books; else cbt/tagged in the data.")
    ] = None,
    reading: Annotated[
        ReadingChoice, typer.Option(help="What counts as a word of a kind; see docs/cbt.md.")
    ] = "official",
    directory: DirectoryOption = None,
    as_json: JsonOption = False,
) -> None:
    """How near rebuilt questions come to the makers' own.

    [bold]Example:[/] entnet data compare-cbt cbtest_NE_valid_2000ex.txt

    Each official question is looked for in the tagged books: would the rules have asked for that word in
    that sentence, and which candidates would they have offered?
    """
    match = re.fullmatch(r"cbtest_(NE|CN|V|P)_(train|valid|test).*\.txt", questions.name)
    if match is None:
        raise EntNetError(
            f"{questions}: the name must say the kind and the part, as cbtest_NE_valid_2000ex.txt"
        )
    place = tagged or sources.data_root(directory) / "cbt" / "tagged"
    got = compare(place, questions, cast("Kind", match[1]), cast("Split", match[2]), reading)
    if as_json:
        print_json({**got.to_json(), "found": got.found})
        return
    wrong = got.offered + got.filled
    console.print(f"{got.located:,} of {got.questions:,} questions found in the books")
    console.print(
        f"{got.found}% of these would be asked by the rules, among {got.possible:,} possible"
    )
    console.print(
        f"{100 * got.offered / wrong:.1f}% of their wrong candidates are words of the kind"
    )
    table = Table("percent", "official", "same sentences", "a draw of all")
    for label, name in (
        ("capitalised candidates", "capitalised"),
        ("capitalised answers", "capitalised_answers"),
        ("most frequent in the story is right", "counted"),
    ):
        parts = (got.official, got.rebuilt, got.drawn)
        table.add_row(label, *(f"{getattr(part, name):.1f}" for part in parts))
    console.print(table)


def _kinds(text: str) -> tuple[Kind, ...]:
    wanted = [part.strip().upper() for part in text.split(",") if part.strip()]
    unknown = [kind for kind in wanted if kind not in KINDS]
    if unknown or not wanted:
        raise EntNetError(f"--kinds takes some of {', '.join(KINDS)}, not {text!r}")
    return tuple(cast("Kind", kind) for kind in dict.fromkeys(wanted))


def _official(kinds: tuple[Kind, ...], root: Path) -> Stats:
    return {
        kind: read_official_stats(path)
        for kind in kinds
        if (path := root / "cbt" / "stats" / f"stats_{kind}.txt").is_file()
    }
