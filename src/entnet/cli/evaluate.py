"""``entnet evaluate``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from entnet.cli.common import JsonOption, console, print_json, warn
from entnet.config import TrainConfig
from entnet.data.cbt import read_cbt
from entnet.data.reading import read_stories
from entnet.data.story import Corpus
from entnet.errors import EntNetError
from entnet.models import StoryModel
from entnet.models.cbt.reader import WindowScorer, reads_windows
from entnet.models.cbt.scorer import accuracy, answers_of
from entnet.training.engine import choose_engine
from entnet.training.evaluate import score


def register(app: typer.Typer) -> None:
    app.command()(evaluate)


def evaluate(
    model: Annotated[
        str, typer.Argument(help="A shipped network's name, its directory, or a run's.")
    ],
    file: Annotated[
        Path, typer.Argument(help="Stories with questions (.txt bAbI, .jsonl), or CBT's.")
    ],
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
    if reads_windows(network):
        result, answers = _candidates(network, file)
    else:
        result, answers = _stories(network, file, strict)
    if predictions:
        result["predictions"] = answers
    if as_json:
        print_json(result)
        return
    if predictions:
        for answer in answers:
            console.print(answer, markup=False)
    errors, questions = result["errors"], result["questions"]
    console.print(f"{errors} errors in {questions} questions: {result['error_percent']:.2f}%")


def _candidates(network: StoryModel, file: Path) -> tuple[dict[str, Any], list[str]]:
    """Questions of the Children's Book Test; where candidates tie, a share of an error."""
    questions = read_cbt(file)
    scores = WindowScorer(network).scores(questions)
    reached = accuracy(scores, answers_of(questions))
    errors = round((1 - reached) * len(questions), 2)
    result = {
        "questions": len(questions),
        "errors": int(errors) if errors.is_integer() else errors,
        "error_percent": round(100 * (1 - reached), 4),
        "accuracy": round(reached, 4),
    }
    best = scores.argmax(1).tolist()
    return result, [one.candidates[n] for one, n in zip(questions, best, strict=True)]


def _stories(network: StoryModel, file: Path, strict: bool) -> tuple[dict[str, Any], list[str]]:
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
    return result, [network.vocab.words[i] for i in got.predictions.tolist()]
