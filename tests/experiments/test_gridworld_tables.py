"""Tables 1a and 1b: runs that go on where they were, results, and what is made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from entnet.cli import app
from entnet.config import ConfigError
from entnet.data.gridworld import GridWorld
from entnet.errors import EntNetError
from entnet.experiments import gridworld
from entnet.experiments.gridworld import (
    PAPER_1A,
    RATES,
    reproduce_table1a,
    reproduce_table1b,
    run_spec,
    table1a_spec,
    table1b_spec,
    validation,
)
from entnet.experiments.gridworld_run import ROUND, GridRun, GridSpec
from entnet.experiments.report.gridworld import (
    details,
    figures,
    plot_generalisation,
    render_markdown,
)
from entnet.experiments.results import add_result, read_results

SMALL = GridWorld(width=3, height=3, agents=1)


def small_spec(**changes: Any) -> GridSpec:
    values: dict[str, Any] = {
        "table": "table1a",
        "kind": "entnet",
        "length": 5,
        "rate": 0.01,
        "seed": 1,
        "updates": 2 * ROUND,
        "halve_every": ROUND,
        "stories": 8,
        "ask_from": 2,
        "average": 0.9,
        "test_lengths": (5, 9),
        "test_stories": 100,
        "model": {"width": 8, "slots": 3},
    }
    return GridSpec.from_dict({**values, **changes})


def silent(_: str) -> None:
    """Runs tell how they get on; tests need not hear it."""


def test_a_run_that_was_interrupted_ends_with_the_same_weights(tmp_path: Path) -> None:
    whole = GridRun(small_spec(), SMALL)
    whole.train(tmp_path / "whole", silent)
    # Interrupted after its first round: saved, forgotten, taken up by another.
    broken = GridRun(small_spec(), SMALL)
    broken._round()
    broken._save(tmp_path / "broken" / f"{broken.spec.name}.safetensors")
    again = GridRun(small_spec(), SMALL)
    again.train(tmp_path / "broken", silent)
    assert again.rounds == whole.rounds == 2
    for one, other in zip(whole.parameters, again.parameters, strict=True):
        assert torch.equal(one, other)
    for one, other in zip(whole.average, again.average, strict=True):
        assert torch.equal(one, other)


def test_a_checkpoint_of_other_settings_is_passed_over(tmp_path: Path) -> None:
    GridRun(small_spec(updates=ROUND), SMALL).train(tmp_path, silent)
    other = GridRun(small_spec(updates=ROUND, stories=4), SMALL)
    other._load(tmp_path / f"{other.spec.name}.safetensors")
    assert other.rounds == 0


def test_training_lowers_the_error_and_the_line_says_how_it_was_done(tmp_path: Path) -> None:
    run = GridRun(small_spec(updates=6 * ROUND, halve_every=2 * ROUND), SMALL)
    before = run.errors(1)
    run.train(tmp_path, silent)
    line = run.result()
    assert line["valid"]["5"] < 0.5 * before["5"]
    assert line["chosen"] in {"last", "average"}
    assert set(line["test"]) == {"5", "9"}
    assert line["updates"] == 6 * ROUND
    assert GridSpec.from_dict(json.loads(json.dumps(line["spec"]))) == run.spec


def test_a_hopeless_run_gives_up_after_a_quarter(tmp_path: Path) -> None:
    run = GridRun(small_spec(updates=40 * ROUND, rate=10.0, give_up=0.5, stories=2), SMALL)
    run.train(tmp_path, silent)
    assert run.rounds == 10


@pytest.mark.parametrize("kind", ["lstm", "memn2n"])
def test_the_other_networks_run_the_same_way(kind: str, tmp_path: Path) -> None:
    spec = small_spec(kind=kind, model={"width": 6}, updates=ROUND, stories=2, test_lengths=(5,))
    run = GridRun(spec, SMALL)
    run.train(tmp_path, silent)
    assert 0 <= run.result()["test"]["5"] < 1


def test_impossible_runs_are_refused() -> None:
    with pytest.raises(ConfigError, match=f"multiple of {ROUND}"):
        small_spec(updates=ROUND + 1)


def test_specs_follow_the_paper() -> None:
    memn2n = table1a_spec("memn2n", 20, 0.01, 1)
    assert memn2n.model["hops"] == 18
    assert memn2n.model["width"] == 20
    assert table1a_spec("lstm", 10, 0.1, 1).model["units"] == 50
    entnet = table1b_spec(3)
    assert (entnet.model["width"], entnet.model["slots"], entnet.stories) == (20, 5, 32)
    assert entnet.length == 20
    assert max(entnet.test_lengths) == 320
    for kind in PAPER_1A:
        GridRun(table1a_spec(kind, 10, 0.01, 1))


def line(table: str, kind: str, length: int, rate: float, seed: int, error: float) -> Any:
    lengths = gridworld.TEST_LENGTHS if table == "table1b" else (length,)
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


def test_a_finished_run_is_not_done_again(tmp_path: Path) -> None:
    spec = table1a_spec("entnet", 10, 0.01, 1)
    known = line("table1a", "entnet", 10, 0.01, 1, 0.5)
    add_result(tmp_path / "table1a.jsonl", known)
    assert run_spec(spec, tmp_path, tmp_path / "runs", silent) == known


def test_a_run_of_one_table_fills_the_other_where_they_are_the_same(tmp_path: Path) -> None:
    spec = table1b_spec(1)
    known = {**line("table1b", "entnet", 20, 0.01, 1, 0.25), "spec": spec.to_dict()}
    add_result(tmp_path / "table1b.jsonl", known)
    found = run_spec(table1a_spec("entnet", 20, 0.01, 1), tmp_path, tmp_path / "runs", silent)
    assert found["table"] == found["spec"]["table"] == "table1a"
    assert found["test"] == known["test"]
    assert len(read_results(tmp_path / "table1a.jsonl")) == 1
    assert not (tmp_path / "runs").exists()


def test_the_first_seed_tries_every_rate_and_the_others_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[float, int]] = []

    def record(spec: GridSpec, *_: Any) -> Any:
        done.append((spec.rate, spec.seed))
        return line("table1a", spec.kind, spec.length, spec.rate, spec.seed, spec.rate)

    monkeypatch.setattr(gridworld, "run_spec", record)
    reproduce_table1a(tmp_path, tmp_path, (1, 2, 3), ["lstm"], [10])
    assert done == [*((rate, 1) for rate in RATES), (0.001, 2), (0.001, 3)]
    done.clear()
    reproduce_table1a(tmp_path, tmp_path, (1, 2), ["lstm"], [10], every_rate=True)
    assert sorted(done) == sorted((rate, seed) for rate in RATES for seed in (1, 2))
    done.clear()
    reproduce_table1a(tmp_path, tmp_path, (1,), ["memn2n"], [10])
    assert done == [(rate, 1) for rate in (*RATES, 0.003)]
    with pytest.raises(EntNetError, match="no such network: gru"):
        reproduce_table1a(tmp_path, tmp_path, (1,), ["gru"])
    with pytest.raises(EntNetError, match="no such length: 15; Table 1a has 10, 20, 40"):
        reproduce_table1a(tmp_path, tmp_path, (1,), lengths=[15])


def test_several_runs_at_a_time_find_what_was_done(tmp_path: Path) -> None:
    for seed in (1, 2):
        add_result(tmp_path / "table1b.jsonl", line("table1b", "entnet", 20, 0.01, seed, 0.1))
    found = reproduce_table1b(tmp_path, tmp_path, (2, 1), jobs=2)
    assert [done["seed"] for done in found] == [2, 1]


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
    text = render_markdown(tmp_path)
    assert "| LSTM | 20 | 0.157 | **0.1010** | 0.2010 ± 0.1000 | 3 | 0.01 |" in text
    assert "| LSTM | 20 | 0.9010 | 0.2010 |" in text
    assert "| 80 | 0.08 | **0.4010** | 0.8010 ± 0.4000 | 3 |" in text


def test_without_results_there_is_nothing_to_report(tmp_path: Path) -> None:
    assert figures(tmp_path) == {}
    assert render_markdown(tmp_path) == ""
    with pytest.raises(EntNetError, match="no runs of table1b"):
        plot_generalisation(tmp_path / "plot.svg", tmp_path)


def test_the_generalisation_curve_is_drawn(tmp_path: Path) -> None:
    for seed in (1, 2):
        add_result(tmp_path / "table1b.jsonl", line("table1b", "entnet", 20, 0.01, seed, 0.01))
    plot_generalisation(tmp_path / "images" / "plot.svg", tmp_path)
    assert "<svg" in (tmp_path / "images" / "plot.svg").read_text()


def test_committed_results_are_of_the_specs_in_the_code() -> None:
    """Every committed line was run with the settings that the code says, on enough questions."""
    results = Path(__file__).parents[2] / "results"
    for table in ("table1a", "table1b"):
        for done in read_results(results / f"{table}.jsonl"):
            made = (
                table1b_spec(done["seed"], done["rate"])
                if table == "table1b"
                else table1a_spec(done["kind"], done["length"], done["rate"], done["seed"])
            )
            assert GridSpec.from_dict(done["spec"]) == made
            assert done["questions"] >= 10_000
            assert validation(done) >= 0
    assert details(results).keys() == {"table1a", "table1b"}


def test_table1b_runs_every_seed(tmp_path: Path) -> None:
    for seed in (4, 5):
        add_result(tmp_path / "table1b.jsonl", line("table1b", "entnet", 20, 0.01, seed, 0.01))
    assert [done["seed"] for done in reproduce_table1b(tmp_path, tmp_path, (4, 5))] == [4, 5]


def test_runs_with_changed_settings_are_other_runs(tmp_path: Path) -> None:
    asked = ["--tasks", "10", "--variant", "lstm", "--seeds", "2", "--jobs", "1"]
    changed = ["--set", "updates=500", "--set", "rate=0.01", "--set", "test_stories=50"]
    arguments = ["reproduce", "table1a", *asked, *changed, "--runs", str(tmp_path)]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.output
    (line,) = read_results(tmp_path / "results" / "table1a.jsonl")
    assert line["variant"] == "lstm rate 0.01+test_stories=50,updates=500"
    assert (line["updates"], line["seed"], line["questions"]) == (500, 2, 100)
