"""Tables 1a and 1b: runs that go on where they were, results, and what is made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from entnet.cli import app
from entnet.config import ConfigError, Prune, TrainConfig
from entnet.data.gridworld import GridWorld
from entnet.errors import EntNetError
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import load_preset
from entnet.experiments.results import add_result, read_results
from entnet.experiments.selection import choose
from entnet.models import model_class
from entnet.report.gridworld import (
    TEST_LENGTHS,
    details,
    error_at,
    figures,
    pages,
    plot_generalisation,
    validation,
)
from entnet.tasks.gridworld import GridOptions, GridTask, grid_trainer
from entnet.training.engine import TorchEngine
from entnet.training.trainer import Trainer
from interrupted import interrupt

SMALL = GridWorld(width=3, height=3, agents=1)
TRAINING: dict[str, Any] = {
    "epochs": 4,
    "batch_size": 8,
    "loss": "mean",
    "halve_every": 2,
    "halving_rule": "text",
    "weight_average": 0.9,
    "checkpoint": "last",
}
STORIES: dict[str, Any] = {
    "length": 5,
    "ask_from": 2,
    "updates_per_epoch": 100,
    "test_lengths": (5, 9),
    "test_stories": 100,
}


def small_run(directory: Path, stories: dict[str, Any] | None = None, **training: Any) -> Trainer:
    return grid_trainer(
        directory,
        "entnet",
        {"width": 8, "slots": 3},
        GridOptions(**{**STORIES, **(stories or {})}),
        TrainConfig(**{**TRAINING, **training}),
        world=SMALL,
        checkpoint_seconds=0,
    )


def test_a_small_world_is_learnt_and_errors_are_given_by_length(tmp_path: Path) -> None:
    result = small_run(tmp_path, epochs=40, halve_every=10).train()
    cells = result["best"]["cells"]
    assert list(cells) == ["5", "9"]
    assert cells["5"]["test_error"] < 20
    assert result["best"]["test_questions"] == 200
    mean = (cells["5"]["valid_error"] + cells["9"]["valid_error"]) / 2
    assert result["best"]["valid_error"] == pytest.approx(mean)
    lines = [json.loads(text) for text in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["train_error"] < lines[0]["train_error"]


def test_an_interrupted_run_ends_as_one_that_was_not(tmp_path: Path) -> None:
    whole = small_run(tmp_path / "whole")
    whole.train()
    parts = small_run(tmp_path / "parts")
    interrupt(parts, 3)
    again = small_run(tmp_path / "parts")
    again.train()
    for name, mean in whole.average.items():
        assert torch.equal(again.average[name], mean)


def test_the_better_of_last_and_averaged_weights_is_kept(tmp_path: Path) -> None:
    result = small_run(tmp_path).train()
    last, best = result["last"]["valid_error"], result["best"]["valid_error"]
    assert result["averaged"] == (best < last)
    plain = small_run(tmp_path / "plain", weight_average=0.0).train()
    assert "averaged" not in plain
    assert plain["best"] == plain["last"]


def test_the_kept_network_has_the_errors_of_the_result(tmp_path: Path) -> None:
    result = small_run(tmp_path).train()
    network = model_class("entnet").from_pretrained(tmp_path / "model")
    config = TrainConfig(**TRAINING)
    task = GridTask(SMALL, GridOptions(**STORIES), config)
    assert task.test(TorchEngine(network, config)) == result["best"]


def test_a_hopeless_run_is_given_up(tmp_path: Path) -> None:
    assert small_run(tmp_path, prune=(Prune(1, "train_error", 0.1),)).train()["epochs"] == 1


def test_mistakes_in_settings_are_told() -> None:
    with pytest.raises(ConfigError, match="length is 0"):
        GridOptions(length=0)
    with pytest.raises(ConfigError, match="weight_average is 1"):
        TrainConfig(weight_average=1.0)


def line(table: str, kind: str, length: int, rate: float, seed: int, error: float) -> Any:
    """A line as it was written before all benchmarks had one form."""
    lengths = TEST_LENGTHS if table == "table1b" else (length,)
    errors = {str(each): error * each / lengths[0] for each in lengths}
    return {
        "table": table,
        "task": length,
        "variant": f"{kind} rate {rate:g}",
        "kind": kind,
        "length": length,
        "rate": rate,
        "seed": seed,
        "valid": errors,
        "test": {key: value + 0.001 for key, value in errors.items()},
        "seconds": 1.0,
    }


def test_reports_choose_on_validation_and_stand_beside_the_paper(tmp_path: Path) -> None:
    for seed, error in ((1, 0.2), (2, 0.1), (3, 0.3)):
        add_result(tmp_path / "table1a.jsonl", line("table1a", "lstm", 20, 0.01, seed, error))
        add_result(tmp_path / "table1b.jsonl", line("table1b", "entnet", 20, 0.01, seed, error))
    add_result(tmp_path / "table1a.jsonl", line("table1a", "lstm", 20, 0.1, 1, 0.9))
    found = figures(tmp_path)
    assert found["table1a"]["lstm"] == {"20": pytest.approx(0.101)}
    cell = found["table1a"]["detail"]["lstm"]["20"]
    assert cell["seeds"] == 3
    assert cell["mean"] == pytest.approx(0.201)
    assert cell["sd"] == pytest.approx(0.1)
    assert (cell["seed"], cell["rate"], cell["paper"]) == (2, 0.01, 0.157)
    assert found["table1b"]["entnet"]["80"] == pytest.approx(0.401)
    assert json.loads(json.dumps(found)) == found
    page_1a, page_1b = pages(tmp_path)
    assert "| LSTM | 20 | 0.157 | **0.1010** | 0.2010 ± 0.1000 | 3 | 0.01 |" in page_1a.body
    assert "| LSTM | 20 | 0.9010 | 0.2010 |" in page_1a.runs
    assert "| 80 | 0.08 | **0.4010** | 0.8010 ± 0.4000 | 3 |" in page_1b.body


def test_without_results_there_is_nothing_to_report(tmp_path: Path) -> None:
    assert figures(tmp_path) == {}
    assert pages(tmp_path) == []
    with pytest.raises(EntNetError, match="no runs of table1b"):
        plot_generalisation(tmp_path / "plot.svg", tmp_path)


def test_the_generalisation_curve_is_drawn(tmp_path: Path) -> None:
    for seed in (1, 2):
        add_result(tmp_path / "table1b.jsonl", line("table1b", "entnet", 20, 0.01, seed, 0.01))
    plot_generalisation(tmp_path / "images" / "plot.svg", tmp_path)
    assert "<svg" in (tmp_path / "images" / "plot.svg").read_text()


def test_committed_results_are_of_the_presets(tmp_path: Path) -> None:
    """Every committed line was run with the settings that its preset has, on enough questions."""
    results = Path(__file__).parents[2] / "results"
    for table in ("table1a", "table1b"):
        specs = {spec.key: spec for spec in specs_of(load_preset(table), tmp_path)}
        for done in read_results(results / f"{table}.jsonl"):
            spec = specs[table, done["task"], done["variant"], done["seed"]]
            made = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
            assert TrainConfig.from_dict(done["train"]) == made
            options = GridOptions.from_dict({**spec.source, "length": spec.task})
            assert GridOptions.from_dict(done["source"]) == options
            assert {key: done["model"][key] for key in spec.model} == spec.model
            assert spec.kind == done["kind"]
            assert done["best"]["test_questions"] >= 10_000
            assert validation(done) >= 0
    assert details(results).keys() == {"table1a", "table1b", "table1b-longer"}


def reproduce(*arguments: object) -> Any:
    outcome = CliRunner().invoke(app, ["reproduce", *map(str, arguments)])
    assert outcome.exit_code == 0, outcome.output
    return outcome


TINY = [
    *("--set", "updates_per_epoch=20", "--set", "test_stories=20", "--set", "prune="),
    *("--epochs", "1", "--set", "halve_every=1"),
]


def test_the_first_seed_tries_every_learning_rate_and_the_others_take_the_best(
    tmp_path: Path,
) -> None:
    asked = ["--tasks", "10", "--variant", "lstm", "--seeds", "1-2", "--jobs", "2"]
    reproduce("table1a", *asked, *TINY, "--runs", tmp_path)
    lines = read_results(tmp_path / "results" / "table1a.jsonl")
    first = [one for one in lines if one["seed"] == 1]
    (second,) = (one for one in lines if one["seed"] == 2)
    rates = sorted(one["train"]["learning_rate"] for one in first)
    assert rates == [0.001, 0.01, 0.1]
    assert second["variant"] == choose(first)["variant"]
    assert all(one["schema"] == 2 and one["table"] == "table1a" for one in lines)
    assert error_at(second, 10) == pytest.approx(second["best"]["test_error"] / 100)


def test_runs_with_changed_settings_are_other_runs(tmp_path: Path) -> None:
    asked = ["--variant", "entnet-lr-0.01", "--seeds", "3", "--jobs", "1"]
    reproduce("table1b", *asked, *TINY, "--runs", tmp_path)
    (done,) = read_results(tmp_path / "results" / "table1b.jsonl")
    assert done["variant"].startswith("entnet-lr-0.01+")
    assert "updates_per_epoch=20" in done["variant"]
    assert (done["epochs"], done["seed"], done["best"]["test_questions"]) == (1, 3, 9 * 40)
    again = reproduce("table1b", *asked, *TINY, "--runs", tmp_path)
    assert "1 of 1 runs done" in again.output


def test_what_a_table_lacks_is_told() -> None:
    for wrong, reason in (
        (["--tasks", "15"], "no task 15 in table1a; it has 10, 20, 40"),
        (["--variant", "gru"], "no variant 'gru'"),
        (["--variant", "lstm", "--set", "hue=3"], "no setting 'hue'"),
    ):
        outcome = CliRunner().invoke(app, ["reproduce", "table1a", *wrong])
        assert outcome.exit_code == 1
        assert reason in str(outcome.exception)
