"""Networks put into the package: the right ones, with true cards."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from entnet.cli import app
from entnet.data.sources import require_babi
from entnet.data.splits import task_stories
from entnet.errors import EntNetError
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import Preset
from entnet.experiments.results import add_result, results_path
from entnet.experiments.running import run_one
from entnet.inspection.places import measure_places
from entnet.models import EntNet
from entnet.models.base import pretrained_root
from entnet.release.babi import Wanted, candidates, release, run_directory, wanted
from entnet.release.card import shipped


@pytest.fixture
def lines(small: Preset, tmp_path: Path, data_root: Path) -> list[dict[str, Any]]:
    """Two seeds of tasks 1 and 2 as runs of auto-10k."""
    (variant,) = small.variants
    preset = replace(small, name="auto-10k", variants=(replace(variant, name="auto"),))
    made = [run_one(s) for s in specs_of(preset, tmp_path / "runs", [1, 2], data_root=data_root)]
    for line in made:
        add_result(results_path(tmp_path / "results", "auto-10k"), line)
    return made


def release_task(tmp_path: Path, data_root: Path, task: int = 1) -> Any:
    want = Wanted(f"babi-qa{task}", "small", task, ("auto-10k",))
    return release(want, tmp_path / "results", tmp_path / "runs", data_root, tmp_path / "released")


def test_the_released_network_is_the_chosen_one_and_gives_the_error_on_its_card(
    lines: list[dict[str, Any]], tmp_path: Path, data_root: Path
) -> None:
    card = release_task(tmp_path, data_root)
    runs = [line for line in lines if line["task"] == 1]
    chosen = min(runs, key=lambda line: (line["best"]["valid_error"], line["best"]["valid_loss"]))
    assert (card.seed, card.test_error) == (chosen["seed"], chosen["best"]["test_error"])
    file = require_babi("en-10k", 1, "test", data_root)
    outcome = CliRunner().invoke(
        app, ["evaluate", str(tmp_path / "released" / "babi-qa1"), str(file), "--json"]
    )
    assert json.loads(outcome.output)["error_percent"] == card.test_error
    written = json.loads((tmp_path / "released" / "babi-qa1" / "card.json").read_text())
    assert written == card.to_dict()


def test_the_network_to_look_into_is_chosen_by_its_slots(
    small: Preset, tmp_path: Path, data_root: Path
) -> None:
    preset = replace(small, name="table3", tied=True)
    made = [run_one(s) for s in specs_of(preset, tmp_path / "runs", [2], data_root=data_root)]
    for line in made:
        add_result(results_path(tmp_path / "results", "table3"), line)
    want = Wanted("babi-qa2-tied", "small", 2, ("table3",), by_places=True)
    assert not candidates(replace(want, variants=("another",)), tmp_path / "results")
    card = release(want, tmp_path / "results", tmp_path / "runs", data_root, tmp_path / "released")
    valid = task_stories(small.data, 2, 0.1, data_root).valid
    shares = {
        line["seed"]: measure_places(
            EntNet.from_pretrained(run_directory(tmp_path / "runs", line) / "model"), valid
        ).share
        for line in made
    }
    assert card is not None
    assert shares[card.seed] == max(shares.values()) > min(shares.values())


def test_nothing_is_released_without_a_finished_run(tmp_path: Path, data_root: Path) -> None:
    assert release_task(tmp_path, data_root, 7) is None


def test_a_network_that_does_not_give_its_recorded_error_is_refused(
    lines: list[dict[str, Any]], tmp_path: Path, data_root: Path
) -> None:
    path = results_path(tmp_path / "results", "auto-10k")
    text = "".join(
        json.dumps({**line, "best": {**line["best"], "test_error": 12.5}}) + "\n" for line in lines
    )
    path.write_text(text)
    with pytest.raises(EntNetError, match=r"the results say 12\.5%"):
        release_task(tmp_path, data_root)
    assert not (tmp_path / "released").exists()


def test_a_run_directory_that_is_gone_is_named(
    lines: list[dict[str, Any]], tmp_path: Path, data_root: Path
) -> None:
    for seed in (1, 2):
        (tmp_path / f"runs/auto-10k/qa1/auto/seed{seed}/model/vocab.json").unlink()
    with pytest.raises(EntNetError, match=r"babi-qa1: .*lacks vocab\.json.*run it again"):
        release_task(tmp_path, data_root)


def test_what_is_wanted_is_every_task_a_tied_network_and_a_joint_one() -> None:
    names = [want.name for want in wanted()]
    several = ["babi-qa2-tied", "world", "babi-joint"]
    assert names == [*(f"babi-qa{t}" for t in range(1, 21)), *several]
    assert [want.name for want in wanted() if want.by_places] == ["babi-qa2-tied"]


def test_shipped_networks_load_and_have_cards() -> None:
    known = {want.name for want in wanted()}
    total = 0
    for name, card, size in shipped():
        if name in known:
            total += size
            assert card is not None
            assert card.name == name
            network = EntNet.from_pretrained(name)
            assert network.parameter_count() == card.parameters
    assert total < 12_000_000


def test_shipped_networks_give_the_error_on_their_cards(official_data: Path) -> None:
    """One of them here, through the command line; `entnet models release` checks all."""
    cards = {
        name: card
        for name, card, _ in shipped()
        if card and isinstance(card.task, int) and card.task
    }
    for name in list(cards)[:1]:
        file = require_babi(cards[name].data, cards[name].task, "test", official_data)
        outcome = CliRunner().invoke(app, ["evaluate", name, str(file), "--json"])
        assert json.loads(outcome.output)["error_percent"] == cards[name].test_error


def test_models_are_listed(lines: list[dict[str, Any]], tmp_path: Path, data_root: Path) -> None:
    arguments = ["models", "release", "--results", str(tmp_path / "results")]
    arguments += ["--runs", str(tmp_path / "runs"), "--data", str(data_root)]
    outcome = CliRunner().invoke(app, [*arguments, "--into", str(tmp_path / "released")])
    assert outcome.exit_code == 0, outcome.output
    assert {path.name for path in (tmp_path / "released").iterdir()} == {"babi-qa1", "babi-qa2"}
    listed = json.loads(CliRunner().invoke(app, ["models", "--json"]).output)
    names = {model["name"] for model in listed["models"]}
    assert names == {path.parent.name for path in pretrained_root().glob("*/config.json")}


def test_some_networks_can_be_released_alone(
    lines: list[dict[str, Any]], tmp_path: Path, data_root: Path
) -> None:
    options = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs")]
    options += ["--data", str(data_root), "--into", str(tmp_path / "released")]
    outcome = CliRunner().invoke(app, ["models", "pack", "babi-qa2", "cbt-ne", *options])
    assert outcome.exit_code == 0, outcome.output
    assert [path.name for path in (tmp_path / "released").iterdir()] == ["babi-qa2"]
    outcome = CliRunner().invoke(app, ["models", "pack", "babi-qa21", *options])
    assert outcome.exit_code == 1
    assert "no network 'babi-qa21'" in str(outcome.exception)
