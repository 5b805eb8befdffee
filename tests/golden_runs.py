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
from entnet.data.cbt.windows import encode_training, encode_with
from entnet.data.gridworld import GridWorld
from entnet.models.baselines.lstm_language import LanguageConfig
from entnet.tasks import windows
from entnet.tasks.gridworld import GridOptions, grid_trainer
from entnet.tasks.language import LanguageOptions, language_trainer
from entnet.tasks.windows import WindowData, WindowOptions, window_trainer
from entnet.training.loop import Run
from entnet.training.setup import prepare
from entnet.training.trainer import Trainer
from small_networks import make_stories

FOLDER = Path(__file__).parent / "golden"
Losses = dict[str, list[float]]

EXCHANGE = ["mary", "john", "sandra"]
BABI: dict[str, dict[str, Any]] = {
    "story": {},
    "question": {"example": "question"},
    "exchange": {"permute": {"groups": [EXCHANGE], "from_epoch": 2}},
    "begin": {
        "curriculum": [{"epochs": 2, "only": ["garden"]}],
        "batch_unit": "stories",
        "batch_size": 4,
    },
}


def babi_losses(options: dict[str, Any], engine: str) -> Losses:
    """Training and validation loss of each epoch."""
    settings = {"epochs": 4, "batch_size": 8, "engine": engine, "halve_every": 2, **options}
    config = TrainConfig.from_dict(settings)
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


def losses_of_updates(trainer: Trainer) -> list[float]:
    """Train, and return the mean loss of each update."""
    losses: list[float] = []
    step = trainer.engine.step

    def recorded(batch: Any, rate: float) -> Any:
        seen = step(batch, rate)
        losses.append(seen.loss / seen.questions)
        return seen

    with mock.patch.object(trainer.engine, "step", recorded):
        trainer.train()
    return losses


GRID: dict[str, tuple[dict[str, Any], dict[str, Any], float]] = {
    "entnet": ({"width": 8, "slots": 3}, {"ask_from": 2, "ask_agents": "one"}, 40.0),
    "lstm": ({"units": 8}, {"ask_from": 2, "shortest": 3}, 40.0),
    "memn2n": ({"width": 6, "hops": 2}, {}, 1.0),
}
"""Options of the network and of the stories, and the largest norm of the gradient."""


def grid_losses(kind: str) -> Losses:
    """The loss of each update, and the averaged weights."""
    model, stories, norm = GRID[kind]
    config = TrainConfig(
        epochs=2,
        halve_every=1,
        halving_rule="text",
        loss="mean",
        batch_size=4,
        weight_average=0.9,
        max_grad_norm=norm,
        checkpoint="last",
    )
    options = GridOptions(length=5, updates_per_epoch=20, test_stories=20, **stories)
    world = GridWorld(width=3, height=3, agents=1)
    with tempfile.TemporaryDirectory() as folder:
        trainer = grid_trainer(folder, kind, model, options, config, world=world)
        losses = losses_of_updates(trainer)
    trained = {name for name, _ in trainer.model.named_parameters()}  # type: ignore[attr-defined]
    average = [float(t.double().norm()) for name, t in trainer.average.items() if name in trained]
    return {"train_loss": losses, "average_norms": average}


CBT: dict[str, dict[str, Any]] = {
    "simple-native": {},
    "simple-torch": {},
    "memnn": {"optimizer": "adam", "learning_rate": 0.002},
}


def cbt_losses(name: str) -> Losses:
    """The loss of each epoch, and scores of a question by the network that was chosen."""
    train, vocab = encode_training([trade_question(n) for n in range(60)])
    valid = encode_with([trade_question(500 + n) for n in range(10)], vocab)
    settings = {"optimizer": "sgd", "learning_rate": 0.02, "schedule": "exponential", **CBT[name]}
    config = TrainConfig(epochs=3, decay=0.9, batch_size=8, **settings)
    options = WindowOptions(oov_rows=3, oov_probability=0.2, questions=48, query_width=5)
    kind, model = "entnet", {"width": 8}
    if name == "memnn":
        kind, model = "window-memory", {"width": 8, "dropout": 0.2}
    data = WindowData(train, valid, valid, vocab)
    with tempfile.TemporaryDirectory() as folder:
        with mock.patch.object(windows, "is_built", return_value=name == "simple-native"):
            trainer = window_trainer(folder, kind, model, options, config, data)
        trainer.train()
        lines = (Path(folder) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        scores = [float(score) for score in trainer.engine.scores(valid)[0]]  # type: ignore[attr-defined]
    return {"train_loss": [json.loads(line)["train_loss"] for line in lines], "scores": scores}


def language_losses() -> Losses:
    """The loss of each update."""
    draw = random.Random(1)
    pairs = [("cat", "purrs"), ("dog", "barks"), ("cow", "moos"), ("hen", "clucks")]
    text = [["a", *draw.choice(pairs), "."] for _ in range(40)]
    options = LanguageOptions(streams=4, steps=5, sample=4, least=1, parts=1)
    config = TrainConfig(epochs=2, schedule="linear", learning_rate=0.004, max_grad_norm=1.0)
    with tempfile.TemporaryDirectory() as folder:
        trainer = language_trainer(folder, text, LanguageConfig(units=8), options, config)
        return {"train_loss": losses_of_updates(trainer)}


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
