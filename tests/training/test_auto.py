"""The recipe's phases, and the symmetries that it confirms and permutes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from entnet import Story, find_symmetries
from entnet.config import Permute, TrainConfig
from entnet.data.story import Corpus
from entnet.symmetries import Symmetries, confirmed
from entnet.symmetries.group import Swap
from entnet.text import Vocab
from entnet.training import auto, auto_source
from entnet.training.augment import Exchange
from entnet.training.auto import Progress, Validation
from entnet.training.auto_source import (
    PERMUTED_SHARE,
    UPDATES_PER_EPOCH,
    Augmentation,
    AutoSource,
)
from entnet.training.loop import Run
from entnet.training.setup import prepare
from entnet.training.trainer import Callback, TrainingScore, ValidationScore
from symmetries.depots import depot_stories


def _training(loss: float, error: float) -> TrainingScore:
    return TrainingScore(loss, error, int(error), complete=True)


UNSOLVED = Validation(30, 30.0, 1.0)


def test_words_are_permuted_once_training_stories_are_learnt() -> None:
    progress = Progress()
    progress.record(1, 100, _training(1.0, 40.0), UNSOLVED)
    assert (progress.phase, progress.learning_rate()) == ("plain", auto.RATES["plain"])
    progress.record(2, 100, _training(0.01, 0.2), UNSOLVED)
    assert (progress.phase, progress.learning_rate()) == ("held", auto.RATES["held"])


def test_memorising_ends_the_first_phase() -> None:
    progress = Progress()
    progress.record(1, 100, _training(1.0, 40.0), UNSOLVED)
    progress.record(2, 100, _training(0.8, 30.0), Validation(30, 30.0, 1.4))
    assert progress.phase == "plain"
    progress.record(3, 100, _training(0.6, 20.0), Validation(30, 30.0, 1.6))
    assert progress.phase == "held"


def test_phases_that_gain_nothing_end_and_the_learning_rate_is_halved() -> None:
    progress = Progress()
    phases, rates = [], []
    while not progress.finished():
        phases.append(progress.phase)
        rates.append(progress.learning_rate())
        progress.record(len(phases), 500, _training(1.0, 40.0), UNSOLVED)
    for phase in ("plain", "held", "large"):
        assert phases.count(phase) == pytest.approx(auto.PATIENCE / 500, abs=1)
    halved = sorted(set(rates[phases.index("decay") :]), reverse=True)
    assert halved == [auto.RATES["large"] * 0.5**i for i in range(1, auto.HALVINGS + 1)]


def test_a_phase_goes_on_while_permuted_stories_become_easier() -> None:
    """Few validation stories say little; permuted training stories are ever new."""
    for permuted in (True, False):
        progress, epochs = Progress(phase="large"), 0
        while progress.phase == "large":
            epochs += 1
            training = _training(max(0.95**epochs, 0.3), 10.0)
            progress.record(epochs, 500, training, UNSOLVED, permuted)
        falling = 24 if permuted else 0
        assert epochs == pytest.approx(falling + auto.PATIENCE / 500, abs=1)


def test_what_is_memorised_with_words_permuted_is_taken_back() -> None:
    progress = Progress(phase="held")
    progress.record(1, 100, _training(0.5, 20.0), Validation(25, 25.0, 0.6))
    assert not progress.rewinds
    progress.record(2, 100, _training(0.3, 12.0), Validation(24, 24.0, 1.0))
    assert (progress.phase, progress.rewinds) == ("large", True)
    progress.record(3, 100, _training(0.4, 15.0), Validation(24, 24.0, 0.7))
    assert (progress.phase, progress.rewinds) == ("large", False)


def test_the_large_rate_is_for_plateaus_only() -> None:
    progress = Progress(phase="held")
    phases = {"held"}
    epoch = 0
    while not progress.finished():
        epoch += 1
        progress.record(epoch, 500, _training(0.1, 3.0), Validation(2, 2.0, 0.1))
        phases.add(progress.phase)
    assert phases == {"held", "decay"}


def test_a_solved_task_goes_to_the_decay_and_ends_soon() -> None:
    progress = Progress()
    epoch = 0
    while not progress.finished():
        epoch += 1
        progress.record(epoch, 500, _training(1 / epoch, 5.0), Validation(0, 0.0, 1 / epoch))
    assert progress.phase == "decay"
    assert progress.updates <= 3 * auto.SOLVED_UPDATES + 500


@pytest.fixture
def depots() -> tuple[Augmentation, AutoSource, Corpus]:
    config = TrainConfig(schedule="auto")
    stories = depot_stories(100)
    prepared = prepare(stories, None, None, config, model_options={"width": 8})
    model = prepared.build()
    augmentation = Augmentation(model)
    source = AutoSource(prepared.data.train, model, config, augmentation)
    return augmentation, source, prepared.data.train


def test_an_epoch_reads_small_files_several_times(
    depots: tuple[Augmentation, AutoSource, Corpus],
) -> None:
    _, source, train = depots
    epoch = source.epoch(1)
    batches = list(epoch.batches)
    assert len(batches) == epoch.count == pytest.approx(UPDATES_PER_EPOCH, rel=0.1)
    assert sum(len(batch.answers) for batch in batches) == source.passes * train.questions
    assert (
        min(len(batch.story_offsets) - 1 for batch in batches[: epoch.count // source.passes - 1])
        >= 16
    )


def test_only_words_of_the_stories_are_permuted_and_some_stories_stay(
    depots: tuple[Augmentation, AutoSource, Corpus],
) -> None:
    augmentation, source, train = depots
    seen = {tuple(row) for row in train.words.tolist()}
    plain = [tuple(row) for batch in source.epoch(1).batches for row in batch.words.tolist()]
    assert set(plain) <= seen
    augmentation.use(find_symmetries(depot_stories(100)))
    told = [tuple(row) for batch in source.epoch(1).batches for row in batch.words.tolist()]
    assert len(told) == len(plain)
    assert {word for row in told for word in row} == {word for row in seen for word in row}
    same = sum(now == before for now, before in zip(told, plain, strict=True)) / len(plain)
    assert 1 - PERMUTED_SHARE < same < 0.6
    again = [tuple(row) for batch in source.epoch(1).batches for row in batch.words.tolist()]
    assert again == told


def test_swaps_that_share_words_make_permutations() -> None:
    vocab = Vocab.build(["a", "b", "c", "d", "e", "stays"])
    swaps = [Swap(("a", "d"), ("b", "e")).mapping, Swap(("b",), ("c",)).mapping]
    tables = Exchange(Permute((("d", "e"),)), vocab, swaps).tables(200, np.random.default_rng(1))
    assert (np.sort(tables, axis=1) == np.arange(len(vocab))).all()
    assert (tables[:, vocab.index["stays"]] == vocab.index["stays"]).all()
    assert set(tables[:, vocab.index["a"]]) == {vocab.index[word] for word in "abc"}


def test_a_symmetry_that_makes_stories_harder_is_not_confirmed() -> None:
    stories = depot_stories(300)
    found = find_symmetries(stories)

    def score(told: list[Story]) -> list[float]:
        """Knows that the blue van never drives to the quarry."""
        return [
            float("The blue van drives to the quarry." in story.sentences) + 0.1 for story in told
        ]

    never = [s for s in stories if "The blue van drives to the quarry." not in s.sentences]
    kept = confirmed(found, never, score)
    assert not any({"blue", "old"} <= set(group) for group in kept.groups)
    assert ("barrel", "crate", "envelope", "sack") in kept.groups


def test_symmetries_are_the_same_after_a_turn_through_json() -> None:
    found = find_symmetries(depot_stories(300))
    again = Symmetries.from_json(found.to_json())
    assert (again.groups, again.joint) == (found.groups, found.joint)
    assert again.to_json() == found.to_json()


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Phases of a few updates."""
    monkeypatch.setattr(auto, "BUDGETS", {"plain": 20, "held": 20, "large": 20})
    monkeypatch.setattr(auto, "SHORTEST_DECAY", 20)
    monkeypatch.setattr(auto_source, "UPDATES_PER_EPOCH", 1)


