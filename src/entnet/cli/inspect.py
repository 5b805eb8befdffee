"""``entnet inspect``"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from entnet.cli.common import JsonOption, ModelFileOption, console, print_json, warn
from entnet.cli.copying import inspect_copier
from entnet.cli.propara import inspect_propara
from entnet.cli.storyfile import load_story
from entnet.data.gridworld import GridWorld
from entnet.data.reading import read_stories
from entnet.data.story import Question, Story
from entnet.inspection.gridworld import draw_walk, probe_markdown, probe_slots, require_grid
from entnet.inspection.names import measure, names_markdown
from entnet.inspection.page import save_page
from entnet.inspection.places import PlaceScore, measure_places, true_places
from entnet.inspection.plots import save_plot, save_reliability
from entnet.inspection.tables import trace_tables
from entnet.inspection.trace import EXAMPLE, trace_story
from entnet.models import StoryModel
from entnet.models.card import read_manner
from entnet.models.copying import find_copier
from entnet.models.entnet import EntNet
from entnet.models.processes.base import ProcessModel
from entnet.report.places import write_places
from entnet.tracker import Tracker, load_entity_network


def register(app: typer.Typer) -> None:
    app.command()(inspect)


def inspect(
    model: Annotated[
        str, typer.Argument(help="A shipped network's name, its directory, or a run's.")
    ],
    file: Annotated[
        Path | None,
        typer.Argument(help="A story: plain text, bAbI (.txt) or .jsonl; the paper's if left out."),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--number", help="Which story of the file, counted from 1.")
    ] = None,
    question: Annotated[
        list[str] | None, typer.Option("--question", help="Ask this at the end; may be repeated.")
    ] = None,
    words: Annotated[int, typer.Option("--words", min=1, help="Nearest words for each slot.")] = 3,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw a picture: .png, .svg or .pdf.")
    ] = None,
    show: Annotated[
        Literal["gates", "movement"], typer.Option("--show", help="What the picture's colour is.")
    ] = "gates",
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page to step through, all in one file.")
    ] = None,
    places: Annotated[
        Path | None,
        typer.Option("--places", help="Task-2 stories: count the slots that name the right place."),
    ] = None,
    stories: Annotated[
        int, typer.Option("--stories", min=1, help="With --places: how many stories.")
    ] = 200,
    results: Annotated[
        Path | None,
        typer.Option("--results", help="With --places: keep the counts here for `entnet report`."),
    ] = None,
    names: Annotated[
        bool,
        typer.Option(
            "--names", help="New names, crowds, long stories, and what no story tells: `world`."
        ),
    ] = False,
    unanswerable: Annotated[
        Path | None,
        typer.Option(
            "--unanswerable", help="With --names: stories in a line, then questions after `?`."
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="With --names: the data; else $ENTNET_DATA.")
    ] = None,
    grid: Annotated[
        Path | None,
        typer.Option("--grid", help="Networks of the grid world: draw a walk, .html or .gif."),
    ] = None,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="Networks of the grid world: what a linear probe finds."),
    ] = False,
    participant: Annotated[
        list[str] | None,
        typer.Option(
            "--participant", help="Networks on processes: whom to follow in a text of your own."
        ),
    ] = None,
    bind: Annotated[
        bool, typer.Option(help="Take new names for words of their kind that the network knows.")
    ] = True,
    model_file: ModelFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look inside a network while it reads: gates, slots in words, attention.

    A network on processes shows its grid: where every participant is after each sentence. One that copies
    shows where its heads write and read.

    [bold]Example:[/] entnet inspect babi-qa2-tied --html story.html
    """
    if (copier := find_copier(model)) is not None:
        inspect_copier(copier, plot, as_json)
        return
    reader = StoryModel.from_pretrained(model)
    if isinstance(reader, ProcessModel):
        inspect_propara(reader, file, number, participant or [], plot, html, as_json)
        return
    network = load_entity_network(model)
    if grid is not None or probe:
        _inspect_grid(network, model, grid, probe)
        return
    if names:
        _inspect_names(model, unanswerable, data, plot, as_json)
        return
    if places is not None:
        score = measure_places(network, read_stories(places)[:stories])
        if results is not None:
            _keep_places(network, Path(model).name, score, results)
        if as_json:
            print_json({"places": score.to_dict()})
            return
        for kind, right, known in (
            ("people", score.people_right, score.people),
            ("things", score.things_right, score.things),
            ("  of these, carried from place to place", score.carried_right, score.carried),
        ):
            console.print(f"{kind}: {right} of {known} slots name the right place first")
        console.print(f"together {score.share:.1%} in {score.stories} stories")
        return
    story = _with_questions(load_story(file, number) if file else EXAMPLE, question or [])
    manner = read_manner(model) if bind else None
    trace = trace_story(network, story, Path(model).name, words, manner)
    unknown = {word: None for step in trace.steps for word in step.unknown}
    if unknown:
        warn(f"words that this network does not know, read as nothing: {', '.join(unknown)}")
    if plot:
        save_plot(trace, plot, show)
    if html:
        save_page(trace, html)
    if as_json:
        print_json(trace.to_dict())
    else:
        console.print(trace_tables(trace))
        for written in filter(None, (plot, html)):
            console.print(f"[dim]written:[/] {written}")


def _inspect_names(
    model: str, unanswerable: Path | None, data: Path | None, plot: Path | None, as_json: bool
) -> None:
    found = measure(model, unanswerable, data)
    if plot is not None:
        save_reliability(found["reliability"], plot)
    if as_json:
        print_json(found)
    else:
        console.print(names_markdown(found), end="", soft_wrap=True, markup=False, highlight=False)


def _inspect_grid(network: EntNet, model: str, out: Path | None, probe: bool) -> None:
    world = GridWorld()
    require_grid(network, world, model)
    if probe:
        console.print(probe_markdown(probe_slots(network, world)), end="")
    if out is not None:
        draw_walk(network, world, out)
        console.print(f"[dim]written:[/] {out}")


def _keep_places(network: EntNet, model: str, score: PlaceScore, results: Path) -> None:
    """Write the counts down, with what each slot holds after the paper's story."""
    tracker = Tracker(network)
    tracker.read_sentences(EXAMPLE.sentences)
    truth = true_places(EXAMPLE.sentences)
    words = {content.key: [near.word for near in content.words] for content in tracker.slots(2)}
    slots = {
        name: (place, words[name])
        for name, place in [*truth.people.items(), *truth.things.items()]
        if name in words
    }
    write_places(results, model, score.to_dict(), slots)


def _with_questions(story: Story, questions: list[str]) -> Story:
    """The story with further questions at its end, in place of its own."""
    if not questions:
        return story
    asked = tuple(Question(len(story.sentences), text, "") for text in questions)
    return replace(story, questions=asked)
