"""The trainer with a source and a task that are not bAbI's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from entnet import Corpus, EntNet, EntNetConfig, Story, TrainConfig, Vocab
from entnet.data.story import story_words
from entnet.training.engine import Engine, TorchEngine
from entnet.training.loop import Run
from entnet.training.setup import prepare
from entnet.training.trainer import Epoch, Trainer, TrainingScore, ValidationScore
from interrupted import interrupt


class OneBatch:
    """Every epoch reads the same batch three times."""

    def __init__(self, stories: list[Story], vocab: Vocab) -> None:
        entries = Corpus.encode(stories, vocab).entries()
        self.batch = next(iter(entries.batches(entries.groups(100))))
        self.asked: list[int] = []

    def epoch(self, number: int) -> Epoch:
        self.asked.append(number)
        return Epoch(iter([self.batch] * 3), 3, seed=number)


class LowestLoss:
    """Two epochs at least, then until the learning rate has fallen; the lowest training loss is best."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def learning_rate(self, epoch: int, done: float) -> float:
        return 0.01 / epoch

    def validate(self, engine: Engine, epoch: int, training: TrainingScore) -> ValidationScore:
        self.losses.append(training.loss)
        return ValidationScore(training.loss, training.error, training.loss == min(self.losses))

    def finished(self, epoch: int) -> bool:
        return self.learning_rate(epoch, 1.0) < 0.003

    def test(self, engine: Engine) -> dict[str, float | int]:
        return {"loss": self.losses[-1]}

    def state(self) -> dict[str, Any]:
        best = self.losses.index(min(self.losses)) + 1 if self.losses else 0
        return {"losses": self.losses, "best_epoch": best}

    def load_state(self, state: dict[str, Any]) -> None:
        self.losses = state["losses"]


def make(directory: Path, stories: list[Story]) -> Trainer:
    vocab = Vocab.build(story_words(stories))
    length = Corpus.encode(stories, vocab).words.shape[1]
    torch.manual_seed(1)
    config = EntNetConfig(vocabulary=len(vocab), sentence_length=length, width=6, slots=3)
    model, training = EntNet(config, vocab), TrainConfig()
    engine, source = TorchEngine(model, training), OneBatch(stories, vocab)
    return Trainer(directory, model, engine, source, LowestLoss(), training, checkpoint_seconds=0)


def test_any_source_and_task_can_be_trained(tmp_path: Path, stories: list[Story]) -> None:
    trainer = make(tmp_path, stories)
    result = trainer.train()
    assert result["epochs"] == 4
    assert trainer.source.asked == [1, 2, 3, 4]  # type: ignore[attr-defined]
    losses = trainer.task.state()["losses"]
    assert losses[-1] < losses[0]
    assert result["best_epoch"] == losses.index(min(losses)) + 1
    assert EntNet.from_pretrained(tmp_path).config == trainer.model.config


def test_the_tasks_memory_is_kept_over_an_interruption(
    tmp_path: Path, stories: list[Story]
) -> None:
    whole = make(tmp_path / "whole", stories)
    whole.train()
    parts = make(tmp_path / "parts", stories)
    interrupt(parts, 3)
    again = make(tmp_path / "parts", stories)
    again.train()
    assert again.source.asked == [3, 4]  # type: ignore[attr-defined]
    assert again.task.state() == whole.task.state()
    for one, other in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_making_a_run_leaves_torchs_seed_and_threads_alone(
    tmp_path: Path, stories: list[Story]
) -> None:
    config = TrainConfig(epochs=1, threads=2, engine="reference")
    prepared = prepare(stories, stories, None, config, model_options={"width": 6})
    torch.manual_seed(7)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    Run(tmp_path, prepared.build, prepared.data, config)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads
