"""The report's files, and its figures for programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entnet.experiments.report.figures import all_tables
from entnet.experiments.report.markdown import put_between_markers, results_page, summary_table
from entnet.files import write_atomically


@dataclass(frozen=True)
class Chapter:
    """Another experiment's part of the report."""

    figures: Callable[[Path], dict[str, Any]]
    """Its tables for programs, by name, from the results folder; empty if there are no results."""
    markdown: Callable[[Path], str]
    """Its section of docs/RESULTS.md; empty if there are no results."""


def chapters() -> list[Chapter]:
    """The experiments besides bAbI."""
    return []


def report_figures(results: Path) -> dict[str, Any]:
    """Every table's figures, as `entnet report --json` prints them."""
    figures: dict[str, Any] = {name: table.to_dict() for name, table in all_tables(results).items()}
    for chapter in chapters():
        figures |= chapter.figures(results)
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
    more = [text for chapter in chapters() if (text := chapter.markdown(results))]
    write_atomically(docs / "RESULTS.md", results_page(tables, images, more).encode())
    written.append(docs / "RESULTS.md")
    if readme.is_file():
        old = readme.read_text(encoding="utf-8")
        new = put_between_markers(old, summary_table(tables.values()))
        if new is not None:
            write_atomically(readme, new.encode())
            written.append(readme)
    return written
