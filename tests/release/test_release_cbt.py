"""Networks for the Children's Book Test in the package: the right ones, halved, with true cards."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from cbt_questions import write_questions
from entnet.cli import app
from entnet.data.cbt.build import BuildConfig, build_cbt
from entnet.data.cbt.format import cbt_file_name, read_cbt
from entnet.errors import EntNetError
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import load_preset
from entnet.experiments.results import add_result, read_results
from entnet.experiments.running import run_one
from entnet.models.base import StoryModel
from entnet.release.card import shipped
from entnet.release.cbt import SHIPPED, error_of, release_cbt
from entnet.serve.library import Library
from entnet.tracker import Tracker

SIZE_LIMIT = 10_000_000


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Questions, and two runs on them that learn something."""
    place = write_questions(tmp_path / "data" / "cbt" / "data", ("NE",))
    monkeypatch.setenv("ENTNET_DATA", str(tmp_path / "data"))
    preset = load_preset("table4")
    few = {"epochs": 12, "learning_rate": 0.02, "decay": 1.0, "optimizer": "sgd"}
    for spec in specs_of(preset, tmp_path / "runs", ["NE"], [1, 2], ["entnet-simple"]):
        small = replace(spec, model={"width": 24}, train=few, source={"oov_rows": 4})
        add_result(tmp_path / "results" / "table4.jsonl", run_one(small))
    return place


def ship(tmp_path: Path, directory: Path) -> Any:
    return release_cbt(
        "cbt-ne", tmp_path / "results", tmp_path / "runs", root=tmp_path / "released"
    )


def test_the_best_run_is_released_and_gives_the_error_on_its_card(
    tmp_path: Path, directory: Path
) -> None:
    lines = read_results(tmp_path / "results" / "table4.jsonl")
    best = min(lines, key=lambda line: line["best"]["valid_error"])
    card = ship(tmp_path, directory)
    assert (card.name, card.task, card.seed) == ("cbt-ne", "NE", best["seed"])
    assert card.test_error == pytest.approx(
        best["best"]["test_error"], abs=2.1
    )  # one question of 50
    assert card.epoch == best["best_epoch"]
    file = directory / cbt_file_name("NE", "test")
    released = tmp_path / "released" / "cbt-ne"
    outcome = CliRunner().invoke(
        app, ["evaluate", str(released), str(file), "--json", "--predictions"]
    )
    told = json.loads(outcome.output)
    assert told["error_percent"] == card.test_error
    assert told["accuracy"] == pytest.approx(1 - card.test_error / 100)
    right = [
        got == one.answer for got, one in zip(told["predictions"], read_cbt(file), strict=True)
    ]
    assert sum(right) == told["questions"] - told["errors"]
    assert json.loads((released / "card.json").read_text()) == card.to_dict()
    plain = CliRunner().invoke(app, ["evaluate", str(released), str(file), "--mistakes", "2"])
    assert f"{told['errors']} errors in 50 questions" in plain.output
    assert plain.output.count("right: ") == 2


def test_weights_are_halved_on_disk_alone(tmp_path: Path, directory: Path) -> None:
    card = ship(tmp_path, directory)
    weights = tmp_path / "released" / "cbt-ne" / "model.safetensors"
    assert weights.stat().st_size < 2 * card.parameters + 2000
    network = StoryModel.from_pretrained(weights.parent)
    assert {tensor.dtype for tensor in network.state_dict().values()} == {torch.float32}


def test_a_network_that_does_not_give_its_recorded_accuracy_is_refused(
    tmp_path: Path, directory: Path
) -> None:
    path = tmp_path / "results" / "table4.jsonl"
    lines = [{**line, "best": {**line["best"], "test_error": 99.0}} for line in read_results(path)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(EntNetError, match=r"the results say 99\.00%"):
        ship(tmp_path, directory)
    assert not (tmp_path / "released").exists()


def test_what_is_missing_is_told(tmp_path: Path, directory: Path) -> None:
    assert release_cbt("cbt-cn", tmp_path / "results", tmp_path) is None
    with pytest.raises(EntNetError, match=r"lacks config\.json.*run it again"):
        release_cbt("cbt-ne", tmp_path / "results", tmp_path / "elsewhere")


def test_the_shipped_networks_are_small_and_have_cards() -> None:
    found = {name: (card, size) for name, card, size in shipped() if name in SHIPPED}
    assert set(found) == set(SHIPPED)
    assert sum(size for _, size in found.values()) < SIZE_LIMIT
    for name, (card, _) in found.items():
        assert card is not None
        assert (card.name, card.task) == (name, SHIPPED[name])
        assert StoryModel.from_pretrained(name).parameter_count() == card.parameters
    listed = CliRunner().invoke(app, ["models"]).output
    assert all(name in listed for name in SHIPPED)
    assert "(accuracy" in listed


def test_the_shipped_networks_give_the_errors_on_their_cards(
    official_data: Path, tmp_path: Path
) -> None:
    """On whole test files: official ones, or built here from the books by the rules of training."""
    tagged = official_data / "cbt" / "tagged"
    cards = {name: card for name, card, _ in shipped()}
    assert {name: card.data for name, card in cards.items() if card and name in SHIPPED} == {
        "cbt-ne": "cbt, official",
        "cbt-cn": "cbt, rebuilt",
    }
    build_cbt(tagged, tmp_path, BuildConfig(kinds=("CN",), splits=("test",)), processes=1)
    places = {"cbt-ne": official_data / "cbt" / "questions", "cbt-cn": tmp_path}
    for name, place in places.items():
        card = cards[name]
        assert card is not None
        assert "official" in card.title or "rebuilt" in card.title
        questions = read_cbt(place / cbt_file_name(SHIPPED[name], "test"))
        assert len(questions) == 2500
        assert error_of(StoryModel.from_pretrained(name), questions) == card.test_error


def test_networks_that_need_candidates_are_neither_tracked_nor_served() -> None:
    for name in SHIPPED:
        with pytest.raises(EntNetError, match="takes its keys from the story: 10 words"):
            Tracker.from_pretrained(name)
        with pytest.raises(EntNetError, match=f"{name} cannot be served"):
            Library([name])
    assert not set(SHIPPED) & set(Library().names)
