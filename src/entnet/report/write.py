"""The report's files, and its figures for programs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from entnet.files import write_atomically
from entnet.report import babilong, cbt, copying, gridworld, places, propara, rivals
from entnet.report.babi import babi_page
from entnet.report.changes import with_changes
from entnet.report.figures import all_tables
from entnet.report.index import headline, index_page
from entnet.report.markdown import Page, put_between_markers

OTHERS = (gridworld, rivals, copying, places, cbt, propara, babilong)
"""The experiments besides bAbI: each has its figures for programs and its rows of the summary."""


def report_figures(results: Path) -> dict[str, Any]:
    """Every table's figures, as `entnet report --json` prints them."""
    figures: dict[str, Any] = {name: table.to_dict() for name, table in all_tables(results).items()}
    for experiment in OTHERS:
        for name, table in experiment.figures(results).items():
            figures[name] = {key: value for key, value in table.items() if key != "detail"}
    return figures


def report_pages(results: Path) -> list[Page]:
    """A page per experiment, in the order of the report."""
    pages = {name: babi_page(table) for name, table in all_tables(results).items()}
    if slots := places.render_markdown(results):
        page = pages.get("table3", Page("table3", "What slots hold (Table 3)", ""))
        body = f"{page.body}\n## What slots hold\n\n{slots}"
        pages["table3"] = dataclasses.replace(page, body=body)
    experiments = (rivals, gridworld, cbt, propara, babilong, copying)
    others = [page for experiment in experiments for page in experiment.pages(results)]
    return [*pages.values(), *others]


def write_report(results: Path, docs: Path, readme: Path, charts: bool = True) -> list[Path]:
    """Write docs/results, its charts in docs/images and the README's table; the files written."""
    tables = list(all_tables(results).values())
    others = [row for experiment in OTHERS for row in experiment.summary_rows(results)]
    pages = report_pages(results)
    texts = {docs / "results" / "index.md": index_page(tables, others, pages)}
    written = []
    for page in pages:
        texts[docs / "results" / f"{page.name}.md"] = page.markdown(with_images=charts)
        if page.runs:
            texts[docs / "results" / "runs" / f"{page.name}.md"] = page.runs_markdown()
        for name, draw in page.images.items() if charts else ():
            draw(docs / "images" / name)
            written.append(docs / "images" / name)
    if readme.is_file():
        old = readme.read_text(encoding="utf-8")
        new = put_between_markers(old, "results", headline(tables, others))
        if new is not None:
            texts[readme] = new
    recipes = docs / "recipes.md"
    if recipes.is_file():
        texts[recipes] = with_changes(recipes.read_text(encoding="utf-8"), results)
    for path, text in texts.items():
        write_atomically(path, text.encode())
    return [*written, *texts]
