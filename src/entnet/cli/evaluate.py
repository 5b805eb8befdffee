"""``entnet evaluate``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from entnet.cli.common import JsonOption, console, print_json, warn
from entnet.config import TrainConfig
from entnet.data.reading import read_stories
from entnet.data.story import Corpus
from entnet.errors import EntNetError
from entnet.models import StoryModel
from entnet.training.engine import choose_engine
from entnet.training.evaluate import score


def register(app: typer.Typer) -> None:
    app.command()(evaluate)


def evaluate(
    model: Annotated[
        str, typer.Argument(help="A shipped network's name, its directory, or a run's.")
    ],
    file: Annotated[Path, typer.Argument(help="Stories with questions (.txt bAbI, .jsonl).")],
    predictions: Annotated[
        bool, typer.Option("--predictions", help="Give the answers too, in the file's order.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse words the network never saw.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Ask a network every question of a file, and count its errors.

    [bold]Example:[/] entnet evaluate babi-qa2 qa2_two-supporting-facts_test.txt
    """
    network = StoryModel.from_pretrained(model)
    config = network.config
    stories = read_stories(file)
    try:
        corpus = Corpus.encode(stories, network.vocab, config.sentence_length, config.lowercase)
    except ValueError as error:
        raise EntNetError(f"{file}: {error}") from error
    if corpus.unknown_words:
        names = ", ".join(corpus.unknown_words)
        if strict:
            raise EntNetError(f"{file}: words that this network does not know: {names}")
        warn(f"words that this network does not know, read as unknown: {names}")
    engine = choose_engine(network, TrainConfig())
    got = score(engine, corpus.entries("story", config.memory_limit))
    result: dict[str, Any] = {
        "questions": got.questions,
        "errors": got.errors,
        "error_percent": round(got.error_percent, 4),
        "loss": round(got.loss, 6),
        "unknown_words": corpus.unknown_words,
    }
    answers = [network.vocab.words[i] for i in got.predictions.tolist()]
    if predictions:
        result["predictions"] = answers
    if as_json:
        print_json(result)
        return
    if predictions:
        for answer in answers:
            console.print(answer, markup=False)
    console.print(f"{got.errors} errors in {got.questions} questions: {got.error_percent:.2f}%")
