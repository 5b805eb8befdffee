"""The sweep: order, results, interruptions, workers that die."""

from __future__ import annotations

import io
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import pytest
from rich.console import Console

from entnet.errors import EntNetError
from entnet.experiments.display import LiveDisplay, PlainLines, duration
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import Preset, load_preset
from entnet.experiments.results import add_result, read_results
from entnet.experiments.running import run_one
from entnet.experiments.sweep import RunStatus, Sweep, SweepCallback, drop_outdated, progress_of
from entnet.experiments.workers import LocalWorkers, RunOutcome
from entnet.tasks.spec import RunSpec


class MakeLine(Protocol):
    def __call__(self, task: int, seed: int = 1, **values: Any) -> dict[str, Any]: ...


@dataclass
class InThisProcess:
    """Workers that do a run when asked what has ended."""

    max_workers: int = 1
    started: list[tuple[int, int]] = field(default_factory=list)
    waiting: list[RunSpec] = field(default_factory=list)
    stopped: bool = False

    def start(self, spec: RunSpec) -> None:
        self.started.append((spec.task, spec.seed))
        self.waiting.append(spec)

    def ended(self) -> list[RunOutcome]:
        spec = self.waiting.pop(0)
        try:
            return [RunOutcome(spec, run_one(spec))]
        except EntNetError as error:
            return [RunOutcome(spec, None, str(error))]

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def specs(small: Preset, tmp_path: Path, data_root: Path) -> list[RunSpec]:
    return specs_of(small, tmp_path / "runs", data_root=data_root)


def test_first_seeds_come_first_and_long_runs_before_short_ones(
    specs: list[RunSpec], tmp_path: Path
) -> None:
    workers = InThisProcess()
    results = tmp_path / "small.jsonl"
    assert Sweep(specs, results, workers).run() == []
    assert workers.started == [(2, 1), (1, 1), (4, 1), (2, 2), (1, 2), (4, 2)]
    assert workers.stopped
    written = results.read_text()
    assert len(read_results(results)) == 6

    again = InThisProcess()
    Sweep(specs, results, again).run()
    assert again.started == []
    assert results.read_text() == written


def test_a_run_that_ended_unrecorded_is_written_down_without_being_run_again(
    specs: list[RunSpec], tmp_path: Path
) -> None:
    line = run_one(specs[0])
    workers = InThisProcess()
    Sweep(specs[:1], tmp_path / "small.jsonl", workers).run()
    assert workers.started == []
    assert read_results(tmp_path / "small.jsonl") == [line]


def test_a_solved_task_gets_no_further_seeds(
    specs: list[RunSpec], tmp_path: Path, make_line: MakeLine
) -> None:
    results = tmp_path / "small.jsonl"
    recipe = {spec.task: spec.recipe for spec in specs}
    for task, error in ((1, 0.0), (2, 0.1), (4, 0.0)):
        line = make_line(task, 1, table="small", valid=error)
        add_result(results, {**line, "recipe": recipe[task]})
    workers = InThisProcess()
    sweep = Sweep(specs, results, workers, stop_at_zero=True)
    sweep.run()
    assert workers.started == [(2, 2)]
    assert sweep.skips == 2
    Sweep(specs, results, workers, stop_at_zero=False).run()
    assert sorted(workers.started) == [(1, 2), (2, 2), (4, 2)]


