"""What several tests share."""

from __future__ import annotations

import fcntl
import functools
import os
from pathlib import Path

import pytest
import torch
import typer.main
import typer.testing
from hypothesis import settings

from entnet import Question, Story
from small_networks import train_all

ROOT = Path(__file__).parent.parent

# No test leaves this machine: nobody answers at the address of the Hugging Face hub.
os.environ |= {
    "HF_ENDPOINT": "http://127.0.0.1:9",
    "HF_HUB_OFFLINE": "0",
    "HF_HUB_DISABLE_XET": "1",
}

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# The tree of commands takes longer to build than most of them take to run.
typer.main.get_command = typer.testing._get_command = functools.cache(typer.main.get_command)  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Tests run side by side; each keeps to one core."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def official_data() -> Path:
    """The directory with the official data sets, where they are present."""
    root = Path(os.environ.get("ENTNET_DATA", ROOT.parent / "shared" / "data"))
    if not (root / "babi").is_dir():
        pytest.skip("the official data is not here; ENTNET_DATA says where to look")
    return root


@pytest.fixture
def stories() -> list[Story]:
    """Three short stories of different lengths, several questions each."""
    return [
        Story(
            ("Mary went to the garden.", "John got the milk.", "John went to the kitchen."),
            (
                Question(1, "Where is Mary?", "garden", (0,)),
                Question(3, "Where is the milk?", "kitchen", (1, 2)),
                Question(3, "Where is Mary?", "garden", (0,)),
            ),
        ),
        Story(("John went to the garden.",), (Question(1, "Where is John?", "garden", (0,)),)),
        Story(
            ("Mary got the milk.", "Mary went to the kitchen.", "John went to the garden."),
            (
                Question(2, "Where is the milk?", "kitchen", (0, 1)),
                Question(3, "Where is John?", "garden", (2,)),
            ),
        ),
    ]


@pytest.fixture(scope="session")
def walking_networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two small trained networks on disk, made once for all processes that run tests."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own) / "networks"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        torch.set_num_threads(1)
        return train_all(shared)
