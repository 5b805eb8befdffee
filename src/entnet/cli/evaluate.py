"""``entnet evaluate``"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from entnet.binding import Places, bind_story
from entnet.cli.common import JsonOption, ModelFileOption, console, print_json, warn
from entnet.cli.evaluate_long import evaluate_long
from entnet.cli.propara import evaluate_propara
from entnet.config import TrainConfig
from entnet.data.cbt.format import read_cbt
from entnet.data.reading import read_stories
from entnet.data.story import Story
from entnet.errors import EntNetError
from entnet.models import EntNet, StoryModel
from entnet.models.base import encode_stories
from entnet.models.card import read_manner
from entnet.models.processes.base import ProcessModel
from entnet.models.readers.reader import NetworkScorer, chooses
from entnet.models.readers.scorer import accuracy, answers_of
from entnet.renaming import rename
from entnet.text import answer_token
from entnet.training.engine import choose_engine
from entnet.training.evaluate import Score, score


@dataclass(frozen=True)
class Answered:
    """A question, what had been read when it was asked, and what the network said."""

    sentences: tuple[str, ...]
    question: str
    answer: str
    said: str


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
    mistakes: Annotated[
        int,
        typer.Option(
            "--mistakes",
            min=0,
            metavar="<number>",
            help="Show so many of the questions it got wrong, with their stories.",
        ),
    ] = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse words the network never saw.")
    ] = False,
    propara: Annotated[
        bool,
        typer.Option(
            "--propara", help="FILE has ProPara's paragraphs: print both official scores."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="With --propara: the file of predictions, else predictions.tsv."
        ),
    ] = None,
    bind: Annotated[
        bool,
        typer.Option("--bind", help="Take new names for words of their kind that it knows."),
    ] = False,
    renamed: Annotated[
        bool,
        typer.Option(
            "--renamed", help="With --bind: first give everybody and everything a name never seen."
        ),
    ] = False,
    model_file: ModelFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a network every question of a file, and count its errors.

    [bold]Example:[/] entnet evaluate babi-qa2 qa2_two-supporting-facts_test.txt

    With --propara, a file of predictions (.tsv) can stand in the network's place.
    """
    if propara:
        evaluate_propara(model, file, out, as_json)
        return
    network = StoryModel.from_pretrained(model)
    if isinstance(network, ProcessModel):
        raise EntNetError(
            f"{model}: a {network.config.kind} network reads processes: add --propara"
        )
    if chooses(network):
        result, answered = _candidates(network, file)
    elif isinstance(network, EntNet) and network.vocab.reads_running_text:
        result, told = evaluate_long(network, file)
        answered = [Answered(*one) for one in told]
    else:
        places = read_manner(model).places if bind else None
        if bind and places is None:
            raise EntNetError(f"{model}: its card does not say which words are of a kind")
        if renamed and not bind:
            raise EntNetError("--renamed goes with --bind, which takes the new names")
        result, answered = _stories(network, file, strict, places, renamed)
    wrong = list(islice((one for one in answered if one.said != one.answer), mistakes))
    if as_json:
        if predictions:
            result["predictions"] = [one.said for one in answered]
        if mistakes:
            result["mistakes"] = [asdict(one) for one in wrong]
        print_json(result)
        return
    if predictions:
        for one in answered:
            console.print(one.said, markup=False)
    for one in wrong:
        console.print("\n".join(_told(one)), markup=False, highlight=False)
    errors, questions = result["errors"], result["questions"]
    console.print(f"{errors} errors in {questions} questions: {result['error_percent']:.2f}%")


def _told(mistake: Answered) -> Iterator[str]:
    """A question that was answered wrongly, in lines."""
    for number, sentence in enumerate(mistake.sentences, start=1):
        yield f"{number:3} {sentence}"
    yield f"    {mistake.question}"
    yield f"    right: {mistake.answer}; said: {mistake.said}\n"


def _candidates(network: StoryModel, file: Path) -> tuple[dict[str, Any], list[Answered]]:
    """Questions of the Children's Book Test; where candidates tie, a share of an error."""
    questions = read_cbt(file)
    scores = NetworkScorer(network).scores(questions)
    reached = accuracy(scores, answers_of(questions))
    errors = round((1 - reached) * len(questions), 2)
    result = {
        "questions": len(questions),
        "errors": int(errors) if errors.is_integer() else errors,
        "error_percent": round(100 * (1 - reached), 4),
        "accuracy": round(reached, 4),
    }
    best = scores.argmax(1).tolist()
    return result, [
        Answered(one.sentences, one.query, one.answer, one.candidates[n])
        for one, n in zip(questions, best, strict=True)
    ]


def _stories(
    network: StoryModel,
    file: Path,
    strict: bool,
    places: Places | None = None,
    renamed: bool = False,
) -> tuple[dict[str, Any], list[Answered]]:
    stories = read_stories(file)
    if places is not None and renamed:
        stories = rename(stories, places.kind_of, network.vocab.index)
    if places is not None:
        stories = [bind_story(places, story, network.vocab.index) for story in stories]
    result, got = score_stories(network, stories, file, strict)
    asked = [(story, question) for story in stories for question in story.questions]
    return result, [
        Answered(
            story.sentences[: question.after],
            question.text,
            answer_token(question.answer, network.config.lowercase),
            network.vocab.words[said],
        )
        for (story, question), said in zip(asked, got.predictions.tolist(), strict=True)
    ]


def score_stories(
    network: StoryModel, stories: Sequence[Story], file: Path, strict: bool = False
) -> tuple[dict[str, Any], Score]:
    """Errors and loss on the stories of a file, as `--json` prints them, and the answers."""
    config = network.config
    try:
        corpus = encode_stories(stories, network.vocab, config)
    except ValueError as error:
        raise EntNetError(f"{file}: {error}") from error
    if corpus.unknown_words:
        names = ", ".join(corpus.unknown_words)
        if strict:
            raise EntNetError(f"{file}: words that this network does not know: {names}")
        warn(f"words that this network does not know, read as unknown: {names}")
    got = score(choose_engine(network, TrainConfig()), corpus.entries("story", config.memory_limit))
    result: dict[str, Any] = {
        "questions": got.questions,
        "errors": got.errors,
        "error_percent": round(got.error_percent, 4),
        "loss": round(got.loss, 6),
        "unknown_words": corpus.unknown_words,
    }
    return result, got
