"""The report's files, and its figures for programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from entnet.experiments import cbt
from entnet.experiments.report import gridworld, places
from entnet.experiments.report.figures import all_tables
from entnet.experiments.report.markdown import (
    image_line,
    markdown_table,
    put_between_markers,
    results_page,
    summary_table,
)
from entnet.experiments.results import results_path
from entnet.files import write_atomically


class Chapter(NamedTuple):
    """Another experiment's part of the report. All is empty where it has no results."""

    title: str
    figures: Callable[[Path], dict[str, Any]]
    """Its tables for programs, by name, from the results folder."""
    markdown: Callable[[Path], str]
    """Its tables in docs/RESULTS.md."""
    charts: dict[str, tuple[str, Callable[[Path, Path], None]]]
    """By image name: the table that it shows, and what draws it to a path from the results folder."""
    summary: Callable[[Path], list[list[str]]]
    """Its rows of the summary: table, what it is, our figures, the paper's."""


CHAPTERS = (
    Chapter(
        "What slots hold: table 3", places.figures, places.render_markdown, {}, places.summary_rows
    ),
    Chapter(
        "The world model: tables 1a and 1b",
        gridworld.figures,
        gridworld.render_markdown,
        {"table1b-lengths.png": ("table1b", gridworld.plot_generalisation)},
        gridworld.summary_rows,
    ),
    Chapter(
        "The Children's Book Test: table 4",
        cbt.figures,
        cbt.render_markdown,
        {"table4.png": ("table4", cbt.plot_table4)},
        cbt.summary_rows,
    ),
)
"""The experiments besides bAbI."""


def report_figures(results: Path) -> dict[str, Any]:
    """Every table's figures, as `entnet report --json` prints them."""
    figures: dict[str, Any] = {name: table.to_dict() for name, table in all_tables(results).items()}
    for chapter in CHAPTERS:
        for name, table in chapter.figures(results).items():
            figures[name] = {key: value for key, value in table.items() if key != "detail"}
    return figures


def write_report(results: Path, docs: Path, readme: Path, charts: bool = True) -> list[Path]:
    """Write docs/RESULTS.md, its charts and the README's summary; the files written."""
    tables = all_tables(results)
    images: dict[str, list[str]] = {}
    written = []
    if charts:
        from entnet.experiments.report.charts import draw_charts

        for name, table in tables.items():
            images[name] = draw_charts(table, docs / "images")
            written += [docs / "images" / image for image in images[name]]
    more = []
    for chapter in CHAPTERS:
        drawn = _draw(chapter, results, docs) if charts else []
        if text := chapter.markdown(results):
            more.append(
                f"## {chapter.title}\n\n{text}" + "".join(f"\n{image_line(name)}" for name in drawn)
            )
        written += [docs / "images" / name for name in drawn]
    summary = summary_table(tables.values())
    if others := [row for chapter in CHAPTERS for row in chapter.summary(results)]:
        summary += "\n" + markdown_table(["table", "what", "ours", "paper"], others, left=2)
    write_atomically(docs / "RESULTS.md", results_page(tables, summary, images, more).encode())
    written.append(docs / "RESULTS.md")
    if readme.is_file():
        old = readme.read_text(encoding="utf-8")
        new = put_between_markers(old, summary)
        if new is not None:
            write_atomically(readme, new.encode())
            written.append(readme)
    return written


def _draw(chapter: Chapter, results: Path, docs: Path) -> list[str]:
    drawn = []
    for name, (table, draw) in chapter.charts.items():
        if results_path(results, table).is_file():
            draw(docs / "images" / name, results)
            drawn.append(name)
    return drawn
