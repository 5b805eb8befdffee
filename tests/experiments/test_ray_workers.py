"""A sweep on a real local Ray cluster with two workers, one of which is killed in the middle."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from entnet.experiments.plan import specs_of
from entnet.experiments.preset import Preset
from entnet.experiments.ray_workers import RayWorkers
from entnet.experiments.results import read_results
from entnet.experiments.running import run_one
from entnet.experiments.sweep import Sweep, SweepCallback, progress_of
from entnet.locks import LOCK
from entnet.tasks.spec import RunSpec

pytestmark = pytest.mark.filterwarnings("default")  # Ray's own warnings are not ours to mend


class KillOnce(SweepCallback):
    """Kills the worker process of a run once it has done some epochs, when both runs are under way."""

    def __init__(self, victim: RunSpec, other: RunSpec) -> None:
        self.victim, self.other = victim, other
        self.killed_at = 0
        self.processes: set[int] = set()

    def tick(self) -> None:
        for spec in (self.victim, self.other):
            lock = Path(spec.directory) / LOCK
            if lock.is_file() and (text := lock.read_text()):
                self.processes.add(int(text))
        epoch, _ = progress_of(self.victim)
        if not self.killed_at and epoch >= 3 and len(self.processes) == 2:
            os.kill(int((Path(self.victim.directory) / LOCK).read_text()), signal.SIGKILL)
            self.killed_at = epoch


@pytest.fixture
def workers() -> Iterator[RayWorkers]:
    made = RayWorkers(2)
    yield made
    made.stop()


def test_a_killed_ray_worker_does_not_harm_the_sweep(
    small: Preset, tmp_path: Path, data_root: Path, workers: RayWorkers
) -> None:
    assert workers.max_workers == 2
    options = {"epochs": 120}
    undisturbed, *specs = (
        replace(
            specs_of(small, tmp_path / name, [task], [1], train=options, data_root=data_root)[0],
            checkpoint_seconds=0.0,
        )
        for name, task in (("undisturbed", 1), ("runs", 1), ("runs", 4))
    )
    killer = KillOnce(*specs)
    broken = replace(specs[1], task=9, tasks=(9,), directory=str(tmp_path / "broken"))
    results = tmp_path / "small.jsonl"
    failed = Sweep([*specs, broken], results, workers, callback=killer).run()
    assert 3 <= killer.killed_at < 120
    assert len(killer.processes) >= 3  # two workers, and the one that took over
    assert [(ended.spec, "qa9_simple-negation" in ended.problem) for ended in failed] == [
        (broken, True)
    ]
    assert sorted(line["task"] for line in read_results(results)) == [1, 4]
    run_one(undisturbed)
    one, other = (
        (Path(spec.directory) / "last" / "model.safetensors").read_bytes()
        for spec in (undisturbed, specs[0])
    )
    assert one == other
