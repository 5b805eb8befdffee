"""``entnet train``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from entnet.cli.common import (
    JsonOption,
    ProgressBar,
    console,
    error_console,
    parse_settings,
    print_json,
    warn,
)
from entnet.config import TrainConfig
from entnet.data.reading import read_stories
from entnet.models import model_class
from entnet.training.loop import Run, Watcher
from entnet.training.setup import prepare
from entnet.training.tensorboard import TensorBoard, Watchers


def register(app: typer.Typer) -> None:
    app.command()(train)


def train(
    train_file: Annotated[
        Path, typer.Option("--train", help="Stories to train on (.txt bAbI, .jsonl).")
    ],
    out: Annotated[
        Path, typer.Option("--out", help="The run's directory; an interrupted run goes on.")
    ],
    valid_file: Annotated[
        Path | None,
        typer.Option(
            "--valid", help="Stories to choose by; else the last 10% of the training questions."
        ),
    ] = None,
    test_file: Annotated[
        Path | None, typer.Option("--test", help="Stories to score at the end.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="The kind of network: entnet, lstm, memn2n.")
    ] = "entnet",
    epochs: Annotated[int, typer.Option(help="Passes over the training stories.")] = 200,
    seed: Annotated[int, typer.Option(help="Of everything random in the run.")] = 1,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Any setting of the network or its training, e.g. --set width=50."
        ),
    ] = None,
    tensorboard: Annotated[bool, typer.Option(help="Write TensorBoard events too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a network on a file of stories.

    [bold]Example:[/] entnet train --train qa1_train.txt --test qa1_test.txt --epochs 20 --out runs/qa1

    Interrupted with Ctrl-C, or killed, the same command goes on where it was, and ends with the same
    weights. The chosen network is in OUT/model; `entnet evaluate OUT FILE` and `entnet ask OUT` take it
    from there.
    """
    model_options, train_options = parse_settings(
        settings or [], model_class(model).config_class, TrainConfig
    )
    config = TrainConfig(**{"epochs": epochs, "seed": seed, **train_options})
    prepared = prepare(
        read_stories(train_file),
        read_stories(valid_file) if valid_file else None,
        read_stories(test_file) if test_file else None,
        config,
        model,
        model_options,
    )
    if prepared.data.test is not None and prepared.data.test.unknown_words:
        unknown = ", ".join(prepared.data.test.unknown_words)
        warn(f"words of {test_file} that training never shows, read as unknown: {unknown}")
    about = {"train_file": train_file.name}
    run = Run(out, prepared.build, prepared.data, config, about)
    watchers: list[Watcher] = [] if as_json else [ProgressBar(train_file.name)]
    if tensorboard:
        watchers.append(TensorBoard(out))
    try:
        result = run.train(Watchers(watchers))
    except KeyboardInterrupt:
        error_console.print(
            f"stopped; the same command goes on from epoch {run.done + 1}", soft_wrap=True
        )
        raise typer.Exit(130) from None
    if as_json:
        print_json(result)
        return
    table = Table("network", "epoch", "validation error", "test error", title=str(out))
    for name, epoch in (("best", result["best_epoch"]), ("last", result["epochs"])):
        scores = result[name]
        test = f"{scores['test_error']:.1f}%" if "test_error" in scores else "–"
        table.add_row(name, str(epoch), f"{scores['valid_error']:.1f}%", test)
    console.print(table)
    console.print(f"the chosen network ({config.select}) is in {out / 'model'}", soft_wrap=True)
