"""``entnet train``"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from entnet.cli.common import (
    JsonOption,
    ModelFileOption,
    ProgressBar,
    console,
    error_console,
    parse_settings,
    print_json,
    warn,
)
from entnet.cli.evaluate import score_stories
from entnet.cli.run_data import EarlierRun, Part, StoryFile
from entnet.cli.symmetries import symmetries_table
from entnet.config import ConfigError, TrainConfig
from entnet.data.identity import count_shared
from entnet.errors import EntNetError
from entnet.models import StoryModel, model_class
from entnet.training.loop import Callback, Run
from entnet.training.setup import prepare
from entnet.training.tensorboard import Callbacks, TensorBoard

Preset = Literal["auto", "paper"]

RECIPE_DECIDES = frozenset(
    {
        *("schedule", "learning_rate", "halve_every", "hold_epochs", "halving_rule", "lr_patience"),
        *("warmup_epochs", "warmup_learning_rate", "stop_after_zero", "stop_after_learnt"),
        *("early_stopping", "prune", "permute", "oversample", "curriculum"),
    }
)
"""Settings that the recipe auto has no use for."""

GOOD_ERROR = 5.0
"""Validation error, in percent, up to which there is nothing to advise: bAbI's mark of a solved task."""


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
        str,
        typer.Option(
            help="The kind of network: entnet, lstm, memn2n, …; `entnet models` lists all."
        ),
    ] = "entnet",
    preset: Annotated[
        Preset | None,
        typer.Option(help="The recipe: auto, for any stories (default), or the paper's schedule."),
    ] = None,
    augment: Annotated[
        bool,
        typer.Option(
            "--augment/--no-augment", help="Permute words that are found to be interchangeable."
        ),
    ] = True,
    epochs: Annotated[
        int | None,
        typer.Option(help="The most passes over the training stories; with --preset paper, 200."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything random in the run.")] = 1,
    device: Annotated[
        str, typer.Option(help="Where to train: cpu (compiled code), cuda, mps, … (plain PyTorch).")
    ] = "cpu",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Any setting of the network or its training, e.g. --set width=50."
        ),
    ] = None,
    tensorboard: Annotated[bool, typer.Option(help="Write TensorBoard events too.")] = False,
    model_file: ModelFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a network on a file of stories.

    [bold]Example:[/] entnet train --train qa1_train.txt --test qa1_test.txt --out runs/qa1

    It finds out which words are interchangeable (see `entnet symmetries`), trains with these permuted once
    the network has learnt the stories as they are, and stops when nothing is left to gain.

    Interrupted with Ctrl-C, or killed, the same command goes on where it was, and ends with the same
    weights. A directory keeps one run: other stories or settings need another --out. Given a --test only
    once the run has ended, the chosen network is scored on it. That network is in OUT/model;
    `entnet evaluate OUT FILE` and `entnet ask OUT` take it from there.
    """
    model_options, train_options = parse_settings(
        settings or [], model_class(model).config_class, TrainConfig
    )
    if device != "cpu":
        train_options["device"] = device
    config = _config(preset, augment, epochs, seed, train_options)
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
    if config.schedule == "auto" and epochs is None and "epochs" not in train_options:
        config = config.replace(epochs=prepared.most_epochs)
    if prepared.data.symmetries is not None and not as_json:
        console.print(symmetries_table(prepared.data.symmetries))
    if prepared.data.test is not None and prepared.data.test.unknown_words:
        unknown = ", ".join(prepared.data.test.unknown_words)
        warn(f"words of {test_file} that training never shows, read as unknown: {unknown}")
    about = {
        "train_file": train_file.name,
        "data": {part: file.identity() for part, file in files.items() if file is not None},
    }
    run = Run(out, prepared.build, prepared.data, config, about)
    callbacks: list[Callback] = [] if as_json else [ProgressBar(train_file.name)]
    if tensorboard:
        callbacks.append(TensorBoard(out))
    try:
        result = run.train(Callbacks(callbacks))
    except KeyboardInterrupt:
        error_console.print(
            f"stopped; the same command goes on from epoch {run.done + 1}", soft_wrap=True
        )
        raise typer.Exit(130) from None
    if earlier is not None and earlier.finished:
        warn(f"{out} holds this run, finished: nothing was trained")
    if test_later is not None:
        result = _with_later_test(out, result, test_later, config.checkpoint)
    if as_json:
        print_json(result)
        return
    table = Table("network", "epoch", "validation error", "test error", title=str(out))
    for name, epoch in (("best", result["best_epoch"]), ("last", result["epochs"])):
        scores = result[name]
        tested = f"{scores['test_error']:.1f}%" if "test_error" in scores else "–"
        table.add_row(name, str(epoch), f"{scores['valid_error']:.1f}%", tested)
    console.print(table)
    console.print(f"the chosen network ({config.checkpoint}) is in {out / 'model'}", soft_wrap=True)
    if config.schedule == "auto":
        _say_what_it_took(result)
    for sentence in advice(out / "metrics.jsonl", result):
        console.print(sentence, soft_wrap=True)


def _config(
    preset: Preset | None,
    augment: bool,
    epochs: int | None,
    seed: int,
    options: dict[str, Any],
) -> TrainConfig:
    """The settings of a run. A setting that the recipe auto decides by itself asks for the paper's."""
    decided = sorted(RECIPE_DECIDES & options.keys())
    if preset == "auto" and decided:
        raise ConfigError(
            f"{', '.join(decided)}: the recipe auto decides by itself; it can be set with --preset paper"
        )
    if preset is None and decided:
        warn(f"{', '.join(decided)} given: trained with the paper's schedule, not the recipe auto")
    values: dict[str, Any] = {"seed": seed}
    if preset == "paper" or decided:
        values["epochs"] = 200 if epochs is None else epochs
    else:
        values |= {"schedule": "auto", "augment": augment}
        if epochs is not None:
            values["epochs"] = epochs
    return TrainConfig(**{**values, **options})


