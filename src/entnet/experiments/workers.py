"""Where runs are done: what a sweep asks of workers, and workers that are local processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from entnet.experiments.worker import BUSY
from entnet.tasks.spec import Result, RunSpec

LOG = "worker.log"


@dataclass(frozen=True)
class RunOutcome:
    """A run that is no longer worked on: with a result, or with what went wrong."""

    spec: RunSpec
    line: Result | None
    problem: str = ""
    busy: bool = False
    """Another process is at the run: nothing went wrong, but it is to be tried again later."""


class Workers(Protocol):
    """Does runs, several at a time."""

    max_workers: int
    """How many runs can be worked on at once."""

    def start(self, spec: RunSpec) -> None:
        """Begin a run; fewer than ``max_workers`` must be under way."""

    def ended(self) -> list[RunOutcome]:
        """Runs that ended since the last call."""

    def stop(self) -> None:
        """End everything at once; what was under way can be resumed."""


@dataclass
class _Process:
    spec: RunSpec
    process: subprocess.Popen[bytes]
    tries: int


class LocalWorkers:
    """A process a run, one thread each. A process that is killed is started again, and goes on."""

    def __init__(self, max_workers: int, tries: int = 3) -> None:
        self.max_workers = max_workers
        self.tries = tries
        self._running: list[_Process] = []

    def start(self, spec: RunSpec) -> None:
        self._running.append(_Process(spec, self._launch(spec), 1))

    def ended(self) -> list[RunOutcome]:
        ended = []
        for work in list(self._running):
            status = work.process.poll()
            if status is None:
                continue
            _close(work.process)
            if status < 0 and work.tries < self.tries:  # ended by a signal
                work.process, work.tries = self._launch(work.spec), work.tries + 1
                continue
            self._running.remove(work)
            ended.append(_outcome(work.spec, status))
        return ended

    def stop(self) -> None:
        for work in self._running:
            _close(work.process)
            work.process.terminate()
        for work in self._running:
            work.process.wait()
        self._running.clear()

    def process_ids(self) -> dict[str, int]:
        """Process of each run under way, by its directory."""
        return {work.spec.directory: work.process.pid for work in self._running}

    def _launch(self, spec: RunSpec) -> subprocess.Popen[bytes]:
        directory = Path(spec.directory)
        directory.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        with (directory / LOG).open("ab") as log:
            # A session of its own, so that Ctrl-C reaches the sweep alone.
            process = subprocess.Popen(
                [sys.executable, "-m", "entnet.experiments.worker"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        assert process.stdin is not None
        process.stdin.write(spec.to_json().encode() + b"\n")
        process.stdin.flush()
        return process


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None and not process.stdin.closed:
        process.stdin.close()


def _outcome(spec: RunSpec, status: int) -> RunOutcome:
    directory = Path(spec.directory)
    if status == 0:
        return RunOutcome(spec, json.loads((directory / "line.json").read_text(encoding="utf-8")))
    if status == BUSY:
        return RunOutcome(spec, None, busy=True)
    log = (directory / LOG).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    reason = log[-1].removeprefix("error: ") if log else f"ended with status {status}"
    return RunOutcome(spec, None, f"{reason} (see {directory / LOG})")
