"""The sweep: which run is next, what has ended, what is left.

Everything it needs to go on after an interruption is on disk: finished runs in the results file, others
in their directories. It starts the first seed of every task before the second of any, the longest runs
first.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from entnet.errors import EntNetError
from entnet.experiments.cost import SENTENCES_A_SECOND, run_cost
from entnet.experiments.results import add_result, drop_results, line_key, read_results
from entnet.experiments.running import is_busy, is_outdated
from entnet.experiments.selection import choose, solved
from entnet.experiments.workers import RunOutcome, Workers
from entnet.tasks.spec import Result, RunSpec, TaskName

POLL_SECONDS = 0.25


@dataclass
class RunStatus:
    """How far a run under way has got."""

    spec: RunSpec
    began: float
    first_epoch: int
    epoch: int = 0
    valid_error: float | None = None


class SweepCallback:
    """Callback interface for the progress of a sweep. All methods are no-ops."""

    def begin(self, sweep: Sweep) -> None: ...

    def started(self, spec: RunSpec) -> None: ...

    def tick(self) -> None: ...

    def ended(self, outcome: RunOutcome) -> None: ...

    def skipped(self, task: TaskName, runs: int) -> None: ...

    def end(self) -> None: ...


@dataclass
class Sweep:
    """Runs to be done, and their results."""

    specs: Sequence[RunSpec]
    results: Path
    """The file that finished runs are added to."""
    workers: Workers
    stop_at_zero: bool = False
    every_variant: bool = False
    """Run every seed of the variants of a group, not only of the best."""
    callback: SweepCallback = field(default_factory=SweepCallback)
    waiting: list[RunSpec] = field(default_factory=list, init=False)
    running: dict[str, RunStatus] = field(default_factory=dict, init=False)
    """By run directory."""
    lines: list[Result] = field(default_factory=list, init=False)
    failed: list[RunOutcome] = field(default_factory=list, init=False)
    skips: int = field(default=0, init=False)
    work_done: float = field(default=0.0, init=False)
    work_seconds: float = field(default=0.0, init=False)

    def run(self) -> list[RunOutcome]:
        """Do what is not done yet; returns the runs that could not be."""
        self._begin()
        try:
            while self.waiting or self.running:
                self._start_runs()
                time.sleep(POLL_SECONDS)
                self._look()
                for ended in self.workers.ended():
                    self._take(ended)
                self.callback.tick()
        finally:
            self.workers.stop()
            self.callback.end()
        return self.failed

    def _begin(self) -> None:
        refuse_outdated(self.specs, self.results)
        for spec in self.specs:  # ended, but the sweep was stopped before it could write them down
            finished = Path(spec.directory) / "line.json"
            if finished.is_file():
                add_result(self.results, json.loads(finished.read_text(encoding="utf-8")))
        self.lines = read_results(self.results)
        done = {line_key(line) for line in self.lines}
        left = [spec for spec in self.specs if spec.key not in done]
        self.waiting = sorted(left, key=lambda spec: (spec.seed, -run_cost(spec)))
        self.callback.begin(self)
        self._skip_solved()
        self._settle_groups()

    def _start_runs(self) -> None:
        while len(self.running) < self.workers.max_workers:
            spec = self._next()
            if spec is None:
                return
            self.waiting.remove(spec)
            epoch, error = progress_of(spec)
            self.running[spec.directory] = RunStatus(spec, time.monotonic(), epoch, epoch, error)
            self.workers.start(spec)
            self.callback.started(spec)

    def _next(self) -> RunSpec | None:
        """The next pending run that no other process holds. With ``stop_at_zero``, prefer a task that has
        no run in progress."""
        at_work = {status.spec.task for status in self.running.values()}
        order = sorted(self.waiting, key=lambda spec: self.stop_at_zero and spec.task in at_work)
        undecided = self._first_runs(self.waiting) | self._first_runs(self._at_work())
        return next(
            (
                spec
                for spec in order
                if not is_busy(spec)
                and ((spec.task, spec.group) not in undecided or spec.seed == self._first_seed)
            ),
            None,
        )

    def _at_work(self) -> list[RunSpec]:
        return [status.spec for status in self.running.values()]

    @property
    def _first_seed(self) -> int:
        """The seed with which the variants of a group compete."""
        return min(spec.seed for spec in self.specs)

    def _first_runs(self, specs: Sequence[RunSpec]) -> set[tuple[TaskName, str]]:
        """Tasks and groups that still wait for a run of the first seed."""
        return {
            (spec.task, spec.group)
            for spec in specs
            if spec.group and spec.seed == self._first_seed and not self.every_variant
        }

    def _settle_groups(self) -> None:
        """Where all variants of a group have run their first seed, the best goes on alone."""
        if self.every_variant or not self.specs:
            return
        undecided = self._first_runs(self.waiting) | self._first_runs(self._at_work())
        for task, group in {(spec.task, spec.group) for spec in self.waiting if spec.group}:
            if (task, group) in undecided:
                continue
            rivals = {s.key: s for s in self.specs if (s.task, s.group) == (task, group)}
            first = [
                line
                for line in self.lines
                if line_key(line) in rivals and line["seed"] == self._first_seed
            ]
            if first:
                best = choose(first)["variant"]
                self._leave_out(
                    [s for s in rivals.values() if s in self.waiting and s.variant != best]
                )

    def _leave_out(self, specs: Sequence[RunSpec]) -> None:
        self.waiting = [spec for spec in self.waiting if spec not in specs]
        self.skips += len(specs)

    def _look(self) -> None:
        for status in self.running.values():
            status.epoch, status.valid_error = progress_of(status.spec)
            # A killed run repeats the epochs since its last checkpoint.
            status.first_epoch = min(status.first_epoch, status.epoch)

    def _take(self, ended: RunOutcome) -> None:
        status = self.running.pop(ended.spec.directory)
        if ended.busy:
            self.waiting.append(ended.spec)
            return
        if ended.line is None:
            self.failed.append(ended)
        else:
            add_result(self.results, ended.line)
            self.lines = read_results(self.results)  # another sweep may have added to it
            epochs = ended.line.get("epochs", 1) - status.first_epoch
            self.work_done += run_cost(ended.spec) * epochs / ended.spec.epochs
            self.work_seconds += time.monotonic() - status.began
        self.callback.ended(ended)
        self._skip_solved()
        self._settle_groups()

    @property
    def own_lines(self) -> list[Result]:
        """Results of the variants and tasks of this sweep; the file may have others."""
        own = {(spec.task, spec.variant) for spec in self.specs}
        return [line for line in self.lines if (line["task"], line["variant"]) in own]

    def _skip_solved(self) -> None:
        if self.stop_at_zero:
            for task in sorted({line["task"] for line in self.own_lines if solved(line)}, key=str):
                self._skip(task)

    def _skip(self, task: TaskName) -> None:
        before = len(self.waiting)
        self.waiting = [spec for spec in self.waiting if spec.task != task]
        skipped = before - len(self.waiting)
        self.skips += skipped
        if skipped:
            self.callback.skipped(task, skipped)

    def seconds_left(self) -> float:
        """At most so long, by the speed seen so far."""
        now = time.monotonic()
        done, seconds = self.work_done, self.work_seconds
        for status in self.running.values():
            share = (status.epoch - status.first_epoch) / status.spec.epochs
            done += run_cost(status.spec) * share
            seconds += now - status.began if share else 0.0
        speed = done / seconds if done and seconds else SENTENCES_A_SECOND
        left = sum(within_limit(spec, run_cost(spec) / speed) for spec in self.waiting)
        left += sum(
            within_limit(s.spec, run_cost(s.spec, s.epoch) / speed, now - s.began)
            for s in self.running.values()
        )
        together = min(self.workers.max_workers, len(self.waiting) + len(self.running)) or 1
        return left / together


def within_limit(spec: RunSpec, seconds: float, spent: float = 0.0) -> float:
    """No more than the time that a run has, if that is limited, and has not spent."""
    limit = float(spec.train.get("max_seconds", 0.0))
    return min(seconds, max(limit - spent, 0.0)) if limit > 0 else seconds


def refuse_outdated(specs: Sequence[RunSpec], results: Path) -> None:
    """Runs done or begun with other settings or code must not be mixed with these."""
    outdated = outdated_specs(specs, results)
    if outdated:
        names = ", ".join(spec.name for spec in outdated[:3]) + (" …" if outdated[3:] else "")
        raise EntNetError(
            f"{len(outdated)} of the runs were done or begun with other settings or code ({names}); "
            "--fresh drops them and runs them again, or give changed settings another variant name"
        )


def outdated_specs(specs: Sequence[RunSpec], results: Path) -> list[RunSpec]:
    """Those of the runs that are recorded, or have a directory, with other settings."""
    recorded = {
        line_key(line): line["recipe"] for line in read_results(results) if "recipe" in line
    }
    return [
        spec
        for spec in specs
        if is_outdated(spec) or recorded.get(spec.key, spec.recipe) != spec.recipe
    ]


def drop_outdated(specs: Sequence[RunSpec], results: Path) -> int:
    """Delete results and directories of runs with other settings; how many there were."""
    outdated = outdated_specs(specs, results)
    drop_results(results, outdated)
    for spec in outdated:
        shutil.rmtree(spec.directory, ignore_errors=True)
    return len(outdated)


def progress_of(spec: RunSpec) -> tuple[int, float | None]:
    """Epochs that a run has done, and its last validation error."""
    path = Path(spec.directory) / "metrics.jsonl"
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(file.tell() - 1000, 0))
            last = file.read().splitlines()[-1]
        metrics = json.loads(last)
    except (OSError, IndexError, json.JSONDecodeError):
        return 0, None
    return int(metrics["epoch"]), metrics["valid_error"]
