"""How a sweep gets on: a live table in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from entnet.experiments.results import line_key
from entnet.experiments.selection import choose
from entnet.experiments.sweep import Sweep, SweepCallback
from entnet.experiments.workers import RunOutcome
from entnet.tasks.spec import Result, RunSpec, TaskName, task_label


def duration(seconds: float) -> str:
    """1:02:03, or 2:03."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def summary(sweep: Sweep, began: float) -> str:
    """Done, running, waiting, time: one line."""
    done = len({line_key(line) for line in sweep.lines} & {spec.key for spec in sweep.specs})
    parts = [f"{done} of {len(sweep.specs)} runs done", f"{len(sweep.running)} running"]
    parts.append(f"{len(sweep.waiting)} waiting")
    if sweep.skips:
        parts.append(f"{sweep.skips} not needed")
    if sweep.failed:
        parts.append(f"{len(sweep.failed)} failed")
    left = duration(sweep.seconds_left())
    return f"{', '.join(parts)}; {duration(time.monotonic() - began)} gone, at most {left} left"


def finished(line: Result) -> str:
    """What a run came to."""
    best = line["best"]
    parts = [f"validation {best['valid_error']:.2f}%"]
    if "test_error" in best:
        parts.append(f"test {best['test_error']:.2f}%")
    if "best_epoch" in line:
        parts.insert(0, f"epoch {line['best_epoch']} of {line['epochs']}")
    return ", ".join([*parts, duration(line["seconds"])])


def best_by_task(lines: list[Result]) -> dict[TaskName, Result]:
    """The run chosen on validation for each task so far."""
    tasks = sorted({line["task"] for line in lines}, key=lambda task: (str(type(task)), task))
    return {task: choose([line for line in lines if line["task"] == task]) for task in tasks}


class PlainLines(SweepCallback):
    """A line for each thing that happens, and one a minute in between."""

    def __init__(self, console: Console, every: float = 60.0) -> None:
        self.console = console
        self.every = every

    def begin(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self.began = self.logged = time.monotonic()
        self._print(summary(sweep, self.began))

    def started(self, spec: RunSpec) -> None:
        self._print(f"started  {spec.name}")

    def ended(self, outcome: RunOutcome) -> None:
        line = outcome.line
        if line is None:
            self._print(f"failed   {outcome.spec.name}: {outcome.problem}")
            return
        self._print(f"finished {outcome.spec.name}: {finished(line)}")

    def skipped(self, task: TaskName, runs: int) -> None:
        self._print(f"skipped  {runs} more of {self._label(task)}: validation error 0 is reached")

    def tick(self) -> None:
        if time.monotonic() - self.logged >= self.every:
            self.logged = time.monotonic()
            self._print(summary(self.sweep, self.began))
            for status in self.sweep.running.values():
                error = "–" if status.valid_error is None else f"{status.valid_error:.2f}%"
                self._print(
                    f"         {status.spec.name}: epoch {status.epoch} of "
                    f"{status.spec.epochs}, validation {error}"
                )

    def end(self) -> None:
        self._print(summary(self.sweep, self.began))

    def _label(self, task: TaskName) -> str:
        return task_label(task, self.sweep.specs[0].benchmark)

    def _print(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)


class LiveDisplay(SweepCallback):
    """What is running, the best run of each task so far, and the time left, redrawn in place."""

    def __init__(self, console: Console) -> None:
        self.live = Live(console=console, refresh_per_second=4)

    def begin(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self.began = time.monotonic()
        self.live.start()

    def ended(self, outcome: RunOutcome) -> None:
        if outcome.line is None:
            self.live.console.print(f"failed {outcome.spec.name}: {outcome.problem}", markup=False)

    def tick(self) -> None:
        self.live.update(self.picture())

    def end(self) -> None:
        self.live.update(self.picture())
        self.live.stop()

    def picture(self) -> Group:
        return Group(self._tasks(), self._running(), Text(summary(self.sweep, self.began)))

    def _running(self) -> Table:
        table = Table("running", "epoch", "", "validation", box=None, pad_edge=False)
        for status in self.sweep.running.values():
            error = "–" if status.valid_error is None else f"{status.valid_error:.2f}%"
            bar = ProgressBar(total=status.spec.epochs, completed=status.epoch, width=24)
            table.add_row(status.spec.name, f"{status.epoch}/{status.spec.epochs}", bar, error)
        return table

    def _tasks(self) -> Table:
        title = self.sweep.specs[0].table if self.sweep.specs else ""
        table = Table("task", "runs", "chosen", "validation", "test", title=title)
        lines = self.sweep.own_lines
        for task, line in best_by_task(lines).items():
            runs = sum(other["task"] == task for other in lines)
            table.add_row(
                task_label(task, self.sweep.specs[0].benchmark),
                str(runs),
                f"{line['variant']} seed {line['seed']}",
                f"{line['best']['valid_error']:.2f}%",
                f"{line['best']['test_error']:.2f}%",
            )
        return table
