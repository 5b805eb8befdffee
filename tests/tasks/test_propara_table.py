"""ProPara's runs: from paragraphs to scores, and what the report makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

import entnet.tasks.propara as table
from entnet import EntNetError
from entnet.config import ConfigError, TrainConfig
from entnet.data.propara.files import read_grids
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import load_preset
from entnet.experiments.results import add_result
from entnet.models import StoryModel
from entnet.models.processes.base import ProcessModel
from entnet.report.propara import PARTS, ablation, details, figures, pages, summary_rows
from entnet.tasks.propara import (
    ChooseBy,
    ProcessSource,
    ProcessTask,
    ProparaOptions,
    grids_path,
    propara_trainer,
    scores,
)
from entnet.training.trainer import TrainingScore
from propara_paragraphs import paragraphs

DATA = {"train": paragraphs(24), "dev": paragraphs(6, seed=2), "test": paragraphs(6, seed=3)}
CONFIG = TrainConfig.from_dict(
    {
        "epochs": 6,
        "loss": "mean",
        "batch_size": 4,
        "learning_rate": 0.01,
        "schedule": "linear",
        "weight_average": 0.8,
        "checkpoint": "last",
    }
)
SMALL = {"width": 24, "embedding_width": 24, "units": 24}


def train(directory: Path, **changes: Any) -> dict[str, Any]:
    options = ProparaOptions.from_dict({"generated": 8, "generated_epochs": 1, **changes})
    parts = DATA if options.test else {part: DATA[part] for part in ("train", "dev")}
    return propara_trainer(directory, "process-tracker", SMALL, options, CONFIG, parts).train()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    directory = tmp_path_factory.mktemp("run")
    return directory, train(directory)


def test_a_run_learns_and_has_both_scores(run: tuple[Path, dict[str, Any]]) -> None:
    directory, line = run
    best = line["best"]
    assert best["test"]["document"]["f1"] > 0.5
    assert best["valid_error"] == pytest.approx(100 * (1 - best["valid"]["document"]["f1"]))
    metrics = [json.loads(row) for row in (directory / "metrics.jsonl").read_text().splitlines()]
    assert metrics[-1]["train_loss"] < metrics[1]["train_loss"]


def test_the_network_on_disk_has_the_run_s_scores(run: tuple[Path, dict[str, Any]]) -> None:
    """What training knows of places is kept with the weights."""
    directory, line = run
    model = StoryModel.from_pretrained(directory / "model")
    assert isinstance(model, ProcessModel)
    assert scores(model, DATA["test"]) == line["best"]["test"]
    assert model.places.seen


def test_trials_leave_the_test_paragraphs_alone(tmp_path: Path) -> None:
    line = train(tmp_path, test=False, generated=0, generated_epochs=0)
    assert "test" not in line["best"]
    assert "valid" in line["best"]


def test_networks_are_chosen_by_f1_or_by_both_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the epochs, the one with the best figure on development is kept."""
    development = [(0.5, 20.0), (0.6, 30.0), (0.55, 36.0), (0.55, 35.0)]
    found = [{"document": {"f1": f1}, "sentence": {"macro": macro}} for f1, macro in development]
    kept = {}
    for choose_by in get_args(ChooseBy):
        task = ProcessTask(None, {"dev": []}, CONFIG, choose_by)  # type: ignore[arg-type]
        results = iter(found)
        monkeypatch.setattr(table, "scores", lambda *_, results=results: next(results))
        seen = TrainingScore(0.0, 0.0, 0, True)
        for epoch in range(1, len(found) + 1):
            task.validate(None, epoch, seen)  # type: ignore[arg-type]
        kept[choose_by] = task.progress.best_epoch
    assert kept == {"f1": 2, "both": 3}


def test_a_killed_run_goes_on(tmp_path: Path, run: tuple[Path, dict[str, Any]]) -> None:
    options = ProparaOptions.from_dict({"generated": 8, "generated_epochs": 1})
    trainer = propara_trainer(
        tmp_path, "process-tracker", SMALL, options, CONFIG, DATA, checkpoint_seconds=0.0
    )
    whole = trainer.task.validate
    seen = []

    def stop(*given: Any) -> Any:
        seen.append(given[1])
        if len(seen) == 4:
            raise KeyboardInterrupt
        return whole(*given)

    trainer.task.validate = stop  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    line = train(tmp_path)
    assert line["best"] == run[1]["best"]


def test_batches_are_the_same_whenever_they_are_asked_for() -> None:
    source = ProcessSource(
        range(10), range(6), ProparaOptions(generated=6, generated_epochs=1), CONFIG
    )  # type: ignore[arg-type]
    assert [source.epoch(n).count for n in (1, 2, 3)] == [1, 3, 3]


