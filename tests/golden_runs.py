"""Tiny runs of every training loop, whose losses are kept in tests/golden/.

A change of the code must not change what training does. `python tests/golden_runs.py` writes the files
anew: only for a change that is meant to alter numbers, and that says so.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from cbt_questions import trade_question
from entnet import TrainConfig
from entnet.data.cbt_windows import encode_training, encode_with, with_fresh
from entnet.data.gridworld import GridWorld
from entnet.experiments import gridworld_run
from entnet.experiments.cbt_language import LanguageRun
from entnet.experiments.cbt_training import (
    NativeTrainee,
    TorchTrainee,
    Trainee,
    WindowTraining,
    train_windows,
)
from entnet.experiments.gridworld_run import GridRun, GridSpec
from entnet.models.cbt.lstm_language import LanguageConfig
from entnet.models.cbt.memnn import WindowMemory, WindowMemoryConfig
from entnet.models.cbt.native import NativeSimple, simple_config
from entnet.models.entnet import EntNet
from entnet.training.loop import Run
from entnet.training.setup import prepare
from small_networks import make_stories

FOLDER = Path(__file__).parent / "golden"
Losses = dict[str, list[float]]

EXCHANGE = "mary john sandra"
BABI: dict[str, dict[str, Any]] = {
    "story": {},
    "question": {"draw": "question"},
    "exchange": {"exchange": (EXCHANGE,), "exchange_from": 2},
    "begin": {"begin": ("2 garden",), "batch_of": "stories", "batch": 4},
}


def babi_losses(options: dict[str, Any], engine: str) -> Losses:
    """Training and validation loss of each epoch."""
    settings = {"epochs": 4, "batch": 8, "engine": engine, "halve_every": 2, **options}
    config = TrainConfig(**settings)
    prepared = prepare(
        make_stories(16, 1), make_stories(8, 2), None, config, model_options={"width": 8}
    )
    with tempfile.TemporaryDirectory() as folder:
        Run(folder, prepared.build, prepared.data, config).train()
        lines = (Path(folder) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return {
        key: [json.loads(line)[key] for line in lines]
        for key in ("rate", "train_loss", "valid_loss")
    }


GRID: dict[str, dict[str, Any]] = {
    "entnet": {"model": {"width": 8, "slots": 3}, "ask_from": 2, "ask_agents": "one"},
    "lstm": {"model": {"units": 8}, "ask_from": 2, "shortest": 3},
    "memn2n": {"model": {"width": 6, "hops": 2}, "clip": 1.0},
}
UPDATES = 20
"""In a round, so that two of them are soon over."""


def grid_losses(kind: str) -> Losses:
    """The loss of each update, and the loss of a fixed batch under the averaged weights."""
    with mock.patch.object(gridworld_run, "ROUND", UPDATES):
        spec = GridSpec(
            table="table1a",
            kind=kind,
            length=5,
            rate=0.01,
            seed=1,
            updates=2 * UPDATES,
            halve_every=UPDATES,
            stories=4,
            average=0.9,
            test_stories=20,
            **GRID[kind],
        )
        run = GridRun(spec, GridWorld(width=3, height=3, agents=1))
        losses: list[float] = []
        step = run.engine.step

        def recorded(batch: Any, rate: float) -> Any:
            seen = step(batch, rate)
            losses.append(seen.loss / seen.questions)
            return seen

        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(run.engine, "step", recorded),
        ):
            run.train(Path(folder), lambda _: None)
        average = [float(tensor.double().norm()) for tensor in run.average]
        return {"train_loss": losses, "average_norms": average}


CBT: dict[str, dict[str, Any]] = {
    "simple-native": {},
    "simple-native-adagrad": {"optimiser": "adagrad"},
    "simple-torch": {},
    "memnn": {"optimiser": "adam", "rate": 0.002},
}


def cbt_losses(name: str) -> Losses:
    """The loss of each epoch, and scores of a question by the network that was chosen."""
    train, vocab = encode_training([trade_question(n) for n in range(60)])
    valid = encode_with([trade_question(500 + n) for n in range(10)], vocab)
    words = with_fresh(vocab, 3)
    settings = {"rate": 0.02, "decay": 0.9, **CBT[name]}
    training = WindowTraining(
        epochs=3, fresh=3, disguise=0.2, batch=8, questions=48, query_width=5, **settings
    )
    torch.manual_seed(1)
    trainee: Trainee
    if name == "memnn":
        size = {"vocabulary": len(words), "sentence_length": 5, "width": 8, "dropout": 0.2}
        network = WindowMemory(WindowMemoryConfig(**size), words)
        trainee = TorchTrainee(network, train, training)
    else:
        model = EntNet(simple_config(len(words), width=8), words)
        trainee = TorchTrainee(model, train, training)
        if name != "simple-torch":
            adaptive = training.optimiser == "adagrad"
            trainee = NativeTrainee(NativeSimple(model, adaptive=adaptive), train, training)
    losses: list[float] = []
    epoch = trainee.epoch

    def recorded(number: int) -> Any:
        seen = epoch(number)
        losses.append(seen.loss)
        return seen

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(trainee, "epoch", recorded),
    ):
        file = Path(folder) / "run.npz"
        outcome = train_windows(trainee, training, valid, valid, file, lambda _: None)
    scores = [float(score) for score in outcome.test_scores[0]]
    return {"train_loss": losses, "scores": scores}


def language_losses() -> Losses:
    """The loss of each update."""
    draw = random.Random(1)
    pairs = [("cat", "purrs"), ("dog", "barks"), ("cow", "moos"), ("hen", "clucks")]
    text = [["a", *draw.choice(pairs), "."] for _ in range(40)]
    config = LanguageConfig(units=8, streams=4, steps=5, sample=4, epochs=2, least=1)
    torch.manual_seed(1)
    run = LanguageRun(text, config)
    while not run.finished:
        run._update()
    return {"train_loss": list(run._recent)}


RUNS: dict[str, Callable[[], Losses]] = {
    **{
        f"babi-{name}-{engine}": lambda options=options, engine=engine: babi_losses(options, engine)
        for name, options in BABI.items()
        for engine in ("reference", "native")
    },
    **{f"grid-{kind}": lambda kind=kind: grid_losses(kind) for kind in GRID},
    **{f"cbt-{name}": lambda name=name: cbt_losses(name) for name in CBT},
    "language": language_losses,
}


def golden(name: str) -> Losses:
    """What a run gave when its file was made."""
    values: Losses = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return values


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, run in RUNS.items():
        (FOLDER / f"{name}.json").write_text(json.dumps(run(), indent=1) + "\n", encoding="utf-8")
