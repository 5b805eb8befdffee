"""The benchmark's table and chart, from its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.runs import Timing
from entnet.errors import EntNetError

GOALS = {"1": 12, "2": 40, "3": 40, "5": 40, "16": 6, "17": 20, "19": 6}
"""How many times plain PyTorch two runs side by side are to be: what this project set itself."""

FLOPS_A_SENTENCE = 6 * 20 * 100**2
"""Three products of (20, 100) and (100, 100): one forward, two backward."""


def task_report(
    plain_alone: dict[int, Timing],
    plain_each: list[Timing],
    alone: Timing,
    each: list[Timing],
    sgemm: float,
) -> dict[str, Any]:
    """A task's part of the report: plain runs by threads and one a core, ours alone and one a core."""
    plain = {threads: timing.questions_per_second for threads, timing in plain_alone.items()}
    best = max(plain.values())
    together, plain_together = total(each), total(plain_each)
    a_core = sum(t.sentences_per_second for t in each) / len(each)
    spent = sum(sum(t.phases.values()) for t in each)
    return {
        "data": alone.data,
        "plain_questions_per_second": round(best, 1),
        "plain_threads": max(plain, key=lambda threads: plain[threads]),
        "plain_questions_per_second_two_runs": round(plain_together, 1),
        "questions_per_second_one_run": round(alone.questions_per_second, 1),
        "questions_per_second_two_runs": round(together, 1),
        "ratio_one_run": round(alone.questions_per_second / best, 2),
        "ratio_two_runs": round(together / best, 2),
        "ratio_two_runs_each": round(together / plain_together, 2),
        "sgemm_share": round(a_core * FLOPS_A_SENTENCE / (sgemm * 1e9), 3),
        "sentences_per_second_two_runs": round(a_core * len(each), 1),
        "phases": {
            phase: round(sum(t.phases[phase] for t in each) / spent, 3) for phase in each[0].phases
        },
        "resident_megabytes": round(max(t.resident_megabytes for t in (alone, *each)), 1),
    }


def total(timings: list[Timing]) -> float:
    return sum(t.questions_per_second for t in timings)


def _running_text(found: dict[str, Any] | None) -> list[str]:
    """The row on running text; reports from before there was one have none."""
    if not found:
        return []
    return [
        f"Running text, {found['megabytes']} MB from a file to the memory: "
        f"{found['words_per_second_1']:,} words/s on one core, "
        f"{found['words_per_second_2']:,} on two; a plain loop of `str.split` over its lines: "
        f"{found['split_words_per_second']:,} (ours is {found['ratio_to_split']} of it), "
        f"{found['resident_megabytes']} MB resident, {found['grown_megabytes']} MB more than after a "
        "block of 256 kB.",
        "",
    ]


