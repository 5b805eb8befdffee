"""The benchmark's table and chart, from its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from entnet.errors import EntNetError

BARS = {"1": 12, "2": 40, "3": 40, "5": 40, "16": 6, "17": 20, "19": 6}
"""How many times plain PyTorch two runs side by side must be."""


def table(report: dict[str, Any]) -> str:
    """Markdown."""
    m = report["machine"]
    lines = [
        "# Speed of training",
        "",
        "Written by `make bench`. Questions a second; *plain* is the best of plain PyTorch on all cores",
        "and of one plain run a core. *Share* is what two runs side by side reach of the machine's",
        "(640, 100) × (100, 100) sgemm rate, counting 6·m·d² a sentence.",
        "",
        f"{m['cpu']}, {m['cores']} cores; sgemm on one core: {m['sgemm_small_gflops']} GFLOP/s small, "
        f"{m['sgemm_large_gflops']} large; kernel {m['kernel']}, torch {m['torch']}.",
        "",
        "| task | data | plain | one run | two runs | ratio, one | ratio, two | wanted | share |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for task, t in report["tasks"].items():
        lines.append(
            f"| {task} | {t['data']} | {t['plain_questions_per_second']:,.0f} "
            f"| {t['questions_per_second_one_run']:,.0f} | {t['questions_per_second_two_runs']:,.0f} "
            f"| {t['ratio_one_run']:.1f}× | {t['ratio_two_runs']:.1f}× | {BARS.get(task, 0)}× "
            f"| {t['sgemm_share']:.0%} |"
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
        f"Resident memory of a training run of task 3: {report['memory']['task3_megabytes']:.0f} MB.",
        "",
        "Microseconds a sentence in training on one core (20 sentences, 20 slots, 100 units but for one):",
        "",
    ]
    for name, points in report["growth"].items():
        found = ", ".join(f"{p[name]:g}: {p['microseconds']:.1f}" for p in points)
        lines.append(f"- {name}: {found}")
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
