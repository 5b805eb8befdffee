"""``entnet demo``: train a small network from scratch, then watch it read and answer."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.box import SIMPLE
from rich.table import Table

from entnet.cli.common import ProgressBar, console
from entnet.config import TrainConfig
from entnet.data.babi_tasks import generate
from entnet.models import EntNet
from entnet.models.memory import MemoryState
from entnet.text import tokenise
from entnet.training.loop import Run
from entnet.training.setup import prepare

_STORY = (
    "Mary went to the kitchen.",
    "John moved to the garden.",
    "Mary got the milk.",
    "Sandra journeyed to the office.",
    "Mary travelled to the hallway.",
    "John took the football.",
    "Mary dropped the milk.",
    "Mary went to the bathroom.",
    "John went back to the bedroom.",
)
_QUESTIONS = ("Where is the milk?", "Where is the football?")
_ENTITIES = ("mary", "john", "milk", "football", "sandra", "daniel", "apple")
_THINGS = ("milk", "football", "apple")
_SHOWN = 4  # slots of those in the story; the table fits 80 columns
_TASK = 2


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    epochs: Annotated[int, typer.Option(help="Passes over the generated stories.")] = 40,
    questions: Annotated[int, typer.Option(help="Questions to train on.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 1,
) -> None:
    """Train a small network on generated stories, test it, and let it read a story aloud.

    The stories are of bAbI's task 2: people walk about, pick things up and put them down, and the question
    is where a thing is. Each memory slot is tied to one person or thing, so what it holds can be read.
    """
    console.print(
        f"[bold]1. Training[/] on {questions:,} questions about generated stories (bAbI task {_TASK})"
    )
    config = TrainConfig(
        epochs=epochs, seed=seed, threads=2, stop_after_zero=2, halve_every=10, hold_epochs=20
    )
    prepared = prepare(
        generate(_TASK, questions, seed),
        generate(_TASK, 1_000, seed, split="valid"),
        generate(_TASK, 1_000, seed, split="test"),
        config,
        model_options={
            "encoder": "bow",
            "keys": "tied",
            "key_words": _ENTITIES,
            "slots": len(_ENTITIES),
        },
    )
    with tempfile.TemporaryDirectory() as directory:
        run = Run(Path(directory), prepared.build, prepared.data, config)
        result = run.train(ProgressBar("training"))
        network = EntNet.from_pretrained(Path(directory) / "model")
    console.print(
        f"   {network.parameter_count():,} weights, {result['seconds']:.0f} s, "
        f"engine: {result['engine']}\n"
    )
    best = result["best"]
    console.print(
        f"[bold]2. Testing[/] on {best['test_questions']:,} questions it has never seen: "
        f"[bold]{best['test_error']:.1f}%[/] wrong\n"
    )
    console.print(
        "[bold]3. Reading[/] a story, sentence by sentence; how far each slot's gate opens:\n"
    )
    state = _read_aloud(network)
    console.print("\n[bold]4. Asking[/]\n")
    for question in _QUESTIONS:
        _ask(network, state, question)
    console.print(
        "\nNext: [bold]entnet ask[/], [bold]entnet serve[/], [bold]entnet train --help[/]"
    )


def _words(network: EntNet, text: str) -> torch.Tensor:
    words = network.vocab.encode(tokenise(text))
    words += [0] * (network.config.sentence_length - len(words))
    return torch.tensor([words])


@torch.no_grad()
def _read_aloud(network: EntNet) -> MemoryState:
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    for heading in ("sentence", *network.config.key_words[:_SHOWN]):
        table.add_column(heading, no_wrap=True)
    state = network.initial_state()
    for sentence in _STORY:
        state, gates = network.step(state, _words(network, sentence))
        shades = [_shade(float(g)) for g in gates[0, :_SHOWN]]
        table.add_row(sentence, *shades)
    table.add_section()
    places = [network.vocab.index[place] for place in _places(network)]
    nearest = network.slot_words(state)[0][:, places].argmax(-1)
    holds = [_places(network)[int(place)] for place in nearest]
    table.add_row(
        "[bold]the slot holds[/]",
        *(
            place if key in _THINGS else "–"
            for place, key in zip(holds[:_SHOWN], network.config.key_words, strict=False)
        ),
    )
    console.print(table)
    console.print("   (nobody asks where people are: only slots of things learn to hold a place)")
    return state


def _places(network: EntNet) -> list[str]:
    known = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
    return [place for place in known if place in network.vocab]


def _shade(gate: float) -> str:
    return " ░▒▓█"[min(int(gate * 5), 4)] * 4


@torch.no_grad()
def _ask(network: EntNet, state: MemoryState, question: str) -> None:
    reading = network.read(state, _words(network, question))
    chances = reading.scores[0].softmax(-1)
    best = int(chances.argmax())
    slot = int(reading.attention[0].argmax())
    console.print(
        f"   {question}  [bold green]{network.vocab.words[best]}[/] ({float(chances[best]):.0%}), "
        f"looked up in the slot of [italic]{network.config.key_words[slot]}[/]"
    )
