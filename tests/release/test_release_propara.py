"""The network that reads processes in the package: the chosen one, with the scores on its card."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from entnet import EntNetError, Tracker
from entnet.cli import app
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import load_preset
from entnet.hub import NEEDED
from entnet.models.base import pretrained_root
from entnet.release.card import Card
from entnet.release.propara import NAME, release_propara

RESULTS = Path(__file__).parents[2] / "results"
SHIPPED = pretrained_root() / NAME


def test_it_has_the_f1_on_its_card(official_data: Path, tmp_path: Path) -> None:
    card = Card.read(SHIPPED / "card.json")
    file = official_data / "propara" / "grids.v1.dev.json"
    arguments = ["evaluate", NAME, str(file), "--propara", "--json"]
    told = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "predictions.tsv")])
    scored = json.loads(told.output)
    assert scored["document"]["f1"] == pytest.approx(1 - card.validation_error / 100)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The run that was released, its network as it is in the package."""
    card = Card.read(SHIPPED / "card.json")
    (spec,) = specs_of(
        load_preset("propara"), tmp_path / "runs", seeds=[card.seed], variants=[card.variant]
    )
    model = Path(spec.directory) / "model"
    model.mkdir(parents=True)
    for file in NEEDED:
        shutil.copy(SHIPPED / file, model / file)
    return tmp_path / "runs"


def test_the_best_on_development_is_released(
    official_data: Path, tmp_path: Path, runs: Path
) -> None:
    card = release_propara(RESULTS, runs, official_data, tmp_path / "released")
    assert card == Card.read(SHIPPED / "card.json")
    assert Card.read(tmp_path / "released" / NAME / "card.json") == card
    lines = [json.loads(line) for line in (RESULTS / "propara.jsonl").read_text().splitlines()]
    for line in lines:
        line["best"]["valid"]["document"]["precision"] += 0.01
    told = tmp_path / "results"
    told.mkdir()
    (told / "propara.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(EntNetError, match="scores otherwise"):
        release_propara(told, runs, official_data, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_nothing_to_release(tmp_path: Path, runs: Path, official_data: Path) -> None:
    assert release_propara(tmp_path, runs, official_data, tmp_path / "released") is None
    with pytest.raises(EntNetError, match="run it again"):
        release_propara(RESULTS, tmp_path / "elsewhere", official_data, tmp_path / "released")


def test_it_is_no_tracker_of_stories() -> None:
    with pytest.raises(EntNetError, match="whole paragraphs"):
        Tracker.from_pretrained(NAME)