def table(report: dict[str, Any]) -> str:
    """Markdown."""
    m = report["machine"]
    lines = [
        "# Speed of training",
        "",
        "Written by `make bench`. Questions per second in training. *Plain* is one run of plain PyTorch,",
        "on one core or on all, whichever is faster; *plain, two runs* is one on each core. The ratios are",
        "to *plain*; the last one is two runs of ours to two plain runs. *Our goal* is the ratio for two",
        "runs that this project set itself. *Share* is what each of two runs side by side reaches of the",
        "(640, 100) × (100, 100) sgemm rate of one core, counting 6·m·d² floating point operations per",
        "sentence.",
        "",
        f"{m['cpu']}, {m['cores']} cores; sgemm on one core: {m['sgemm_small_gflops']} GFLOP/s small, "
        f"{m['sgemm_large_gflops']} large; kernel {m['kernel']}, torch {m['torch']}.",
        "",
        "| task | data | plain | plain, two runs | one run | two runs | ratio, one run | ratio, two runs "
        "| our goal | ratio, two to two | share |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for task, t in report["tasks"].items():
        lines.append(
            f"| {task} | {t['data']} | {t['plain_questions_per_second']:,.0f} "
            f"| {t['plain_questions_per_second_two_runs']:,.0f} "
            f"| {t['questions_per_second_one_run']:,.0f} | {t['questions_per_second_two_runs']:,.0f} "
            f"| {t['ratio_one_run']:.1f}× | {t['ratio_two_runs']:.1f}× | {GOALS.get(task, 0)}× "
            f"| {t['ratio_two_runs_each']:.1f}× | {t['sgemm_share']:.0%} |"
        )
    lines += ["", "Where the time of our steps goes (two runs side by side):", ""]
    phases = list(next(iter(report["tasks"].values()))["phases"])
    lines += ["| task | " + " | ".join(phases) + " |", "|---" * (len(phases) + 1) + "|"]
    for task, t in report["tasks"].items():
        lines.append(f"| {task} | " + " | ".join(f"{t['phases'][p]:.0%}" for p in phases) + " |")
    s = report["streaming"]
    lines += [
        "",
        f"Streaming, from Python on one core, memory of 20 × 100: {s['read_sentence_microseconds']} µs "
        f"to read a sentence, {s['ask_microseconds']} µs to ask a question.",
        "",
        *_running_text(report.get("long")),
        f"Resident memory of a training run of task 3: {report['memory']['task3_megabytes']:.0f} MB.",
        "",
        "Microseconds per sentence in training on one core (else 20 sentences, 20 slots, 100 units):",
        "",
    ]
    for name, points in report["growth"].items():
        found = ", ".join(f"{p[name]:g}: {p['microseconds']:.1f}" for p in points)
        lines.append(f"- {name}: {found}")
    lines += [
        "",
        "The grid world on one core, batches of 32: stories made per second, and the T − 2 hops of MemN2N,",
        "forward and backward, beside plain PyTorch:",
        "",
        "| T | stories per second | hops, ratio |",
        "|---|---|---|",
    ]
    for g in report["gridworld"]:
        lines.append(f"| {g['length']} | {g['stories_per_second']:,} | {g['hops_ratio']:.1f}× |")
    if not report.get("rivals"):
        return "\n".join(lines) + "\n"
    lines += [
        "",
        "The systems that the paper compares with, on one core: an update on 16 stories of task 1, beside",
        "the same operators in plain PyTorch; and one of DMN+ on 128 questions, beside the same network in",
        "plain PyTorch with questions padded to the longest, as in every public implementation:",
        "",
        "| system | ms | plain, ms | ratio | our goal |",
        "|---|---|---|---|---|",
    ]
    for r in report["rivals"]:
        goal = f"{r['wanted']:g}×" if r["wanted"] else "–"
        lines.append(
            f"| {r['system']} | {r['milliseconds']:.1f} | {r['plain_milliseconds']:.1f} "
            f"| {r['ratio']:.1f}× | {goal} |"
        )
    return "\n".join(lines) + "\n"


def chart(report: dict[str, Any], path: Path) -> None:
    """Speed beside plain PyTorch, and how time grows."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise EntNetError("the chart needs matplotlib: pip install 'entnet[plots]'") from error
    figure, axes = pyplot.subplots(1, 4, figsize=(16, 3.6), layout="constrained")
    tasks = report["tasks"]
    places = range(len(tasks))
    for offset, key, label in (
        (-0.3, "plain_questions_per_second", "plain PyTorch"),
        (0.0, "questions_per_second_one_run", "entnet, one run"),
        (0.3, "questions_per_second_two_runs", "entnet, two runs"),
    ):
        heights = [t[key] for t in tasks.values()]
        axes[0].bar([p + offset for p in places], heights, 0.3, label=label)
    axes[0].set(yscale="log", title="questions a second", xlabel="task")
    axes[0].set_xticks(list(places), list(tasks))
    axes[0].legend(fontsize="small")
    for axis, (name, points) in zip(axes[1:], report["growth"].items(), strict=True):
        axis.plot([p[name] for p in points], [p["microseconds"] for p in points], marker="o")
        axis.set(xscale="log", xlabel=name, title="µs a sentence", ylim=(0, None))
    figure.savefig(path)
    pyplot.close(figure)
