"""Table 4: runs that go on where they were, lines of results, and the report made from them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from cbt_questions import trade_question, write_questions
from entnet.cli import app
from entnet.config import ConfigError
from entnet.data.cbt import cbt_file_name
from entnet.data.cbt_windows import encode_training, encode_with, with_fresh
from entnet.errors import EntNetError
from entnet.experiments import cbt, cbt_systems
from entnet.experiments.cbt_systems import (
    SYSTEMS,
    CbtData,
    Job,
    ensemble,
    network_directory,
    train_simple,
)
from entnet.experiments.cbt_training import TorchTrainee, WindowTraining, train_windows
from entnet.experiments.results import read_results
from entnet.experiments.spec import changed_name
from entnet.models.base import StoryModel
from entnet.models.cbt.native import simple_config
from entnet.models.cbt.reader import WindowScorer
from entnet.models.entnet import EntNet

NETWORKS = {"entnet-simple", "entnet-general", "window-lstm", "memnn", "memnn-self"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "questions")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"epochs": 3, "width": 16, "rate": 0.02, "fresh": 4}
    for kind in ("NE", "CN"):
        monkeypatch.setitem(cbt_systems.KIND_SETTINGS["entnet-simple"], kind, settings)
    monkeypatch.setattr(cbt_systems, "SIMPLE_SEEDS", (1, 2))


def test_an_interrupted_run_ends_as_one_that_was_not(directory: Path, tmp_path: Path) -> None:
    data = CbtData(directory, "NE")
    told: list[str] = []
    _, whole, _ = train_simple(Job(data, 1, tmp_path / "whole", told.append))
    assert len(told) == 3

    settings = cbt_systems.KIND_SETTINGS["entnet-simple"]["NE"]
    settings["epochs"] = 2
    train_simple(Job(data, 1, tmp_path / "parts", told.append))
    settings["epochs"] = 3
    told.clear()
    _, resumed, _ = train_simple(Job(data, 1, tmp_path / "parts", told.append))
    assert len(told) == 1
    assert resumed.progress.curve == whole.progress.curve
    assert (resumed.test_scores == whole.test_scores).all()

    settings["rate"] = 0.01  # another run: it starts anew
    told.clear()
    train_simple(Job(data, 1, tmp_path / "parts", told.append))
    assert len(told) == 3


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_a_network_on_an_engine_goes_on_where_it_was(tmp_path: Path, optimiser: str) -> None:
    train, vocab = encode_training([trade_question(n) for n in range(60)])
    valid = encode_with([trade_question(500 + n) for n in range(10)], vocab)
    words = with_fresh(vocab, 3)

    def run(epochs: int, file: Path) -> np.ndarray:
        training = WindowTraining(
            epochs=epochs, optimiser=optimiser, fresh=3, disguise=0.2, batch=8
        )
        torch.manual_seed(1)
        general = {"U": "trained", "V": "trained", "W": "trained", "normalise": True}
        model = EntNet(simple_config(len(words), width=8, **general), words)
        trainee = TorchTrainee(model, train, training)
        return train_windows(trainee, training, valid, valid, file, lambda _: None).test_scores

    whole = run(4, tmp_path / "whole.npz")
    run(2, tmp_path / "parts.npz")
    resumed = run(4, tmp_path / "parts.npz")
    np.testing.assert_allclose(resumed, whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_scores_ten_candidates(name: str, directory: Path, tmp_path: Path) -> None:
    """All behind one interface; networks on windows leave one on disk that gives the same scores."""
    few = {
        "units": 16,
        "streams": 4,
        "steps": 10,
        "sample": 8,
        "rate": 0.02,
        "epochs": 4,
        "least": 1,
    }
    changes = {"lstm": few}.get(name, {"epochs": 2} if name in NETWORKS else {})
    data = CbtData(directory, "NE")
    done = SYSTEMS[name].run(Job(data, 1, tmp_path, lambda _: None, changes))
    assert done.valid_scores.shape == (40, 10)
    assert done.test_scores.shape == (50, 10)
    assert np.isfinite(done.test_scores).all()
    if name in NETWORKS:
        place = network_directory(tmp_path, "NE", changed_name(name, changes), 1)
        network = WindowScorer(StoryModel.from_pretrained(place))
        np.testing.assert_allclose(
            network.scores(data.test), done.test_scores, rtol=1e-4, atol=1e-4
        )


def test_an_epoch_may_read_a_part_of_the_questions() -> None:
    part = WindowTraining(questions=30)
    first, second = part.order(100, 1), part.order(100, 2)
    assert len(first) == len(set(first)) == 30
    assert set(first) != set(second)
    assert part.passes(100, 5) == pytest.approx(1.5)
    whole = WindowTraining()
    assert sorted(whole.order(100, 1)) == list(range(100))
    assert whole.passes(100, 5) == 5
    assert WindowTraining(questions=300).passes(100, 5) == 5


def test_the_budget_ends_a_run(directory: Path, tmp_path: Path) -> None:
    cbt_systems.KIND_SETTINGS["entnet-simple"]["NE"]["budget"] = 1e-9
    _, outcome, _ = train_simple(Job(CbtData(directory, "NE"), 1, tmp_path, lambda _: None))
    assert outcome.progress.epoch == 1


def test_the_kept_network_is_the_best_on_validation(directory: Path, tmp_path: Path) -> None:
    data = CbtData(directory, "NE")
    trainee, outcome, _ = train_simple(Job(data, 1, tmp_path, lambda _: None))
    best = max(point[3] for point in outcome.progress.curve)
    scores = trainee.scores(data.valid_windows)
    assert (scores == outcome.valid_scores).all()
    reached = (scores.argmax(1) == data.valid_windows.answers).mean()
    assert reached == pytest.approx(best, abs=0.03)  # ties count apart
    assert outcome.progress.curve[outcome.progress.best_epoch - 1][3] == best


def test_runs_are_lines_and_are_not_done_twice(directory: Path, tmp_path: Path) -> None:
    told: list[str] = []
    quick = ["corpus-frequency", "context-frequency", "kneser-ney-cache", "entnet-simple"]
    results = tmp_path / "results"

    def run(**options: object) -> list[dict[str, object]]:
        return cbt.reproduce_table4(
            results,
            tmp_path / "runs",
            systems=quick,
            directory=directory,
            tell=told.append,
            **options,  # type: ignore[arg-type]
        )

    lines = run(seeds=[1])
    assert [(line["task"], line["variant"]) for line in lines] == [
        (kind, name) for kind in ("NE", "CN") for name in quick
    ]
    assert read_results(results / "table4.jsonl") == json.loads(json.dumps(lines))
    assert all(line["questions"] == "rebuilt" for line in lines)
    told.clear()
    assert run(seeds=[1]) == read_results(results / "table4.jsonl")
    assert not told
    assert len(run(seeds=[1, 2])) == len(lines) + 2


def test_the_report_has_every_system_beside_the_paper(tmp_path: Path) -> None:
    path = tmp_path / "table4.jsonl"

    def line(kind: str, name: str, seed: int, valid: float, test: float) -> str:
        about = {"table": "table4", "task": kind, "variant": name, "seed": seed, "valid": valid}
        about |= {"test": test, "test_questions": 2500, "questions": "rebuilt"}
        return json.dumps(about | ({"epochs": 0.25} if name == "memnn-self" else {}))

    path.write_text(
        "\n".join(
            [
                line("NE", "entnet-simple", 1, 0.70, 0.64),
                line("NE", "entnet-simple", 2, 0.71, 0.62),
                line("CN", "entnet-simple", 1, 0.60, 0.60),
                line("NE", "memnn-self", 1, 0.60, 0.50),
            ]
        )
        + "\n"
    )
    assert cbt.report(tmp_path) == {
        "entnet-simple": {"NE": 0.62, "CN": 0.60},  # chosen on validation, not on test
        "memnn-self": {"NE": 0.50},
    }
    cell = cbt.details(tmp_path)["entnet-simple"]["NE"]
    assert cell["interval"] == pytest.approx(1.96 * (0.62 * 0.38 / 2500) ** 0.5)
    assert cell["mean"] == pytest.approx(0.63)
    assert cell["paper"] == 0.616
    text = cbt.render_markdown(tmp_path)
    assert "questions are rebuilt" in text
    simple, self_supervised = text.index("EntNet, simple"), text.index("self-supervised")
    assert simple < text.index("read again") < self_supervised
    assert "**.620** ± .019 (.630 ± .014, 2 seeds) | .616" in text
    assert "NSE | – | .732" in text
    assert "NE and CN: MemNN, windows, self-supervised 0.25." in text
    assert cbt.figures(tmp_path)["table4"]["entnet-simple"]["CN"] == 0.60
    cbt.plot_table4(tmp_path / "chart.png", tmp_path)
    assert (tmp_path / "chart.png").stat().st_size > 5000


def test_the_command_runs_the_kinds_and_systems_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_questions(tmp_path / "data" / "cbt" / "data")
    monkeypatch.setenv("ENTNET_DATA", str(tmp_path / "data"))
    arguments = ["reproduce", "table4", "--runs", str(tmp_path), "--results", str(tmp_path)]
    asked = ["--tasks", "cn", "--variant", "context-frequency", "--variant", "word-distance"]
    outcome = CliRunner().invoke(app, [*arguments, *asked])
    assert outcome.exit_code == 0, outcome.output
    lines = read_results(tmp_path / "table4.jsonl")
    assert [(line["task"], line["variant"]) for line in lines] == [
        ("CN", "context-frequency"),
        ("CN", "word-distance"),
    ]
    assert all(0 < line["peak_memory_mb"] < 10_000 for line in lines)
    for wrong, reason in (
        (["--tasks", "NE,nouns"], "no kind of question 'NOUNS'"),
        (["--variant", "gpt"], "no system 'gpt'"),
        (["--fresh"], "table4 takes"),
        (["--epochs", "3"], "corpus-frequency has nothing to set"),
        (["--variant", "memnn", "--set", "hue=3"], "no setting 'hue'"),
    ):
        outcome = CliRunner().invoke(app, [*arguments, *wrong])
        assert outcome.exit_code == 1
        assert reason in str(outcome.exception)


def test_runs_with_changed_settings_are_other_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_questions(tmp_path / "data" / "cbt" / "data")
    monkeypatch.setenv("ENTNET_DATA", str(tmp_path / "data"))
    asked = ["--tasks", "ne", "--variant", "memnn", "--set", "width=16", "--epochs", "2"]
    arguments = ["reproduce", "table4", "--runs", str(tmp_path), *asked]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    (line,) = read_results(tmp_path / "results" / "table4.jsonl")
    assert line["variant"] == "memnn+epochs=2,width=16"
    assert (line["network"]["width"], line["training"]["epochs"]) == (16, 2)
    assert cbt.report(tmp_path / "results") == {}
    assert "| memnn | NE | epochs=2, width=16 |" in cbt.render_trials(tmp_path / "results")


def test_without_results_there_is_nothing_to_report(tmp_path: Path) -> None:
    assert cbt.report(tmp_path) == {}
    assert cbt.figures(tmp_path) == {}
    assert cbt.render_markdown(tmp_path) == ""
    with pytest.raises(EntNetError, match="no runs"):
        cbt.plot_table4(tmp_path / "chart.png", tmp_path)


def test_an_ensemble_is_the_mean_of_probabilities() -> None:
    first = np.log(np.array([[0.6, 0.4]], dtype=np.float32))
    second = np.log(np.array([[0.1, 0.9]], dtype=np.float32))
    np.testing.assert_allclose(np.exp(ensemble([first, second])), [[0.35, 0.65]], rtol=1e-5)


def test_mistakes_are_told(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EntNetError, match="no system 'gpt'"):
        cbt.reproduce_table4(tmp_path, tmp_path, systems=["gpt"], directory=directory)
    (directory / cbt_file_name("CN", "test")).unlink()
    with pytest.raises(EntNetError, match="CN_test"):
        cbt.reproduce_table4(tmp_path, tmp_path, directory=directory)
    monkeypatch.setenv("ENTNET_DATA", str(tmp_path / "none"))
    monkeypatch.setattr(cbt, "default_directory", lambda: tmp_path / "nowhere")
    with pytest.raises(EntNetError, match="build-cbt"):
        cbt.find_questions()
    with pytest.raises(ConfigError, match="fresh rows"):
        WindowTraining(fresh=0, disguise=0.5)


def test_official_questions_come_before_built_ones(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cbt, "default_directory", lambda: directory)
    monkeypatch.setenv("ENTNET_DATA", str(tmp_path / "data"))
    assert cbt.find_questions() == directory
    official = tmp_path / "data" / "cbt" / "data"
    official.mkdir(parents=True)
    (official / cbt_file_name("NE", "train")).write_text("")
    assert cbt.find_questions() == official
    assert cbt.find_questions(tmp_path) == tmp_path


def test_every_system_has_a_name_of_its_own() -> None:
    assert [system.name for system in SYSTEMS.values()] == list(SYSTEMS)
    assert set(cbt.PAPER) <= set(SYSTEMS)
