"""``entnet generate``: stories made to measure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entnet.cli import generate_grid, generate_long
from entnet.cli.common import console, replace_table, warn
from entnet.cli.data import DirectoryOption
from entnet.data.babi import TASK_NAMES, TASKS_WITH_TIGHT_TABS, format_babi, write_babi
from entnet.data.babi_tasks import SPLITS, TASKS, Knobs, generate
from entnet.data.babi_tasks.compare import compare, table
from entnet.data.jsonl import write_jsonl
from entnet.data.story import Story
from entnet.data.world import pools
from entnet.data.world.mixture import mixture, sized_stories
from entnet.errors import EntNetError

generate_app = typer.Typer(
    help="Make stories: bAbI's 20 tasks, the grid, facts hidden in books.", no_args_is_help=True
)
generate_grid.register(generate_app)
generate_long.register(generate_app)

TaskOption = Annotated[
    str, typer.Option("--task", help="A task's number, several (1,2,3), or 'all'.")
]


def register(app: typer.Typer) -> None:
    app.add_typer(generate_app, name="generate")


@generate_app.command("babi")
def generate_babi(
    task: TaskOption,
    questions: Annotated[int, typer.Option(help="Questions of each task.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same stories.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File in bAbI's format (JSON lines if it ends in .jsonl); a directory where there "
            "are several. Else printed.",
        ),
    ] = None,
    split: Annotated[
        bool, typer.Option(help="Write training, validation and test files, from disjoint seeds.")
    ] = False,
    part: Annotated[
        str,
        typer.Option(help="Which part of a single file's seed: train, valid or test are disjoint."),
    ] = "train",
    held_out: Annotated[
        int, typer.Option(help="Questions of the validation and of the test file.")
    ] = 1_000,
    people: Annotated[
        str | None, typer.Option(help="How many people, or their names: Ann,Bob.")
    ] = None,
    places: Annotated[str | None, typer.Option(help="How many places, or their names.")] = None,
    objects: Annotated[
        str | None, typer.Option(help="How many objects (kinds, shapes), or their names.")
    ] = None,
    questions_per_story: Annotated[int | None, typer.Option(help="Questions in one story.")] = None,
    sentences_per_question: Annotated[
        int | None, typer.Option(help="Sentences from one chance to ask to the next.")
    ] = None,
    noise: Annotated[
        bool, typer.Option(help="Vary the wording at random, as the official data do.")
    ] = True,
) -> None:
    """Generate stories of bAbI's tasks, with supporting facts.

    [bold]Examples:[/]

    entnet generate babi --task 3 --questions 10000 -o train.txt

    entnet generate babi --task 3 --questions 1000 --part test -o test.txt

    entnet generate babi --task all --split -o generated/

    entnet generate babi --task 1 --people Zoe,Max,Ida --places 10 -o unseen-names.txt
    """
    knobs = Knobs(
        people=_words_or_count(people),
        places=_words_or_count(places),
        objects=_words_or_count(objects),
        questions_per_story=questions_per_story,
        sentences_per_question=sentences_per_question,
        noise=noise,
    )
    chosen = _tasks(task)
    if len(chosen) == 1 and not split and not (out and out.is_dir()):
        _write(out, chosen[0], generate(chosen[0], questions, seed, knobs, part))
        if out is not None:
            others = " and ".join(f"--part {name}" for name in SPLITS if name != part)
            warn(
                f"part {part} of seed {seed}: a file with the same task, seed and part begins with "
                f"these stories; {others} give others"
            )
        return
    if part != "train":
        raise EntNetError("--part is for a single file; --split writes all three parts")
    if out is None or out.is_file():
        raise EntNetError("several files are made: -o must name a directory for them")
    out.mkdir(parents=True, exist_ok=True)
    for number in chosen:
        for part in SPLITS if split else ("train",):
            wanted = questions if part == "train" else held_out
            path = out / f"qa{number}_{TASKS[number].name}_{part}.txt"
            _write(path, number, generate(number, wanted, seed, knobs, part))


@generate_app.command("world")
def generate_world(
    stories: Annotated[int, typer.Option(min=1, help="How many stories.")] = 1_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same stories.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="bAbI's format, or JSON lines (.jsonl); else printed."),
    ] = None,
    part: Annotated[str, typer.Option(help="train, valid or test: disjoint.")] = "train",
    people: Annotated[int | None, typer.Option(min=1, max=len(pools.PEOPLE))] = None,
    things: Annotated[int | None, typer.Option(min=0, max=len(pools.THINGS))] = None,
    places: Annotated[int | None, typer.Option(min=2, max=len(pools.PLACES))] = None,
    sentences: Annotated[int | None, typer.Option(min=1, help="In every story.")] = None,
) -> None:
    """Generate the stories of the network `world`: all of bAbI's house in one story, honest answers.

    [bold]Example:[/] entnet generate world --stories 100 --people 10 --things 10 --places 12 -o crowd.txt

    Anything is asked at any moment; the answer to what a story does not tell is "unknown".
    """
    if part not in SPLITS:
        raise EntNetError(f"no part {part!r}; there are {', '.join(SPLITS)}")
    sizes = (people, things, places, sentences)
    if all(size is None for size in sizes):
        made = mixture(stories, seed, part)
    else:
        made = sized_stories(stories, seed, part, *sizes)
    _write(out, 1, made)


@generate_app.command("compare")
def compare_babi(
    task: TaskOption = "all",
    directory: DirectoryOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Page whose table is replaced; else printed."),
    ] = None,
) -> None:
    """Compare generated stories with the official files, as a Markdown table.

    [bold]Example:[/] entnet generate compare -o docs/generated-babi.md
    """
    chosen = [number for number in _tasks(task) if number in TASK_NAMES]
    made = table(compare(number, directory) for number in chosen)
    if out is None:
        typer.echo(made, nl=False)
        return
    replace_table(out, made)


def _tasks(text: str) -> list[int]:
    """The numbers of the tasks that an option names."""
    if text.strip() == "all":
        return list(TASKS)
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise EntNetError(f"--task is a number, several (1,2,3) or 'all', not {text!r}") from None
    for number in numbers:
        if number not in TASKS:
            raise EntNetError(f"no task {number}; there are {', '.join(map(str, TASKS))}")
    return numbers


def _words_or_count(text: str | None) -> int | tuple[str, ...] | None:
    if text is None or text.strip().isdigit():
        return None if text is None else int(text)
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _write(path: Path | None, task: int, stories: list[Story]) -> None:
    blank_before_tab = task not in TASKS_WITH_TIGHT_TABS
    if path is None:
        typer.echo(format_babi(stories, blank_before_tab), nl=False)
        return
    if path.suffix == ".jsonl":
        write_jsonl(path, stories)
    else:
        write_babi(path, stories, blank_before_tab)
    asked = sum(len(story.questions) for story in stories)
    console.print(
        f"{len(stories)} stories, {asked} questions: {path}", markup=False, soft_wrap=True
    )
