"""The grid of a paragraph, participants by sentences, predicted beside gold: a table, a picture, a page."""

from __future__ import annotations

import html
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table
from rich.text import Text

from entnet.data.propara.match import normal
from entnet.data.propara.process import NOWHERE, Process
from entnet.errors import EntNetError
from entnet.files import write_atomically
from entnet.inspection.plots import picture_file

EXAMPLE = Process(
    "rain",
    (
        "Water evaporates from the sea.",
        "Water vapor rises into the sky.",
        "The water vapor turns into droplets.",
        "The droplets fall to the ground as rain.",
        "Roots take the rain from the ground into the plant.",
        "The leaves produce sugar.",
        "The sugar moves down to the roots.",
    ),
    ("water", "water vapor", "droplets", "rain", "sugar"),
    (
        ("sea", "-", "-", "-", "-", "-", "-", "-"),
        ("-", "?", "sky", "-", "-", "-", "-", "-"),
        ("-", "-", "-", "sky", "-", "-", "-", "-"),
        ("-", "-", "-", "-", "ground", "plant", "plant", "plant"),
        ("-", "-", "-", "-", "-", "-", "leaf", "roots"),
    ),
)
"""A paragraph of our own."""

GOOD, BAD, PLAIN, GONE = "#cfe8dc", "#f6d4cd", "#f3f0e9", "#ffffff"


class Cell(NamedTuple):
    """A state of the grid: predicted, and gold where that is known and another."""

    state: str
    gold: str | None
    right: bool | None
    """None where gold is not known."""


def cells(predicted: Process, gold: Process | None) -> Iterator[list[Cell]]:
    """Rows of the grid: before the first sentence, then after each."""
    for step in range(predicted.steps + 1):
        row = []
        for participant, states in enumerate(predicted.states):
            said = states[step]
            if gold is None:
                row.append(Cell(said, None, None))
                continue
            true = gold.states[participant][step]
            right = normal(said) == normal(true)
            row.append(Cell(said, None if right else true, right))
        yield row


def grid_table(predicted: Process, gold: Process | None) -> Table:
    """Sentences down, participants across; where a state is wrong, the gold one follows it."""
    table = Table(title=f"Process {predicted.name}", title_justify="left", pad_edge=False)
    table.add_column("", justify="right", style="dim")
    table.add_column("sentence", overflow="fold", max_width=44)
    for participant in predicted.participants:
        table.add_column(participant, overflow="fold")
    for number, (sentence, row) in enumerate(
        zip(_texts(predicted), cells(predicted, gold), strict=True)
    ):
        table.add_row(str(number) if number else "", Text(sentence), *map(_cell, row))
    if gold is not None:
        table.caption = (
            f"{_right(predicted, gold):.0%} of the states are right; gold stands after ≠"
        )
        table.caption_justify = "left"
    return table


def _texts(process: Process) -> list[str]:
    return ["(before)", *process.sentences]


def _right(predicted: Process, gold: Process) -> float:
    all_cells = [cell for row in cells(predicted, gold) for cell in row]
    return sum(bool(cell.right) for cell in all_cells) / len(all_cells)


def _cell(cell: Cell) -> Text:
    text = Text(cell.state, style="dim" if cell.state == NOWHERE else "")
    if cell.gold is not None:
        text.append(f" ≠ {cell.gold}", style="red")
    return text


