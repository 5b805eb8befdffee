"""ProPara on the command line: evaluate, inspect and reproduce."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from entnet import EntNetError
from entnet.cli import app
from entnet.config import TrainConfig
from entnet.data.babi import read_babi
from entnet.data.propara.encode import build_vocab
from entnet.data.propara.files import read_actions, write_predictions
from entnet.data.propara.process import Process
from entnet.experiments.results import read_results
from entnet.models.processes.tracker import ProcessTracker, TrackerConfig
from entnet.tasks.propara import scores
from entnet.training.setup import prepare
from propara_paragraphs import paragraphs

PROCESSES = paragraphs(6)


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def tracker() -> ProcessTracker:
    torch.manual_seed(3)
    vocab = build_vocab(PROCESSES)
    config = TrackerConfig(vocabulary=len(vocab), width=16, embedding_width=16, units=16)
    return ProcessTracker(config, vocab).eval()


@pytest.fixture(scope="module")
def model(tracker: ProcessTracker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tracker")
    tracker.save_pretrained(directory)
    return directory


@pytest.fixture
def grids(tmp_path: Path) -> Path:
    path = tmp_path / "grids.json"
    path.write_text("".join(json.dumps(grid_of(one)) + "\n" for one in PROCESSES))
    return path


def grid_of(process: Process) -> dict[str, Any]:
    return {
        "para_id": process.name,
        "sentence_texts": process.sentences,
        "participants": process.participants,
        "states": process.states,
    }


def test_evaluate_prints_both_scores_and_writes_predictions(
    tracker: ProcessTracker, model: Path, grids: Path, tmp_path: Path
) -> None:
    out = tmp_path / "mine.tsv"
    result = run("evaluate", model, grids, "--propara", "--out", out, "--json")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    wanted = scores(tracker, PROCESSES)
    assert {key: printed[key] for key in wanted} == wanted
    predicted = tracker.predict_processes(PROCESSES)
    assert [one.states for one in read_actions(out)] == [one.states for one in predicted]
    shown = run("evaluate", model, grids, "--propara", "--out", out)
    assert f"{wanted['document']['f1']:.3f}" in shown.stdout
    assert f"{wanted['sentence']['macro']:.2f}" in shown.stdout


def test_evaluate_takes_a_file_of_predictions(grids: Path, tmp_path: Path) -> None:
    write_predictions(tmp_path / "gold.tsv", PROCESSES)
    result = run("evaluate", tmp_path / "gold.tsv", grids, "--propara", "--json")
    printed = json.loads(result.stdout)
    assert printed["document"]["f1"] == 1.0
    assert "predictions" not in printed
    # A table of answers is enough, without its sentences.
    again = run("evaluate", tmp_path / "gold.tsv", tmp_path / "gold.tsv", "--propara", "--json")
    assert json.loads(again.stdout) == printed


def test_evaluate_refuses_what_does_not_fit(
    grids: Path, tmp_path: Path, walking_networks: dict[str, Path]
) -> None:
    write_predictions(tmp_path / "some.tsv", PROCESSES[:-1])
    result = run("evaluate", tmp_path / "some.tsv", grids, "--propara")
    assert result.exit_code != 0
    assert "processes missing: 5" in str(result.exception)
    network = next(iter(walking_networks.values()))
    assert "does not read processes" in str(run("evaluate", network, grids, "--propara").exception)


def test_inspect_shows_predicted_beside_gold(
    tracker: ProcessTracker, model: Path, grids: Path, tmp_path: Path
) -> None:
    result = run("inspect", model, grids, "--number", 2, "--json")
    printed = json.loads(result.stdout)
    (predicted,) = tracker.predict_processes([PROCESSES[1]])
    assert printed["predicted"] == [list(row) for row in predicted.states]
    assert printed["gold"] == [list(row) for row in PROCESSES[1].states]
    page, picture = tmp_path / "grid.html", tmp_path / "grid.svg"
    result = run("inspect", model, grids, "--number", 2, "--html", page, "--plot", picture)
    assert "of the states are right" in result.stdout
    for participant in PROCESSES[1].participants:
        assert participant in result.stdout
        assert f'<th scope="col">{participant}</th>' in page.read_text()
        assert participant in picture.read_text()


def test_inspect_has_an_example_and_reads_texts_of_one_s_own(model: Path, tmp_path: Path) -> None:
    shown = json.loads(run("inspect", model, "--json").stdout)
    assert "droplets" in shown["participants"]
    text = tmp_path / "tea.txt"
    text.write_text("The water flows into the lake. The salt is <b>destroyed</b>.")
    page = tmp_path / "tea.html"
    own = run("inspect", model, text, "--participant", "water", "--json", "--html", page)
    printed = json.loads(own.stdout)
    assert (printed["participants"], printed["gold"]) == (["water"], None)
    assert len(printed["predicted"][0]) == 3
    assert "<b>" not in page.read_text().partition("<tbody>")[2]
    assert "--participant" in str(run("inspect", model, text).exception)


def test_inspect_refuses_a_paragraph_that_is_not_there(model: Path, grids: Path) -> None:
    result = run("inspect", model, grids, "--number", 7)
    assert result.exit_code != 0
    assert "has 6 paragraphs" in str(result.exception)


def test_vectors_make_a_run_of_its_own(tmp_path: Path, grids: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("water 1 2\n")
    changes = ("epochs=1", "generated=0", "generated_epochs=0", "width=2", "embedding_width=2")
    command = [
        *("reproduce", "propara", "--vectors", path, "--variant", "ours", "--seeds", "1"),
        *("--data", tmp_path / "data", "--runs", tmp_path / "runs", "--jobs", "1"),
        *(part for change in changes for part in ("--set", change)),
    ]
    result = run(*command)
    assert "entnet data download propara" in str(result.exception)
    assert not (tmp_path / "runs").exists()
    (tmp_path / "data" / "propara").mkdir(parents=True)
    for part in ("train", "dev", "test"):
        (tmp_path / "data" / "propara" / f"grids.v1.{part}.json").write_bytes(grids.read_bytes())
    result = run(*command)
    assert result.exit_code == 0, result.stdout + result.stderr + str(result.exception)
    (line,) = read_results(tmp_path / "runs" / "results" / "propara.jsonl")
    assert line["variant"].startswith("ours+")
    assert line["source"]["vectors"] == str(path)


def test_processes_are_not_stories(model: Path, tmp_path: Path) -> None:
    stories = tmp_path / "stories.txt"
    stories.write_text("1 Mary went to the garden.\n2 Where is Mary?\tgarden\t1\n" * 4)
    assert "add --propara" in str(run("evaluate", model, stories).exception)
    some = read_babi(stories)
    with pytest.raises(EntNetError, match="reads processes, not stories"):
        prepare(some, some, None, TrainConfig(), "process-entnet")
