"""``entnet models``"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from entnet.cli.common import (
    JsonOption,
    ModelFileOption,
    console,
    print_json,
    replace_table,
    warn,
)
from entnet.data.babi_tasks.varied import VARIATIONS
from entnet.errors import EntNetError
from entnet.models.registry import kinds
from entnet.release.babi import release, wanted, write_binding
from entnet.release.card import Card, shipped
from entnet.release.cbt import SHIPPED, release_cbt
from entnet.release.hub import pull, push
from entnet.release.long import NAME as LONG
from entnet.release.long import release_long
from entnet.release.propara import NAME as PROPARA
from entnet.release.propara import release_propara
from entnet.release.varied import worst, write_varied
from entnet.report.markdown import markdown_table
from entnet.tasks.spec import JOINT

PROVENANCE_FROM = 110
"""Columns of a terminal that is wide enough for where networks come from."""

models_app = typer.Typer(help="The networks that come with the package.")


def register(app: typer.Typer) -> None:
    app.add_typer(models_app, name="models")


@models_app.callback(invoke_without_command=True)
def models(
    context: typer.Context, model_file: ModelFileOption = None, as_json: JsonOption = False
) -> None:
    """List the networks that come with the package, with their errors on the official test files.

    *Told otherwise*: the largest error on stories of the generator that are longer, shorter or reordered.

    The kinds of network that can be trained follow, those of plug-ins and of --model-file among them.

    [bold]Example:[/] entnet models; then: entnet evaluate babi-qa2 qa2_two-supporting-facts_test.txt
    """
    if context.invoked_subcommand is not None:
        return
    found = shipped()
    if as_json:
        listed = [
            {"name": name, "bytes": size, **(card.about() if card else {})}
            for name, card, size in found
        ]
        print_json({"models": listed, "kinds": kinds()})
        return
    if not found:
        console.print("no networks come with this installation")
        _say_kinds()
        return
    console.print(_table(found, provenance=console.width >= PROVENANCE_FROM))
    _say_kinds()


def _table(found: list[tuple[str, Card | None, int]], provenance: bool) -> Table:
    """A line for each network; where it comes from is left out of a narrow terminal (``--json`` has it)."""
    table = Table()
    table.add_column("name", no_wrap=True)  # is typed elsewhere, so never cut
    table.add_column("tasks")
    table.add_column("test error", justify="right")
    table.add_column("told otherwise", justify="right")
    table.add_column("size", justify="right", no_wrap=True)
    if provenance:
        table.add_column("validation", justify="right")
        table.add_column("trained by")
    for name, card, size in found:
        kilobytes = f"{size / 1000:.0f} kB"
        if card is None:
            table.add_row(name, "", "", "", kilobytes)
            continue
        most = worst(card)
        otherwise = "" if most is None else f"{most:.1f}%"
        row = [name, card.title, _percent(card, card.test_error), otherwise, kilobytes]
        if provenance:
            trained = f"{card.table} {card.variant} seed {card.seed}"
            if card.train_data == "generated":
                # Of the official training files only task 3 of the joint set is replaced.
                trained += ", generated stories" + (" (task 3)" if "joint" in card.table else "")
            row += [_percent(card, card.validation_error), trained]
        table.add_row(*row)
    return table


def varied_table(cards: Iterable[Card]) -> str:
    """Errors on the official test file and on stories told otherwise, task by task, as a Markdown table."""
    rows = [
        [
            card.name,
            task,
            f"{card.task_test_errors.get(task, card.test_error):.1f}",
            *(f"{errors[how]:.1f}" for how in VARIATIONS),
        ]
        for card in cards
        for task, errors in card.varied.items()
    ]
    return markdown_table(["network", "task", "official", *VARIATIONS], rows)


def _say_kinds() -> None:
    console.print(f"kinds that can be trained: {', '.join(kinds())}", soft_wrap=True)


def _percent(card: Card, error: float) -> str:
    """An error; where another measure is usual (the Children's Book Test, ProPara), that too."""
    if isinstance(card.task, int):
        return f"{error:.2f}%"
    usual = "F1" if card.task == "ProPara" else "accuracy"
    return f"{error:.2f}% ({usual} {1 - error / 100:.3f})"


@models_app.command("bind")
def bind_models(
    names: Annotated[list[str] | None, typer.Argument(help="Only these; else all of them.")] = None,
) -> None:
    """Write into the cards of shipped networks which words are of a kind, and where they stand.

    [bold]Example:[/] entnet models bind babi-qa2

    Kinds are found in generated stories of a network's tasks, with the symmetries of `entnet symmetries`.
    """
    for name, card, _ in shipped():
        if card is None or not isinstance(card.task, int) or (names and name not in names):
            continue
        if card.table == "world":
            continue  # it was released with its own
        kinds = write_binding(name, card).kinds
        members = "; ".join(f"{kind.name}: {', '.join(kind.members)}" for kind in kinds)
        console.print(f"{name}  {members}", soft_wrap=True, markup=False)


@models_app.command("vary")
def vary_models(
    names: Annotated[list[str] | None, typer.Argument(help="Only these; else all of them.")] = None,
    measure: Annotated[
        bool, typer.Option(help="Measure anew; else only the table is written, from the cards.")
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Page whose table is replaced; else printed."),
    ] = None,
) -> None:
    """Measure shipped networks on their tasks' stories told otherwise, and write it into their cards.

    [bold]Example:[/] entnet models vary babi-qa15

    Longer, shorter and reordered stories are made by the generator; their answers are the solvers'.
    """
    cards = []
    for name, card, _ in shipped():
        if card is None or not isinstance(card.task, int):
            continue  # of other tasks
        if measure and (not names or name in names):
            card = replace(card, varied=write_varied(name, card))
        if card.varied and (out is not None or not names or name in names):
            cards.append(card)
    cards.sort(key=lambda card: (card.task == JOINT, int(card.task)))
    if out is None:
        typer.echo(varied_table(cards), nl=False)
    else:
        replace_table(out, varied_table(cards))


@models_app.command("push")
def push_model(
    model: Annotated[
        str, typer.Argument(help="A shipped network's name, its directory, or a run's.")
    ],
    repository: Annotated[
        str, typer.Argument(help="user/name on the hub; made if it is not there.")
    ],
    private: Annotated[bool, typer.Option("--private", help="Nobody else may see it.")] = False,
    licence: Annotated[
        str | None, typer.Option("--license", help="Said on its card: mit, cc-by-4.0, …")
    ] = None,
) -> None:
    """Put a network on the Hugging Face hub, with a card. Its owner logs in first: `hf auth login`.

    [bold]Example:[/] entnet models push runs/mine user/mine

    Anybody then asks it by that name: `entnet ask user/mine`.
    """
    where, commit = push(model, repository, private, licence)
    console.print(f"[dim]written:[/] {where} (commit {commit[:8]})", soft_wrap=True)


@models_app.command("pull")
def pull_model(
    repository: Annotated[str, typer.Argument(help="user/name on the hub, or user/name@version.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The directory to write into.")
    ] = None,
) -> None:
    """Download a network of the Hugging Face hub: weights and JSON, never code.

    [bold]Example:[/] entnet models pull user/mine -o mine

    Commands that take a network take user/name as well, and then download it themselves.
    """
    console.print(f"[dim]written:[/] {pull(repository, output)}", soft_wrap=True)


@models_app.command("pack", hidden=True)  # as it was called before
@models_app.command("release")
def release_models(
    names: Annotated[list[str] | None, typer.Argument(help="Only these; else all of them.")] = None,
    results: Annotated[Path, typer.Option(help="The folder of finished runs.")] = Path("results"),
    runs: Annotated[Path, typer.Option(help="The folder of run directories.")] = Path("runs"),
    data: Annotated[
        Path | None, typer.Option(help="The data directory; else $ENTNET_DATA.")
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="Where to put them; else into the package.")
    ] = None,
) -> None:
    """Put the networks selected on validation into the package, each with a card.

    [bold]Example:[/] entnet models release babi-joint

    Each is scored on its official test file first, and must give the error that the results say.
    """
    single = {want.name: want for want in wanted()}
    known = [*single, *SHIPPED, LONG, PROPARA]
    for name in names or ():
        if name not in known:
            raise EntNetError(f"no network {name!r} is shipped; there are {', '.join(known)}")
    for name in names or known:
        if name in single:
            card = release(single[name], results, runs, data, into)
        elif name == LONG:
            card = release_long(results, runs, data, into)
        elif name == PROPARA:
            card = release_propara(results, runs, data, into)
        else:
            card = release_cbt(name, results, runs, root=into)
        if card is None:
            warn(f"{name}: no finished run in {results}")
            continue
        console.print(
            f"{name}: {card.test_error:.2f}% test error "
            f"({card.table} {card.variant} seed {card.seed})",
            soft_wrap=True,
        )