def test_vectors_are_what_embeddings_begin_with(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("6 24\nWater " + " 0.5" * 23 + " 1\nnowhere" + " 1" * 24)
    path.write_text(path.read_text().replace("Water  ", "Water "))
    options = ProparaOptions(vectors=str(path))
    trainer = propara_trainer(tmp_path / "run", "process-tracker", SMALL, options, CONFIG, DATA)
    model = trainer.model
    assert isinstance(model, ProcessModel)
    assert "nowher" not in model.vocab
    assert model.embedding[model.vocab.index["water"]].tolist() == [0.5] * 23 + [1.0]
    assert model.embedding[0].tolist() == [0.0] * 24
    with pytest.raises(EntNetError, match="the vectors have 24 numbers each"):
        propara_trainer(tmp_path / "wide", "process-tracker", {}, options, CONFIG, DATA)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("water 1 2\nocean 1", "line 2: a word and 2 numbers expected"),
        ("water 1 two", "line 1: not a number"),
        ("wine 1 2", "has no vector of any word"),
    ],
)
def test_broken_vectors_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    with pytest.raises(EntNetError, match=reason):
        propara_trainer(
            tmp_path / "run",
            "process-tracker",
            SMALL,
            ProparaOptions(vectors=str(path)),
            CONFIG,
            DATA,
        )


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="go together"):
        ProparaOptions(generated=5)
    with pytest.raises(EntNetError, match="entnet data download propara"):
        grids_path("dev", tmp_path)
    with pytest.raises(EntNetError, match="lstm does not read processes"):
        propara_trainer(tmp_path, "lstm", {}, ProparaOptions(), CONFIG, DATA)


def test_the_preset_has_every_system_with_five_seeds(tmp_path: Path) -> None:
    preset = load_preset("propara")
    assert [variant.name for variant in preset.variants] == ["entnet", "lstm", "qrn", "ours"]
    assert len(specs_of(preset, tmp_path)) == 20


def test_official_paragraphs_are_found(official_data: Path) -> None:
    assert len(read_grids(grids_path("dev", official_data))) == 43


def result(system: str, seed: int, f1: float) -> dict[str, Any]:
    sentence = dict.fromkeys(("cat1", "cat2", "cat3", "macro", "micro"), 20.0 + seed)
    score = {"document": {"precision": 0.6, "recall": 0.4, "f1": f1}, "sentence": sentence}
    best = {"test": score, "valid": score, "test_error": 1.0, "valid_error": 1.0}
    about = {"schema": 2, "table": "propara", "task": "grids", "variant": system, "seed": seed}
    return {**about, "kind": f"process-{system}", "best": best, "last": best, "cpu_seconds": 12.0}


def test_the_report_has_means_over_seeds(tmp_path: Path) -> None:
    assert (figures(tmp_path), pages(tmp_path), summary_rows(tmp_path)) == ({}, [], [])
    for system, seed, f1 in (("entnet", 1, 0.4), ("entnet", 2, 0.5), ("ours", 1, 0.6)):
        add_result(tmp_path / "propara.jsonl", result(system, seed, f1))
    found = figures(tmp_path)["propara"]
    assert found["entnet"] == {"f1": 0.45, "macro": 21.5}
    assert found["ours"] == {"f1": 0.6, "macro": 21.0}
    assert details(tmp_path)["entnet"]["seeds"] == 2
    (page,) = pages(tmp_path)
    assert "45.0 ± 7.1" in page.body
    assert "What each part" not in page.body
    assert "39.4" in page.body
    assert page.runs.count("EntNet") == 2
    assert summary_rows(tmp_path)[0][1:] == ["45.0 ± 7.1", "–", "39.4"]


def test_the_report_says_what_each_part_brings(tmp_path: Path) -> None:
    """On development, beside ours with the same seeds; trials have no test scores."""
    for system, seed, f1 in (("ours", 1, 0.6), ("ours", 2, 0.7), ("one-way", 1, 0.55)):
        line = result(system, seed, f1)
        if system != "ours":
            line["best"] = {"valid": line["best"]["valid"], "valid_error": 1.0}
        add_result(tmp_path / "propara.jsonl", line)
    assert [row[1:] for row in ablation(tmp_path)] == [
        ["65.0 ± 7.1", "–", "21.5 ± 0.7", "–", "2"],
        ["55.0 ± 0.0", "-5.0", "21.0 ± 0.0", "+0.0", "1"],
    ]
    (page,) = pages(tmp_path)
    assert "What each part of ours brings" in page.body
    assert "| one-way | 1 | 55.0 | 21.0 | – | – |" in page.runs


def test_every_trial_is_in_the_report() -> None:
    assert [variant.name for variant in load_preset("propara").trials] == list(PARTS)
