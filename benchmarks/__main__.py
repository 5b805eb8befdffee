"""``python -m benchmarks``: times everything and writes report.json, report.md and report.svg."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import gridworld, machine, rivals
from benchmarks import long as long_text
from benchmarks.report import chart, table, task_report
from benchmarks.runs import timed
from benchmarks.tasks import TASKS


def measure_task(task: int, seconds: float, sgemm: float) -> dict[str, Any]:
    """Plain PyTorch and ours on one task."""
    cores = os.cpu_count() or 1
    return task_report(
        plain_alone={t: timed("plain", task, 1, t, seconds)[0] for t in {1, cores}},
        plain_each=timed("plain", task, cores, 1, seconds),
        alone=timed("ours", task, 1, cores, seconds / 2)[0],
        each=timed("ours", task, cores, 1, seconds / 2),
        sgemm=sgemm,
    )


PARTS: dict[str, Callable[[float], Any]] = {
    "growth": lambda seconds: machine.growth(seconds / 10),
    "streaming": lambda seconds: machine.streaming(seconds / 5),
    "long": lambda seconds: long_text.measure(),
    "gridworld": lambda seconds: gridworld.measure(seconds / 5),
    "rivals": lambda seconds: rivals.measure(seconds / 5),
}


def measure(tasks: list[int], seconds: float) -> dict[str, Any]:
    """Everything."""
    report: dict[str, Any] = {"machine": machine.describe(seconds / 2), "tasks": {}}
    sgemm = float(report["machine"]["sgemm_small_gflops"])
    for task in tasks:
        report["tasks"][str(task)] = found = measure_task(task, seconds, sgemm)
        print(
            f"task {task}: plain {found['plain_questions_per_second']:,.0f} questions/s, "
            f"ours {found['questions_per_second_two_runs']:,.0f} "
            f"({found['ratio_two_runs']:.1f}×), {found['sgemm_share']:.0%} of sgemm",
            flush=True,
        )
    for name, part in PARTS.items():
        report[name] = part(seconds)
    long = report["tasks"].get("3") or next(iter(report["tasks"].values()))
    report["memory"] = {"task3_megabytes": long["resident_megabytes"]}
    return report


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each measurement")
    parser.add_argument("--tasks", type=int, nargs="+", default=list(TASKS))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--data", type=Path, help="where the official files are, if they are")
    parser.add_argument("--only", choices=PARTS, help="measure this again, and keep the rest")
    options = parser.parse_args()
    if options.data is not None:
        os.environ["ENTNET_DATA"] = str(options.data.resolve())
    if options.only:
        report = json.loads((options.out / "report.json").read_text(encoding="utf-8"))
        report[options.only] = PARTS[options.only](options.seconds)
    else:
        report = measure(options.tasks, options.seconds)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (options.out / "report.md").write_text(table(report), encoding="utf-8")
    chart(report, options.out / "report.svg")
    print(table(report))


if __name__ == "__main__":
    main()
