"""Learning rates and when to stop."""

from __future__ import annotations

import pytest

from entnet import TrainConfig
from entnet.config import Prune
from entnet.training.schedule import Progress


def rates(config: TrainConfig, epochs: int) -> list[float]:
    return [Progress().rate(config, epoch) for epoch in range(1, epochs + 1)]


def test_authors_halve_at_the_start_of_epochs_25_and_50() -> None:
    got = rates(TrainConfig(learning_rate=0.01), 75)
    assert got[:24] == [0.01] * 24
    assert got[24:49] == [0.005] * 25
    assert got[49:74] == [0.0025] * 25
    assert got[74] == 0.00125


def test_text_halves_after_25_epochs() -> None:
    got = rates(TrainConfig(learning_rate=0.01, halving_rule="text"), 51)
    assert got[:25] == [0.01] * 25
    assert got[25:50] == [0.005] * 25
    assert got[50] == 0.0025


def test_held_rate_before_the_first_halving() -> None:
    got = rates(
        TrainConfig(learning_rate=1.0, hold_epochs=6, halve_every=2, halving_rule="text"), 10
    )
    assert got == [1, 1, 1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25]


def test_warmup_comes_first() -> None:
    got = rates(
        TrainConfig(
            learning_rate=1.0,
            warmup_epochs=2,
            warmup_learning_rate=0.1,
            halve_every=2,
            halving_rule="text",
        ),
        5,
    )
    assert got == [0.1, 0.1, 1.0, 1.0, 0.5]


def test_constant() -> None:
    assert rates(TrainConfig(learning_rate=0.5, schedule="constant"), 100) == [0.5] * 100


def test_plateau_halves_when_validation_stands_still() -> None:
    config = TrainConfig(learning_rate=1.0, schedule="plateau", lr_patience=2)
    progress = Progress()
    got = []
    for epoch, errors in enumerate([5, 4, 4, 4, 4, 4, 3, 3, 3], start=1):
        got.append(progress.rate(config, epoch))
        progress.record(config, epoch, errors, 1.0)
    # Best at epoch 2; no better by 4, nor by 6; better at 7, no better by 9.
    assert got == [1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.25]
    assert progress.rate(config, 10) == 0.125


def test_best_epoch_is_by_errors_then_loss() -> None:
    config, progress = TrainConfig(), Progress()
    better = [
        progress.record(config, epoch, errors, loss)
        for epoch, (errors, loss) in enumerate(
            [(3, 1.0), (2, 2.0), (2, 1.9), (2, 1.9), (4, 0.1)], 1
        )
    ]
    assert better == [True, True, True, False, False]
    assert progress.best_epoch == 3


@pytest.mark.parametrize(("wanted", "ends"), [(0, 8), (2, 5), (3, 8)])
def test_early_end_needs_zero_errors_in_a_row(wanted: int, ends: int) -> None:
    config, progress = TrainConfig(epochs=8, stop_after_zero=wanted), Progress()
    for epoch, errors in enumerate([1, 0, 1, 0, 0, 1, 1, 1], start=1):
        progress.record(config, epoch, errors, 1.0)
        if progress.finished(config, epoch):
            break
    assert epoch == ends


def test_ends_once_nothing_is_left_to_learn() -> None:
    config, progress = TrainConfig(stop_after_learnt=2), Progress()
    ended = []
    for epoch, learnt in enumerate([True, False, True, True], start=1):
        progress.record(config, epoch, 7, 1.0, learnt)
        ended.append(progress.finished(config, epoch))
    assert ended == [False, False, False, True]
    assert not progress.finished(TrainConfig(), 4)


def test_ends_once_the_best_is_long_ago() -> None:
    config, progress = TrainConfig(early_stopping=2), Progress()
    ended = []
    for epoch, errors in enumerate([7, 8, 5, 6, 5], start=1):
        progress.record(config, epoch, errors, 1.0)
        ended.append(progress.finished(config, epoch))
    assert ended == [False, False, False, False, True]
    assert not progress.finished(TrainConfig(), 5)


def test_gives_up_where_validation_is_behind_at_a_set_epoch() -> None:
    config = TrainConfig(prune=(Prune(2, above=20.0), Prune(4, above=10)))

    def ended(*percents: float) -> list[bool]:
        progress, out = Progress(), []
        for epoch, percent in enumerate(percents, start=1):
            progress.record(config, epoch, round(percent), 1.0, percent={"valid_error": percent})
            out.append(progress.finished(config, epoch))
        return out

    assert ended(50.0, 20.5) == [False, True]
    assert ended(50.0, 20.0, 60.0, 10.0, 60.0) == [False] * 5
    assert ended(50.0, 20.0, 10.0, 10.5) == [False, False, False, True]
    behind = Progress()
    behind.record(config, 2, 21, 1.0, percent={"valid_error": 21.0})
    assert Progress(**behind.to_dict()).finished(config, 2)
    assert not Progress().finished(TrainConfig(), 2)


def test_gives_up_where_training_is_behind_too() -> None:
    config = TrainConfig(prune=(Prune(2, "train_error", 40.0), Prune(2, above=20.0)))

    def ended(training: float, validation: float) -> bool:
        progress = Progress()
        percent = {"train_error": training, "valid_error": validation}
        progress.record(config, 2, 1, 1.0, percent=percent)
        return progress.finished(config, 2)

    assert not ended(40.0, 20.0)
    assert ended(40.5, 20.0)
    assert ended(40.0, 20.5)