def test_two_sweeps_share_the_work(specs: list[RunSpec], tmp_path: Path) -> None:
    results = tmp_path / "small.jsonl"
    sweeps = [Sweep(specs[:2], results, LocalWorkers(1)) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        failed = list(pool.map(lambda sweep: sweep.run(), sweeps))
    assert failed == [[], []]
    assert sorted(line["seed"] for line in read_results(results)) == [1, 2]


def test_settings_that_changed_are_not_mixed_with_old_runs(
    small: Preset, specs: list[RunSpec], tmp_path: Path, data_root: Path
) -> None:
    results = tmp_path / "small.jsonl"
    Sweep(specs[:1], results, InThisProcess()).run()
    changed = replace(small, train={**small.train, "learning_rate": 0.02})
    new = specs_of(changed, tmp_path / "runs", [1], [1], data_root=data_root)
    with pytest.raises(EntNetError, match="qa1 paper seed 1.*--fresh"):
        Sweep(new, results, InThisProcess()).run()
    assert drop_outdated(new, results) == 1
    Sweep(new, results, InThisProcess()).run()
    (line,) = read_results(results)
    assert line["train"]["learning_rate"] == 0.02


class KillOnce(SweepCallback):
    """Kills the process of a run once it has done some epochs."""

    def __init__(self, workers: LocalWorkers, spec: RunSpec) -> None:
        self.workers, self.spec, self.killed_at = workers, spec, 0

    def tick(self) -> None:
        epoch, _ = progress_of(self.spec)
        if not self.killed_at and epoch >= 3:
            os.kill(self.workers.process_ids()[self.spec.directory], signal.SIGKILL)
            self.killed_at = epoch


def test_a_killed_worker_is_started_again_and_the_run_ends_the_same(
    small: Preset, tmp_path: Path, data_root: Path
) -> None:
    slow = {"epochs": 60}
    undisturbed, disturbed = (
        replace(
            specs_of(small, tmp_path / name, [1], [1], train=slow, data_root=data_root)[0],
            checkpoint_seconds=0.0,
        )
        for name in ("undisturbed", "disturbed")
    )
    workers = LocalWorkers(2)
    killer = KillOnce(workers, disturbed)
    broken = replace(undisturbed, task=7, tasks=(7,), directory=str(tmp_path / "broken"))
    results = tmp_path / "small.jsonl"
    failed = Sweep([disturbed, broken], results, workers, callback=killer).run()
    assert 3 <= killer.killed_at < 60
    assert [ended.spec for ended in failed] == [broken]
    assert "qa7_counting_test.txt" in failed[0].problem
    assert [line["task"] for line in read_results(results)] == [1]
    run_one(undisturbed)
    one, other = (
        (Path(spec.directory) / "last" / "model.safetensors").read_bytes()
        for spec in (undisturbed, disturbed)
    )
    assert one == other


class InterruptOnce(SweepCallback):
    """Does as Ctrl-C does, once a run has begun."""

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec

    def tick(self) -> None:
        if progress_of(self.spec)[0] >= 2:
            raise KeyboardInterrupt


def test_an_interrupted_sweep_leaves_no_process_and_goes_on(
    small: Preset, tmp_path: Path, data_root: Path
) -> None:
    (spec,) = specs_of(
        small, tmp_path / "runs", [1], [1], train={"epochs": 80}, data_root=data_root
    )
    spec = replace(spec, checkpoint_seconds=0.0)
    workers = LocalWorkers(1)
    results = tmp_path / "small.jsonl"
    with pytest.raises(KeyboardInterrupt):
        Sweep([spec], results, workers, callback=InterruptOnce(spec)).run()
    assert workers.process_ids() == {}
    stopped_at, _ = progress_of(spec)
    assert 2 <= stopped_at < 80
    time.sleep(0.3)
    assert progress_of(spec)[0] == stopped_at
    Sweep([spec], results, InThisProcess()).run()
    assert [line["epochs"] for line in read_results(results)] == [80]


def test_plain_lines_tell_what_happens(specs: list[RunSpec], tmp_path: Path) -> None:
    text = io.StringIO()
    callback = PlainLines(Console(file=text, width=200), every=0.0)
    missing = replace(specs[0], task=9, tasks=(9,), directory=str(tmp_path / "missing"))
    Sweep([specs[0], missing], tmp_path / "small.jsonl", InThisProcess(), callback=callback).run()
    told = text.getvalue()
    assert "0 of 2 runs done, 0 running, 2 waiting" in told
    assert "started  qa1 paper seed 1" in told
    assert "finished qa1 paper seed 1: epoch" in told
    assert "failed   qa9 paper seed 1: en-10k/qa9_simple-negation_test.txt is not under" in told
    assert "1 of 2 runs done, 0 running, 0 waiting, 1 failed" in told


def test_the_live_display_shows_running_and_finished_runs(
    specs: list[RunSpec], tmp_path: Path
) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120, record=True)
    callback = LiveDisplay(console)
    Sweep(
        specs[:3], tmp_path / "small.jsonl", InThisProcess(max_workers=2), callback=callback
    ).run()
    console.print(callback.picture())
    shown = console.export_text()
    assert "3 of 3 runs done" in shown
    assert "qa2" in shown
    assert "validation" in shown


def test_durations() -> None:
    assert duration(62) == "1:02"
    assert duration(3723) == "1:02:03"


def test_the_time_left_counts_what_a_killed_run_repeats(tmp_path: Path) -> None:
    (spec,) = specs_of(load_preset("table2"), tmp_path, [1], [1], ["paper"])
    metrics = Path(spec.directory) / "metrics.jsonl"
    metrics.parent.mkdir(parents=True)
    sweep = Sweep([spec], tmp_path / "table2.jsonl", LocalWorkers(1))
    sweep.running[spec.directory] = RunStatus(spec, time.monotonic() - 10, 19, 19)
    metrics.write_text('{"epoch": 11, "valid_error": 50.0}\n')
    sweep._look()
    metrics.write_text('{"epoch": 12, "valid_error": 50.0}\n')
    sweep._look()
    assert sweep.seconds_left() > 0
