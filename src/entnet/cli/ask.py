"""``entnet ask``"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Annotated, Any

import typer

from entnet.cli.common import JsonOption, ModelFileOption, console, print_json, warn
from entnet.cli.conversation import Conversation, converse
from entnet.cli.storyfile import load_story
from entnet.data.story import Story
from entnet.errors import EntNetError
from entnet.inspection.tables import naming, question_panel
from entnet.inspection.trace import Asked, answer_dict, slot_names
from entnet.tracker import Tracker


def register(app: typer.Typer) -> None:
    app.command()(ask)


def ask(
    model: Annotated[
        str, typer.Argument(help="A shipped network's name, its directory, or a run's.")
    ] = "world",
    story: Annotated[
        Path | None,
        typer.Option("--story", help="A story to read first: plain text, bAbI (.txt) or .jsonl."),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option("--question", help="Ask this in place of the file's questions, and end."),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--number", help="Which story of the file, counted from 1.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse words the network never saw.")
    ] = False,
    bind: Annotated[
        bool, typer.Option(help="Take new names for words of their kind that the network knows.")
    ] = True,
    model_file: ModelFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell a network a story, sentence by sentence, and ask it.

    Questions in the file are asked where they stand. Without --question a prompt opens then: sentences
    are read, lines that start or end with a question mark are asked, and :help lists the rest.

    [bold]Example:[/] entnet ask --story story.txt --question "Where is Mary?"
    """
    tracker = Tracker.from_pretrained(model, strict, bind)
    told = load_story(story, number) if story else Story((), ())
    if as_json and question is None and not told.questions:
        raise EntNetError("--json prints answers; give --question, or a story with questions in it")
    if as_json and question is None:
        answers = _answers(tracker, told)
        print_json({"answers": [_asked_dict(one) for one in answers]})
        return
    sentences = list(told.sentences)
    limit = tracker.model.config.memory_limit
    if limit is not None and len(sentences) > limit:
        warn(f"reading the last {limit} of {len(sentences)} sentences, as in training")
        sentences = sentences[-limit:]
    if question is None:
        conversation = Conversation(tracker, console)
        _read_aloud(conversation, told, len(told.sentences) - len(sentences))
        converse(conversation)
        return
    read = tracker.read_sentences(sentences)
    unknown = {word: None for one in read for word in one.unknown}
    for note in (note for one in read for note in naming(one.bound, one.unbound)):
        warn(note)
    answer = tracker.ask(question)
    unknown.update(dict.fromkeys(answer.unknown))
    if unknown:
        warn(f"words that this network does not know, read as nothing: {', '.join(unknown)}")
    if as_json:
        bound = [one._asdict() for reading in read for one in reading.bound]
        about = {"unknown": list(unknown), "bound": bound, "sentences": len(sentences)}
        print_json({**answer_dict(answer), **about})
    else:
        console.print(question_panel(Asked(len(sentences), "", answer), slot_names(tracker)))


def _answers(tracker: Tracker, story: Story) -> list[Asked]:
    """The story's questions, each answered from as much of the story as it sees in training."""
    limit = tracker.model.config.memory_limit
    asked = []
    for question in story.questions:
        first = 0 if limit is None else max(0, question.after - limit)
        tracker.reset()
        tracker.read_sentences(story.sentences[first : question.after])
        asked.append(Asked(question.after, question.answer, tracker.ask(question.text)))
    return asked


def _asked_dict(asked: Asked) -> dict[str, Any]:
    expected = {"expected": asked.expected, "right": asked.right} if asked.expected else {}
    return {"after": asked.after, **expected, **answer_dict(asked.answer)}


def _read_aloud(conversation: Conversation, story: Story, first: int) -> None:
    """Read a story from its sentence ``first`` on, and answer all its questions in their places."""
    waiting = deque(sorted(_answers(conversation.tracker, story), key=lambda asked: asked.after))
    conversation.tracker.reset()
    for position in range(first, len(story.sentences) + 1):
        if position > first:
            conversation.read([story.sentences[position - 1]])
        while waiting and waiting[0].after <= position:
            console.print(question_panel(waiting.popleft(), conversation.names))
