"""The probe finds what is in the slots, and the pictures show what is true and what is read."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from entnet.cli import app
from entnet.config import EntNetConfig, TrainConfig
from entnet.data.gridworld import Asking, GridWorld, grid_stream
from entnet.errors import EntNetError
from entnet.inspection.gridworld import (
    follow,
    probe_markdown,
    probe_slots,
    slot_states,
    walk_html,
    write_gif,
)
from entnet.models import EntNet
from entnet.training.engine import choose_engine

WORLD = GridWorld(width=3, height=3, agents=1)


def build(world: GridWorld, width: int = 12, slots: int = 3) -> EntNet:
    torch.manual_seed(0)
    config = EntNetConfig(
        vocabulary=len(world.vocab), sentence_length=4, width=width, slots=slots, memory_limit=None
    )
    return EntNet(config, world.vocab)


@pytest.fixture(scope="module")
def trained() -> EntNet:
    """A network that tracks one agent on a small grid."""
    torch.set_num_threads(1)
    model = build(WORLD)
    engine = choose_engine(model, TrainConfig(loss="mean"))
    stream = grid_stream(WORLD, 0, stories=32, lengths=(6, 6), asking=Asking(2))
    for number, batch in enumerate(islice(stream, 2500)):
        engine.step(batch, 0.01 * 0.5 ** (number // 500))
    return model.eval()


def test_slot_states_are_the_states_of_reading_one_by_one(trained: EntNet) -> None:
    stories = WORLD.simulate(np.random.default_rng(1), 3, 5)
    states = slot_states(trained, torch.from_numpy(stories.words))
    state = trained.initial_state()
    with torch.no_grad():
        for step, sentence in enumerate(torch.from_numpy(stories.words[1])):
            state, _ = trained.step(state, sentence.unsqueeze(0))
            torch.testing.assert_close(states[1, step], state.memory[0])


def test_the_probe_finds_the_agent_in_a_trained_network_and_not_in_a_fresh_one(
    trained: EntNet,
) -> None:
    found = probe_slots(trained, WORLD, length=6, stories=600)
    missed = probe_slots(build(WORLD), WORLD, length=6, stories=600)
    assert found.together[0] > 0.8
    assert found.together[0] > missed.together[0] + 0.2
    assert found.by_slot.shape == (3, 1)
    assert found.by_slot.max() <= found.together[0] + 0.05
    assert "| all |" in probe_markdown(found)


def test_a_walk_shows_the_truth_and_what_the_network_says(trained: EntNet) -> None:
    stories = WORLD.simulate(np.random.default_rng(5), 40, 6)
    walks = [follow(trained, WORLD, stories, number) for number in range(40)]
    agree = np.mean([(walk.true == walk.read).mean() for walk in walks])
    assert agree > 0.9
    assert walks[0].sentences == WORLD.describe(stories)[0].sentences
    assert (walks[0].true == stories.fields[0]).all()
    assert walks[0].gates.shape == (6, 3)


def test_the_page_has_a_picture_for_every_sentence(trained: EntNet) -> None:
    walk = follow(trained, WORLD, WORLD.simulate(np.random.default_rng(2), 1, 6))
    page = walk_html(walk)
    assert page.count("<svg") == 6
    assert all(sentence in page for sentence in walk.sentences)
    assert "http" not in page


def test_the_animation_has_a_frame_for_every_sentence(trained: EntNet, tmp_path: Path) -> None:
    from PIL import Image

    walk = follow(trained, WORLD, WORLD.simulate(np.random.default_rng(2), 1, 4))
    write_gif(walk, tmp_path / "walk.gif")
    with Image.open(tmp_path / "walk.gif") as animation:
        assert getattr(animation, "n_frames", 1) == 4


def test_from_the_command_line(tmp_path: Path) -> None:
    build(GridWorld(), width=4, slots=2).save_pretrained(tmp_path / "net")
    picture = tmp_path / "a" / "walk.html"
    shown = CliRunner().invoke(
        app, ["inspect", str(tmp_path / "net"), "--probe", "--grid", str(picture)]
    )
    assert shown.exit_code == 0, shown.exception
    assert "| slot | agent1 | agent2 |" in shown.output
    assert picture.read_text().count("<svg") == 20
    build(WORLD).save_pretrained(tmp_path / "other")
    refused = CliRunner().invoke(app, ["inspect", str(tmp_path / "other"), "--probe"])
    with pytest.raises(EntNetError, match="not an EntNet trained on the 10 × 10 grid"):
        raise refused.exception or AssertionError("it was not refused")
