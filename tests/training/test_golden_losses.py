"""Training does what it did when the published numbers were made."""

from __future__ import annotations

import pytest

from golden_runs import FOLDER, RUNS, golden


@pytest.mark.parametrize("name", RUNS)
def test_a_tiny_run_gives_the_losses_that_were_kept(name: str) -> None:
    losses, kept = RUNS[name](), golden(name)
    assert losses.keys() == kept.keys()
    for key, values in losses.items():
        # Processors differ in the last digits, and updates make more of it.
        assert values == pytest.approx(kept[key], rel=1e-5, abs=1e-7), key


def test_every_kept_file_has_its_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(RUNS)


def test_engines_and_settings_give_runs_of_their_own() -> None:
    assert golden("babi-story-reference")["train_loss"] == pytest.approx(
        golden("babi-story-native")["train_loss"], rel=1e-4
    )
    runs = {
        str(golden(f"babi-{name}-native")) for name in ("story", "question", "exchange", "begin")
    }
    assert len(runs) == 4
