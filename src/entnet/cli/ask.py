"""``entnet ask``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entnet.cli.common import JsonOption, console, print_json, warn
from entnet.cli.conversation import Conversation, converse
from entnet.cli.storyfile import load_story
from entnet.errors import EntNetError
from entnet.inspection.tables import question_panel
from entnet.inspection.trace import Asked, answer_dict, slot_names
from entnet.tracker import Tracker


def register(app: typer.Typer) -> None:
    app.command()(ask)


def ask(
    model: Annotated[
        str, typer.Argument(help="A shipped network's name, its directory, or a run's.")
    ],
    story: Annotated[
        Path | None,
        typer.Option("--story", help="A story to read first: plain text, bAbI (.txt) or .jsonl."),
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", help="Ask this, print the answer, and end.")
    ] = None,
    number: Annotated[
        int | None, typer.Option("--number", help="Which story of the file, counted from 1.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse words the network never saw.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Tell a network a story, sentence by sentence, and ask it.

    Without a question a prompt opens: sentences are read, lines that start or end with a question mark
    are asked, and :help lists the rest.

    [bold]Example:[/] entnet ask babi-qa1 --story story.txt --question "Where is Mary?"
    """
    if as_json and question is None:
        raise EntNetError("--json prints the answer to a question; give --question too")
    tracker = Tracker.from_pretrained(model, strict=strict)
    sentences = list(load_story(story, number).sentences) if story else []
    limit = tracker.model.config.memory_limit
    if limit is not None and len(sentences) > limit:
        warn(f"reading the last {limit} of {len(sentences)} sentences, as in training")
        sentences = sentences[-limit:]
    conversation = Conversation(tracker, console)
    if question is None:
        conversation.read(sentences)
        converse(conversation)
        return
    unknown = {word: None for read in tracker.read_sentences(sentences) for word in read.unknown}
    answer = tracker.ask(question)
    unknown.update(dict.fromkeys(answer.unknown))
    if unknown:
        warn(f"words that this network does not know, read as nothing: {', '.join(unknown)}")
    if as_json:
        print_json({**answer_dict(answer), "unknown": list(unknown), "sentences": len(sentences)})
    else:
        console.print(question_panel(Asked(len(sentences), "", answer), slot_names(tracker)))
