"""Copy and repeat-copy: what is asked for, and whether a machine learns it and its way can be seen."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from entnet.cli import app
from entnet.errors import EntNetError
from entnet.models.copying import (
    Copier,
    CopierConfig,
    addressing_of,
    copy_batch,
    copy_error,
    find_copier,
)

MACHINES = {
    "ntm": CopierConfig(memory="ntm"),
    "dnc": CopierConfig(memory="dnc", masking=True, deallocation=True),
}


def test_what_was_shown_is_due_after_the_mark_as_often_as_told() -> None:
    config = CopierConfig(bits=3, most_repeats=4)
    batch = copy_batch(config, 5, length=2, repeats=2, dice=torch.Generator().manual_seed(1))
    inputs, due = batch.inputs, batch.due
    assert inputs.shape == (7, 5, 5)
    assert (due[:3] == -1).all()
    for place in (3, 5):
        assert torch.equal(due[place : place + 2], inputs[:2, :, :3])
    assert inputs[2, :, 3].tolist() == [1.0] * 5
    assert inputs[2, :, 4].tolist() == [0.5] * 5
    assert not inputs[3:].any()
    assert batch.questions == 4 * 5 * 3


@pytest.mark.parametrize("name", MACHINES)
def test_a_copier_comes_back_from_its_files(name: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = Copier(MACHINES[name])
    model.save_pretrained(tmp_path / "model")
    assert find_copier(str(tmp_path)) == tmp_path / "model"
    again = Copier.from_pretrained(tmp_path / "model")
    assert again.config == model.config
    assert copy_error(again, 3) == copy_error(model, 3)
    batch = copy_batch(model.config, 2, 3, 1, torch.Generator().manual_seed(1))
    torch.testing.assert_close(again(batch), model(batch))
    weights = addressing_of(again, batch.inputs)
    assert weights.shape == (7, 2, 16)
    assert (weights.sum(2) <= 1 + 1e-5).all()


def test_other_directories_hold_no_copier(tmp_path: Path) -> None:
    assert find_copier(str(tmp_path)) is None
    (tmp_path / "config.json").write_text('{"kind": "entnet"}')
    assert find_copier(str(tmp_path)) is None
    with pytest.raises(EntNetError, match="no copier"):
        Copier.from_pretrained(tmp_path)


@pytest.mark.parametrize("field", ["units", "slots", "bits", "most_repeats"])
def test_impossible_values_are_refused(field: str) -> None:
    with pytest.raises(EntNetError, match=field):
        CopierConfig.from_dict({field: 0})


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["ntm", "dnc"])
def test_the_preset_learns_to_copy_longer_sequences_than_it_trains_on(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command that a user would give; then the picture."""
    monkeypatch.chdir(tmp_path)
    wanted = ["copy", "--variant", variant, "--seeds", "1", "--jobs", "1", "--results", "results"]
    assert CliRunner().invoke(app, ["reproduce", *wanted]).exit_code == 0
    (run,) = (tmp_path / "runs").rglob("result.json")
    model = Copier.from_pretrained(run.parent / "model")
    wrong, asked = copy_error(model, 10)
    assert wrong / asked < 0.01
    wrong, asked = copy_error(model, 15)
    assert wrong / asked < 0.1
    picture = tmp_path / "heads.png"
    shown = CliRunner().invoke(app, ["inspect", str(run.parent), "--plot", str(picture)])
    assert shown.exit_code == 0, shown.output
    assert "wrong bits" in shown.output
    assert picture.read_bytes()[1:4] == b"PNG"
