"""``entnet symmetries``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from entnet.cli.common import JsonOption, console, print_json, warn
from entnet.data.reading import read_stories
from entnet.symmetries import Evidence, Symmetries, find_symmetries
from entnet.symmetries.phrases import Phrases


def register(app: typer.Typer) -> None:
    app.command()(symmetries)


def symmetries(
    files: Annotated[list[Path], typer.Argument(help="Training stories (.txt bAbI, .jsonl).")],
    as_json: JsonOption = False,
) -> None:
    """Find words that are interchangeable, alone or only together.

    [bold]Example:[/] entnet symmetries qa1_train.txt

    Permuted among themselves in sentences, questions and answers, such words make other stories that are as
    likely. It is told from the stories alone. Several files are read as one.
    """
    found = find_symmetries([story for file in files for story in read_stories(file)])
    if as_json:
        print_json(found.to_json())
    elif not found:
        warn("no words are found to be interchangeable")
    else:
        console.print(symmetries_table(found))


def symmetries_table(found: Symmetries) -> Table:
    """Groups and joint swaps, each with its evidence."""
    table = Table("interchangeable", "largest difference", "stories", "answers kept")
    for group, evidence in zip(found.groups, found.group_evidence, strict=True):
        table.add_row(", ".join(group), *_columns(evidence))
    for members, evidence in zip(found.joint, found.joint_evidence, strict=True):
        table.add_row(" ↔ ".join("+".join(member) for member in members), *_columns(evidence))
    for group, evidence in zip(found.phrase_groups, found.phrase_evidence, strict=True):
        table.add_row(_with_phrases(group, found.phrases), *_columns(evidence))
    return table


def _with_phrases(group: tuple[str, ...], phrases: Phrases) -> str:
    """The group, and where its words belong to something else: box, but not in "box of chocolates"."""
    quoted = [f"“{member}”" if " " in member else member for member in group]
    apart = sorted(
        phrase for phrase in phrases.whole - set(group) if set(phrase.split()) & set(group)
    )
    but = f" (but not in “{'”, “'.join(apart)}”)" if apart else ""
    return ", ".join(quoted) + but


def _columns(evidence: Evidence) -> tuple[str, str, str]:
    compared = evidence.agreeing + evidence.contrary
    return (
        f"{evidence.largest_difference:.1f} sd",
        str(evidence.fewest_stories),
        f"{evidence.agreeing:.0f} of {compared:.0f}",
    )
