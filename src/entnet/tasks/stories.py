"""Stories from files of one's own, in any format that ``entnet train`` reads."""

from __future__ import annotations

from pathlib import Path

from entnet.config import Config, TrainConfig
from entnet.data.reading import read_stories
from entnet.errors import EntNetError
from entnet.models.base import model_class
from entnet.tasks.spec import Result, RunSpec
from entnet.training.loop import Run
from entnet.training.setup import prepare
from entnet.training.trainer import Callback


def run(spec: RunSpec, callback: Callback | None) -> Result:
    config = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
    train, valid, test = (
        read_stories(Path(spec.source[part])) if spec.source.get(part) else None
        for part in ("train", "valid", "test")
    )
    if train is None or test is None:
        raise EntNetError(f"{spec.name}: stories to train on and to test with are needed")
    prepared = prepare(train, valid, test, config, spec.kind, spec.model)
    about = {**spec.about(), "train_data": Path(spec.source["train"]).name}
    run = Run(spec.directory, prepared.build, prepared.data, config, about, spec.checkpoint_seconds)
    return run.train(callback)


def settings(kind: str) -> list[type[Config]]:
    return [model_class(kind).config_class, TrainConfig]