def save_grid_plot(predicted: Process, gold: Process | None, path: Path | str) -> None:
    """Draw the grid into a PNG, SVG or PDF file: participants down, sentences across."""
    path = picture_file(path)
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EntNetError("pictures need matplotlib: pip install 'entnet[plots]'") from error
    columns = list(cells(predicted, gold))
    people = len(predicted.participants)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "entnet"}):
        figure = Figure(figsize=(1.35 * len(columns) + 1.6, 0.62 * people + 1.9))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        for step, column in enumerate(columns):
            for number, cell in enumerate(column):
                axes.add_patch(_rectangle(step, number, _colour(cell)))
                text = cell.state if cell.gold is None else f"{cell.state}\n≠ {cell.gold}"
                axes.text(
                    step + 0.5,
                    number + 0.5,
                    _wrapped(text, 15),
                    ha="center",
                    va="center",
                    fontsize=7,
                )
        for number, name in enumerate(predicted.participants):
            axes.text(-0.1, number + 0.5, _wrapped(name, 18), ha="right", va="center", fontsize=8)
        for step, text in enumerate(_texts(predicted)):
            axes.text(step + 0.5, -0.12, _wrapped(text, 18), ha="center", va="bottom", fontsize=6.5)
        axes.set_xlim(-1.3, len(columns))
        axes.set_ylim(people, -1.4)
        axes.axis("off")
        undated = {"Date": None} if path.suffix.lower() == ".svg" else {}
        figure.savefig(path, dpi=160, bbox_inches="tight", facecolor="white", metadata=undated)


def _rectangle(step: int, number: int, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (step + 0.02, number + 0.03), 0.96, 0.94, facecolor=colour, edgecolor="#e6dfd2"
    )


def _colour(cell: Cell) -> str:
    if cell.right is None or cell.right:
        return GONE if cell.state == NOWHERE else PLAIN if cell.right is None else GOOD
    return BAD


def _wrapped(text: str, width: int) -> str:
    import textwrap

    return "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, width))


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}
body {{ margin: 0 auto; max-width: 70rem; padding: 1.5rem; background: var(--paper); color: var(--ink); font: 16px var(--sans); }}
.frame {{ overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ padding: .5rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }}
th[scope=row] {{ font: 1rem var(--serif); min-width: 14rem; }}
.gone {{ color: var(--faint); }} .wrong {{ color: var(--bad); }} .new {{ font-weight: 600; }}
</style>
<script>
{theme}</script>
</head>
<body>
<header><h1>{title}</h1><p>{caption}</p></header>
<main class="frame"><table>
<thead><tr><th scope="col">sentence</th>{heads}</tr></thead>
<tbody>
{rows}
</tbody></table></main>
</body>
</html>
"""  # noqa: E501


def save_grid_page(predicted: Process, gold: Process | None, path: Path | str) -> None:
    """Write the grid as one HTML file that needs nothing else."""
    write_atomically(Path(path), grid_page(predicted, gold).encode())


def grid_page(predicted: Process, gold: Process | None) -> str:
    """Sentences down, participants across; changes stand out, and what is wrong shows the gold state."""
    caption = "Where each participant is after each sentence; “-” does not exist, “?” is somewhere unknown."
    if gold is not None:
        caption += f" {_right(predicted, gold):.0%} of the states are right; gold ones follow “≠”."
    before: list[Cell] | None = None
    rows = []
    for sentence, row in zip(_texts(predicted), cells(predicted, gold), strict=True):
        shown = [
            _html_cell(cell, before is not None and before[number].state != cell.state)
            for number, cell in enumerate(row)
        ]
        rows.append(f'<tr><th scope="row">{html.escape(sentence)}</th>{"".join(shown)}</tr>')
        before = row
    static = resources.files("entnet.inspection") / "static"
    return _PAGE.format(
        title=html.escape(f"Process {predicted.name}"),
        caption=html.escape(caption),
        style=(static / "shared.css").read_text(encoding="utf-8"),
        theme=(static / "theme.js").read_text(encoding="utf-8"),
        heads="".join(f'<th scope="col">{html.escape(p)}</th>' for p in predicted.participants),
        rows="\n".join(rows),
    )


def _html_cell(cell: Cell, new: bool) -> str:
    names = [*(["gone"] if cell.state == NOWHERE else []), *(["new"] if new else [])]
    text = html.escape(cell.state)
    if cell.gold is not None:
        text += f' <span class="wrong">≠ {html.escape(cell.gold)}</span>'
    return f'<td class="{" ".join(names)}">{text}</td>'
