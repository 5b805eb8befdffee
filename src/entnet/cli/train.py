"""``entnet train``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
from entnet.cli.evaluate import score_stories
from entnet.cli.run_data import EarlierRun, Part, StoryFile
from entnet.config import ConfigError, TrainConfig
from entnet.data.identity import count_shared
from entnet.errors import EntNetError
from entnet.models import StoryModel, model_class
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
    weights. A directory keeps one run: other stories or settings need another --out. Given a --test only
    once the run has ended, the chosen network is scored on it. That network is in OUT/model;
    `entnet evaluate OUT FILE` and `entnet ask OUT` take it from there.
    """
    model_options, train_options = parse_settings(
        settings or [], model_class(model).config_class, TrainConfig
    )
    config = TrainConfig(**{"epochs": epochs, "seed": seed, **train_options})
    files: dict[Part, StoryFile | None] = {
        "train": StoryFile.read(train_file),
        "valid": StoryFile.read(valid_file) if valid_file else None,
        "test": StoryFile.read(test_file) if test_file else None,
    }
    training, validation, test = files["train"], files["valid"], files["test"]
    assert training is not None
    _point_out_shared_stories(training, validation, test)
    earlier = EarlierRun.find(out)
    test_later = None  # test stories that a finished run has not been scored on
    if earlier is not None:
        earlier.require_same_training_data(files)
        if earlier.data is None:
            warn(f"{out} does not record its data: make sure that it is of {train_file.name}")
        elif earlier.sentence_length is not None:
            model_options = {"sentence_length": earlier.sentence_length, **model_options}
        if earlier.finished and test is not None and not earlier.was_tested_on(test):
            test_later, test = test, None
    try:
        prepared = prepare(
            training.stories,
            validation.stories if validation else None,
            test.stories if test else None,
            config,
            model,
            model_options,
        )
    except ValueError as error:  # a sentence longer than the network of this run reads
        if isinstance(error, ConfigError):
            raise
        raise EntNetError(f"{out}: {error}") from error
    if prepared.data.test is not None and prepared.data.test.unknown_words:
        unknown = ", ".join(prepared.data.test.unknown_words)
        warn(f"words of {test_file} that training never shows, read as unknown: {unknown}")
    about = {
        "train_file": train_file.name,
        "data": {part: file.identity() for part, file in files.items() if file is not None},
    }
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
    if earlier is not None and earlier.finished:
        warn(f"{out} holds this run, finished: nothing was trained")
    if test_later is not None:
        result = _with_later_test(out, result, test_later, config.select)
    if as_json:
        print_json(result)
        return
    table = Table("network", "epoch", "validation error", "test error", title=str(out))
    for name, epoch in (("best", result["best_epoch"]), ("last", result["epochs"])):
        scores = result[name]
        tested = f"{scores['test_error']:.1f}%" if "test_error" in scores else "–"
        table.add_row(name, str(epoch), f"{scores['valid_error']:.1f}%", tested)
    console.print(table)
    console.print(f"the chosen network ({config.select}) is in {out / 'model'}", soft_wrap=True)


def _point_out_shared_stories(training: StoryFile, *others: StoryFile | None) -> None:
    """Say so where validation or test stories are training stories too."""
    for other in others:
        shared = count_shared(training.stories, other.stories) if other else 0
        if other is not None and shared:
            warn(
                f"{shared} of the {len(other.stories)} stories of {other.path.name} are in "
                f"{training.path.name} too: errors on them say little "
                "(`entnet generate babi --split` makes files that share no seed)"
            )


def _with_later_test(
    out: Path, result: dict[str, Any], test: StoryFile, select: str
) -> dict[str, Any]:
    """The result of a finished run, with the chosen network's score on test stories given later."""
    got, _ = score_stories(StoryModel.from_pretrained(out), test.stories, test.path)
    warn(
        f"the run was not scored on {test.path.name} when it ended; scoring its chosen network now"
    )
    result = {**result, "data": {**result.get("data", {}), "test": test.identity()}}
    for name in ("best", "last"):
        kept = {key: value for key, value in result[name].items() if not key.startswith("test_")}
        result[name] = kept
    result[select] |= {
        "test_error": got["error_percent"],
        "test_loss": got["loss"],
        "test_questions": got["questions"],
    }
    return result
