"""The first page of the results, and the headline table of the README."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from entnet.report.babi import best_mean, mean_over_seeds, runs_of, summary_table
from entnet.report.figures import TableFigures
from entnet.report.markdown import Page, markdown_table
from entnet.report.published import later_means

HEADER = """\
# Results

Every table of the paper, run here, beside the paper's figures. `entnet report` writes these pages from the
files in [results](../../results), which have one line per run; nothing here is typed by hand. Each row
leads to its experiment's page, and from there to a page of all runs.

The 20 bAbI tasks are short stories with questions, one skill per task
([a guide to them](../generated-babi.md)); *10k* and *1k* are the numbers of training questions. Figures are
test errors in percent, on all questions of the official test files, unless a table says otherwise.

- **mean ± sd**: over all runs that the table rests on, pruned ones included; this is what to expect of
  one run. For twenty networks it is the mean over tasks; the deviation is missing where a task has one run
  only.
- **best**: for each task the run with the lowest validation error (then loss), as the paper reports. The
  test file plays no part in the choice.
- **failed**: tasks on which the chosen run has more than 5% error.
- **runs**: those that the table rests on, which `entnet reproduce TABLE` does again. *4 of 10*: six are
  still to be run.
- **trials**: runs with other settings, by which, on validation, those of the table were chosen
  (`entnet reproduce TABLE --trials`). The figures do not count them; core-hours do.
- **bold**: no worse than the paper's EntNet.
- On the pages, **last epoch**: runs are compared and scored at their last epoch, as the paper's authors do.
- Task 3 of the 10k set: where a line of results says `"train_data": "generated"`, training was on 9,000
  questions of our generator, validation on official stories, and the test on the official file.
"""

HAND_MADE = ("best-10k", "best-bow", "best-1k", "best-joint")
"""Tables whose settings were looked for task by task."""

BESIDE = ("table3", "generated", "varied", "varied-joint", *HAND_MADE)
"""Tables that no row of the README is about: other rows are, or they are not what a user gets."""

CHOSEN = """\
## Settings chosen task by task

What the network can do, not what a user gets: words that may change places were listed by hand, and up to
17 variants per table were tried, with settings looked for task by task on validation. `entnet train` has
the recipe of the `auto` tables.
"""

LATER_WORK = """\
## Beside later work

Mean test errors in percent, as published, beside ours, best on validation. Ours permute interchangeable
words ([training](../training.md)), which the other systems do not: the figures are for scale.
"""


def index_page(
    tables: Sequence[TableFigures], others: Sequence[list[str]], pages: Iterable[Page]
) -> str:
    """docs/results/index.md; ``others`` are the rows of experiments that are not bAbI."""
    chosen = [table for table in tables if table.preset.name in HAND_MADE]
    parts = [HEADER, "## bAbI\n", summary_table([table for table in tables if table not in chosen])]
    if chosen:
        parts += [CHOSEN, summary_table(chosen)]
    if others:
        parts += ["## Other experiments\n"]
        parts.append(markdown_table(["experiment", "mean ± sd", "best", "paper"], others))
    if later := later_work(tables):
        parts.append(later)
    parts.append("## All pages\n")
    parts.append("".join(f"- [{page.title}]({page.name}.md)\n" for page in pages))
    return "\n".join(parts)


def later_work(tables: Iterable[TableFigures]) -> str:
    """Ours beside later systems; empty where none of the tables is complete."""
    rows = []
    for table in tables:
        published = later_means(table.name)
        if published and table.mean_error is not None:
            means = {**published, "**EntNet, ours**": table.mean_error}
            ranked = sorted(means, key=means.__getitem__)
            listed = ", ".join(f"{name} {means[name]:.2f}" for name in ranked)
            rows.append([f"`{table.name}`", table.title, listed])
    if not rows:
        return ""
    return LATER_WORK + "\n" + markdown_table(["table", "what", "mean error"], rows, left=3)


def headline(tables: Iterable[TableFigures], others: Iterable[list[str]]) -> str:
    """The README's table: one row per experiment, links from there."""
    rows = [
        [
            f"[{table.title}]({table.name}.md)",
            _mean_and_runs(table),
            f"{best_mean(table)}, {table.failed} failed" if table.complete else "–",
            f"{table.paper.mean:g}, {table.paper.failed} failed",
        ]
        for table in tables
        if not table.is_search and table.name not in BESIDE
    ]
    head = ["experiment", "mean ± sd over seeds", "best on validation", "paper"]
    text = markdown_table(head, [*rows, *others])
    return re.sub(r"\]\(([\w.-]+\.md)\)", r"](docs/results/\1)", text)


def _mean_and_runs(table: TableFigures) -> str:
    """The mean over seeds; with the number of runs where some are still to be done."""
    runs = runs_of(table)
    missing = table.complete and " of " in runs
    return mean_over_seeds(table) + (f" ({runs} runs)" if missing else "")