def _run(directory: Path, epochs: int) -> Run:
    config = TrainConfig(schedule="auto", epochs=epochs)
    prepared = prepare(depot_stories(200), None, None, config, model_options={"width": 8})
    return Run(directory, prepared.build, prepared.data, config, checkpoint_seconds=0)


@pytest.mark.usefixtures("brief")
def test_a_run_that_is_killed_goes_on_with_its_symmetries(tmp_path: Path) -> None:
    whole = _run(tmp_path / "whole", 100)
    result = whole.train()
    assert whole.task.state()["phase"] == "decay"
    assert whole.task.state()["symmetries"]["groups"]
    killed = _run(tmp_path / "killed", 100)
    killed._resume()
    for epoch in range(1, 6):  # into the second phase
        killed._epoch(epoch, Callback())
    killed._claim()
    killed._save()
    again = _run(tmp_path / "killed", 100).train()
    assert again["epochs"] == result["epochs"]
    assert again["best"] == result["best"]
    assert again["last"] == result["last"]


def test_training_goes_on_from_the_best_network_where_the_task_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(tmp_path, 100)
    monkeypatch.setattr(
        run.task,
        "validate",
        lambda engine, epoch, training: ValidationScore(1.0, 50.0, epoch == 1, epoch == 2),
    )
    run._epoch(1, Callback())
    first = {name: tensor.clone() for name, tensor in run.model.state_dict().items()}
    run._epoch(2, Callback())
    assert all(torch.equal(first[name], now) for name, now in run.model.state_dict().items())
    run._epoch(3, Callback())
    assert not all(torch.equal(first[name], now) for name, now in run.model.state_dict().items())
