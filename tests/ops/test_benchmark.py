"""The benchmark measures the same network both ways, and writes what it promises."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks import gridworld, machine, rivals, runs, serve
from benchmarks.plain import PaddedBatch, PlainEntNet, PlainTrainer
from benchmarks.plain_dmn import PlainDMN, PlainPass
from benchmarks.report import chart, table, task_report

from entnet import Corpus, EntNet, EntNetConfig, TrainConfig, Vocab
from entnet.data.story import longest_sentence, story_words
from entnet.models.dmn import DMN, DMNConfig, Pass
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


def test_the_yardstick_for_dmn_is_the_same_network() -> None:
    stories = make_stories(20, seed=1)
    vocab, length = Vocab.build(story_words(stories)), longest_sentence(stories)
    torch.manual_seed(1)
    config = DMNConfig(vocabulary=len(vocab), sentence_length=length, width=12)
    ours, plain = DMN(config, vocab).eval(), PlainDMN(len(vocab), length, 12).eval()
    for parameter in ours.parameters():
        parameter.data.add_(torch.randn_like(parameter) / 10)
    ours.after_update()
    _give_to_torch(ours, plain)
    entries = Corpus.encode(stories, vocab, length).entries("question")
    chosen = np.arange(len(entries))
    with torch.no_grad():
        torch.testing.assert_close(
            plain(PaddedBatch.gather(entries, chosen)), ours(entries.batch(chosen))
        )


def _give_to_torch(ours: DMN, plain: PlainDMN) -> None:
    """Torch's GRU has its gates in another order, and a bias on the state."""
    order = [0, 2, 1]
    for gru, name, module in (
        (ours.question_gru, "l0", plain.question),
        (ours.forward_gru, "l0", plain.fusion),
        (ours.backward_gru, "l0_reverse", plain.fusion),
    ):
        getattr(module, f"weight_ih_{name}").data = gru.W.data[order].flatten(0, 1)
        getattr(module, f"weight_hh_{name}").data = gru.U.data[order].flatten(0, 1)
        getattr(module, f"bias_ih_{name}").data = gru.bias.data.view(3, -1)[order].flatten()
        getattr(module, f"bias_hh_{name}").data.zero_()
    plain.embedding.weight.data = ours.embedding.data
    for number, (mine, theirs) in enumerate(zip(ours.rounds, plain.rounds, strict=True)):
        assert isinstance(mine, Pass)
        assert isinstance(theirs, PlainPass)
        for weight, linear in (
            ((mine.W1, mine.b1), theirs.hidden),
            ((mine.W2, mine.b2), theirs.score),
            ((mine.gru.W.flatten(0, 1), mine.gru.bias), theirs.inputs),
            ((ours.W[number], ours.bias[number]), theirs.update),
        ):
            linear.weight.data, linear.bias.data = weight[0].data, weight[1].data
        theirs.recurrent.weight.data = mine.gru.U.data.flatten(0, 1)
    plain.answer.weight.data, plain.answer.bias.data = ours.R.data, ours.output_bias.data


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