def _say_what_it_took(result: dict[str, Any]) -> None:
    found, proposed = result.get("symmetries"), result.get("proposed")
    console.print(
        f"{result['updates']} updates in {result['seconds']:.0f} s"
        + ("" if found else "; no words were permuted"),
        soft_wrap=True,
    )
    if found and proposed:
        kept = {frozenset(group) for group in _groups(found)}
        dropped = [group for group in _groups(proposed) if frozenset(group) not in kept]
        if dropped:
            groups = "; ".join(", ".join(group) for group in dropped)
            warn(f"not confirmed by the network as a whole, so not permuted as such: {groups}")


def _groups(symmetries: dict[str, Any]) -> list[list[str]]:
    return [*symmetries["groups"], *symmetries.get("phrase_groups", ())]


def advice(metrics: Path, result: dict[str, Any]) -> list[str]:
    """What would help, in plain sentences, where the errors of training and validation tell."""
    lines = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    if not lines:
        return []
    training = min(line["train_error"] for line in lines)
    validation = result["best"]["valid_error"]
    if validation <= GOOD_ERROR:
        return []
    limit = result["train"]["epochs"]
    at_limit = result["epochs"] == limit
    told = "1 epoch" if limit == 1 else f"{limit} epochs"
    if result["train"]["schedule"] == "auto" and at_limit:
        return [
            f"Training was ended by its limit of {told}, not by what was measured: without a "
            "limit, it goes on while something is gained."
        ]
    if at_limit and lines[-1]["train_error"] == training and training > validation / 3:
        return [
            f"Training error was still falling ({training:.1f}%) when its {told} ended: a larger "
            "--epochs would help."
        ]
    if training < validation / 3:
        return [
            f"Training error came down to {training:.1f}%, validation error only to {validation:.1f}%: "
            "the network memorises the training stories. More stories, or more varied ones, would help "
            "most; then --set dropout=0.1, or another --seed."
        ]
    return [
        f"Training error stayed at {training:.1f}%: the network does not learn even its training stories. "
        "Another --seed, --set width=200 or --set slots=40 may help; so may questions that its stories "
        "answer."
    ]


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
