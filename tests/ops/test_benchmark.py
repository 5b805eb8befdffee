"""The benchmark measures the same network both ways, and writes what it promises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from benchmarks import gridworld, machine, rivals, runs, serve
from benchmarks.plain import PaddedBatch, PlainEntNet, PlainTrainer
from benchmarks.report import chart, table, task_report

from entnet import Corpus, EntNet, EntNetConfig, TrainConfig, Vocab
from entnet.data.story import longest_sentence, story_words
from entnet.training.engine import TorchEngine
from small_networks import make_stories

pytestmark = pytest.mark.slow


def test_the_yardstick_is_the_same_network() -> None:
    stories = make_stories(20, seed=1)
    vocab, length = Vocab.build(story_words(stories)), longest_sentence(stories)
    config = EntNetConfig(vocabulary=len(vocab), sentence_length=length, width=12, slots=3)
    torch.manual_seed(1)
    ours, plain = EntNet(config, vocab), PlainEntNet(len(vocab), length, 12, 3)
    for name, parameter in ours.named_parameters():
        plain.get_parameter(name.split(".")[-1]).data.copy_(parameter.data)
    entries = Corpus.encode(stories, vocab, length).entries("question")
    engine, trainer = TorchEngine(ours, TrainConfig()), PlainTrainer(plain)
    for group in entries.groups(32):
        wanted = engine.step(entries.batch(group), 0.01).loss
        assert trainer.step(PaddedBatch.gather(entries, group)) == pytest.approx(wanted, rel=1e-3)


def test_a_report_has_all_that_it_promises(tmp_path: Path) -> None:
    plain = runs.train_for("plain", 17, 1, 0.1, lambda: None)
    ours = runs.train_for("ours", 17, 1, 0.1, lambda: None)
    assert plain.questions >= 32
    assert ours.phases["scan"] > 0
    machine_report = machine.describe(0.05)
    task = task_report(
        {1: plain}, [plain], ours, [ours], float(str(machine_report["sgemm_small_gflops"]))
    )
    for name in (
        "plain_questions_per_second",
        "questions_per_second_one_run",
        "questions_per_second_two_runs",
        "ratio_one_run",
        "ratio_two_runs",
        "sgemm_share",
    ):
        assert task[name] > 0
    report = {
        "machine": machine_report,
        "tasks": {"17": task},
        "growth": machine.growth(0.001),
        "streaming": machine.streaming(0.01),
        "gridworld": gridworld.measure(0.01),
        "rivals": rivals.measure(0.01, count=1),
        "memory": {"task3_megabytes": task["resident_megabytes"]},
    }
    assert {"cpu", "cores", "sgemm_small_gflops", "sgemm_large_gflops"} <= machine_report.keys()
    assert "| 17 |" in table(report)
    assert "| 40 |" in table(report)
    chart(report, tmp_path / "report.svg")
    assert (tmp_path / "report.svg").stat().st_size > 1000


def test_runs_side_by_side_both_report() -> None:
    timings = runs.timed("ours", 17, processes=2, threads=1, seconds=0.1)
    assert len(timings) == 2
    assert all(timing.questions > 0 for timing in timings)


def test_what_is_said_of_the_service_is_what_was_measured() -> None:
    folder = Path(serve.__file__).parent
    report = json.loads((folder / "serve.json").read_text(encoding="utf-8"))
    assert (folder / "serve.md").read_text(encoding="utf-8") == serve.table(report)
    assert not any(load["failed"] for load in report["service"])
