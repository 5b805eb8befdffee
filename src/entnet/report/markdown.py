"""Markdown that every part of the report uses: pages, tables, figures as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Page:
    """An experiment's page of the report: docs/results/NAME.md, and docs/results/runs/NAME.md."""

    name: str
    title: str
    body: str
    """One table, and what has to be known to read it."""
    runs: str = ""
    """Variants and single runs, on a page of their own; empty where there are none."""
    images: Mapping[str, Callable[[Path], None]] = field(default_factory=dict)
    """By file name: what draws the image to a path."""

    def markdown(self, with_images: bool) -> str:
        parts = [f"# {self.title}\n", self.body]
        if with_images:
            parts += [f"![{Path(name).stem}](../images/{name})\n" for name in self.images]
        if self.runs:
            parts.append(f"Variants and single runs: [runs of {self.name}](runs/{self.name}.md).\n")
        return "\n".join(parts)

    def runs_markdown(self) -> str:
        table = f"The table made from them: [{self.title}](../{self.name}.md)."
        return f"# Runs of {self.name}\n\n{table}\n\n{self.runs}"


def number(value: float, digits: int = 1) -> str:
    """As the paper writes figures, but a small error never looks like none."""
    text = f"{value:.{digits}f}"
    return f"{value:.2g}" if value and not float(text) else text


def emphasised(value: float, paper: float, digits: int = 1) -> str:
    """Bold where it is no worse than the paper's figure."""
    text = number(value, digits)
    return f"**{text}**" if value <= paper + 1e-9 else text


def spread(mean: float, deviation: float | None, digits: int = 1) -> str:
    """Mean ± standard deviation; the mean alone where a deviation cannot be had."""
    text = number(mean, digits)
    return text if deviation is None else f"{text} ± {number(deviation, digits)}"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first columns are flush left, the others flush right."""
    marks = ["---"] * left + ["---:"] * (len(head) - left)
    lines = [head, marks, *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def put_between_markers(text: str, name: str, table: str) -> str | None:
    """A document with a new table between its marks of this name, or None if it has no place for one."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if begin not in text or end not in text:
        return None
    before, _, rest = text.partition(begin)
    after = rest.partition(end)[2]
    return f"{before}{begin}\n{table}{end}{after}"
