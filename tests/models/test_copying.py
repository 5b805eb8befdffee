"""Copy and repeat-copy: what is asked for, and whether a machine's way to it can be seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from entnet.inspection.addressing import draw_addressing
from entnet.models.copying import Copier, CopyTask, addressing_of, copy_error, train_copier
from entnet.ops.machine import Machine

MACHINES = {
    "ntm": Machine("ntm", 16, 8, 1, links=False, memory_start=1e-6),
    "dnc": Machine("dnc", 16, 8, 1),
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Operators this small only wait for each other on several."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_what_was_shown_is_due_after_the_mark_as_often_as_told() -> None:
    task = CopyTask(bits=3, most_repeats=4)
    inputs, due = task.batch(5, length=2, repeats=2, dice=torch.Generator().manual_seed(1))
    assert inputs.shape == (7, 5, 5)
    assert (due[:3] == -1).all()
    for place in (3, 5):
        assert torch.equal(due[place : place + 2], inputs[:2, :, :3])
    assert inputs[2, :, 3].tolist() == [1.0] * 5
    assert inputs[2, :, 4].tolist() == [0.5] * 5
    assert not inputs[3:].any()


@pytest.mark.parametrize("name", MACHINES)
def test_a_copier_learns_from_its_errors_and_shows_its_heads(name: str, tmp_path: Path) -> None:
    """A single bit, shown once: half of the guesses are right at first, nearly all later."""
    torch.manual_seed(1)
    task = CopyTask(bits=1)
    model = Copier(task, MACHINES[name], units=16)
    train_copier(model, task, updates=120, longest=1, learning_rate=0.01)
    assert copy_error(model, task, 1) < 5
    inputs, _ = task.batch(2, 3, 1, torch.Generator().manual_seed(1))
    weights = addressing_of(model, inputs)
    assert weights.shape == (7, 2, 16)
    draw_addressing(weights, tmp_path / "heads.png")
    assert (tmp_path / "heads.png").stat().st_size > 1000


@pytest.mark.slow
def test_an_ntm_learns_to_copy_and_copies_longer_sequences_than_it_was_trained_on() -> None:
    torch.manual_seed(1)
    task = CopyTask(bits=4)
    model = Copier(task, MACHINES["ntm"], units=48)
    train_copier(model, task, updates=2500, longest=6)
    assert copy_error(model, task, 6) < 1
    assert copy_error(model, task, 8) < 5
