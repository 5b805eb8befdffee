"""``entnet generate grid``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from entnet.cli.common import console
from entnet.data.babi import format_babi, write_babi
from entnet.data.gridworld import GridWorld
from entnet.data.jsonl import write_jsonl
from entnet.errors import EntNetError


def register(app: typer.Typer) -> None:
    """Add the command to ``entnet generate``."""
    app.command("grid")(grid)


def grid(
    stories: Annotated[int, typer.Option(help="How many stories.")] = 1000,
    length: Annotated[
        int, typer.Option(help="Sentences a story, placing the agents included.")
    ] = 20,
    agents: Annotated[int, typer.Option(help="How many walk on the grid.")] = 2,
    width: Annotated[int, typer.Option(help="Fields from west to east.")] = 10,
    height: Annotated[int, typer.Option(help="Fields from south to north.")] = 10,
    ask_from: Annotated[
        int | None,
        typer.Option(help="Ask after every sentence from this one on; else at the end only."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same stories.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="bAbI format, or JSON lines if the name ends in .jsonl."),
    ] = None,
) -> None:
    """Write stories of agents walking on a grid, asking where they are.

    [bold]Example:[/] entnet generate grid --stories 1000 --length 20 --seed 1 -o grid.txt
    """
    world = GridWorld(width=width, height=height, agents=agents)
    first = length if ask_from is None else ask_from
    if stories < 1 or not 1 <= first <= length:
        raise EntNetError(
            f"{stories} stories of {length} sentences, asking from sentence {first} on: there must be "
            "at least one of each, and questions within the story"
        )
    made = world.describe(world.simulate(np.random.default_rng(seed), stories, length), ask_from)
    if out is None:
        typer.echo(format_babi(made), nl=False)
    elif out.suffix == ".jsonl":
        write_jsonl(out, made)
    else:
        write_babi(out, made)
    if out is not None:
        asked = sum(len(story.questions) for story in made)
        console.print(f"{stories} stories, {asked} questions: {out}", markup=False, soft_wrap=True)
