"""``python -m benchmarks``: times everything and writes report.json, report.md and report.svg."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.report import chart, table
from benchmarks.runs import Timing, timed
from benchmarks.tasks import TASKS

FLOPS_A_SENTENCE = 6 * 20 * 100**2


def measure_task(task: int, seconds: float, sgemm: float) -> dict[str, Any]:
    """Plain PyTorch and ours on one task."""
    cores = os.cpu_count() or 1
    plain = timed("plain", task, 1, cores, seconds)[0].questions_per_second
    plain_each = total(timed("plain", task, cores, 1, seconds))
    one = timed("ours", task, 1, cores, seconds / 2)[0]
    two = timed("ours", task, cores, 1, seconds / 2)
    best = max(plain, plain_each)
    together = total(two)
    per_core = sum(t.sentences_per_second for t in two) / len(two)
    spent = sum(sum(t.phases.values()) for t in two)
    return {
        "data": one.data,
        "plain_questions_per_second": round(best, 1),
        "plain_questions_per_second_all_cores": round(plain, 1),
        "plain_questions_per_second_run_a_core": round(plain_each, 1),
        "questions_per_second_one_run": round(one.questions_per_second, 1),
        "questions_per_second_two_runs": round(together, 1),
        "ratio_one_run": round(one.questions_per_second / best, 2),
        "ratio_two_runs": round(together / best, 2),
        "sgemm_share": round(per_core * FLOPS_A_SENTENCE / (sgemm * 1e9), 3),
        "sentences_per_second_two_runs": round(sum(t.sentences_per_second for t in two), 1),
        "phases": {
            phase: round(sum(t.phases[phase] for t in two) / spent, 3) for phase in two[0].phases
        },
        "resident_megabytes": round(max(t.resident_megabytes for t in (one, *two)), 1),
    }


def total(timings: list[Timing]) -> float:
    return sum(t.questions_per_second for t in timings)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each measurement")
    parser.add_argument("--tasks", type=int, nargs="+", default=list(TASKS))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    seconds: float = options.seconds
    report: dict[str, Any] = {"machine": machine.describe(seconds / 2), "tasks": {}}
    sgemm = float(report["machine"]["sgemm_small_gflops"])
    for task in options.tasks:
        report["tasks"][str(task)] = found = measure_task(task, seconds, sgemm)
        print(
            f"task {task}: plain {found['plain_questions_per_second']:,.0f} questions/s, "
            f"ours {found['questions_per_second_two_runs']:,.0f} "
            f"({found['ratio_two_runs']:.1f}×), {found['sgemm_share']:.0%} of sgemm",
            flush=True,
        )
    report["growth"] = machine.growth(seconds / 10)
    report["streaming"] = machine.streaming(seconds / 5)
    long = report["tasks"].get("3") or next(iter(report["tasks"].values()))
    report["memory"] = {"task3_megabytes": long["resident_megabytes"]}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (options.out / "report.md").write_text(table(report), encoding="utf-8")
    chart(report, options.out / "report.svg")
    print(table(report))


if __name__ == "__main__":
    main()
