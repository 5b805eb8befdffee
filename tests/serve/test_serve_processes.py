"""The service's verbs about processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient

from entnet import StoryModel
from entnet.data.propara.encode import build_vocab
from entnet.inspection.processes import EXAMPLE, cells
from entnet.models.processes.base import ProcessModel
from entnet.models.processes.tracker import ProcessTracker, TrackerConfig
from entnet.serve.app import create_app
from entnet.serve.library import Library
from entnet.serve.processes import MAX_CHARACTERS, MAX_PARTICIPANTS, MAX_SENTENCES
from propara_paragraphs import paragraphs

TEXT = "The water flows into the lake. The salt is destroyed."


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(3)
    vocab = build_vocab([*paragraphs(6), EXAMPLE], at_least=1)
    config = TrackerConfig(vocabulary=len(vocab), width=16, embedding_width=16, units=16)
    directory = tmp_path_factory.mktemp("networks") / "reader"
    ProcessTracker(config, vocab).save_pretrained(directory)
    return directory


@pytest.fixture(scope="module")
def client(reader: Path, sources: list[str]) -> TestClient:
    return TestClient(create_app([*sources, str(reader)]), raise_server_exceptions=False)


def post(client: TestClient, **changes: Any) -> Any:
    return client.post("/processes", json={"text": TEXT, "participants": ["water"], **changes})


def test_networks_on_processes_are_listed_apart(client: TestClient, reader: Path) -> None:
    found = client.get("/processes").json()
    assert [one["name"] for one in found["models"]] == ["reader"]
    assert found["examples"][0]["participants"] == list(EXAMPLE.participants)
    assert "reader" not in [one["name"] for one in client.get("/models").json()["models"]]
    assert client.post("/sessions", json={"model": "reader"}).status_code == 404


def test_the_grid_is_what_the_network_predicts(client: TestClient, reader: Path) -> None:
    network = StoryModel.from_pretrained(reader)
    assert isinstance(network, ProcessModel)
    (predicted,) = network.predict_processes([EXAMPLE])
    text = "\n".join(EXAMPLE.sentences)
    grid = post(client, text=text, participants=EXAMPLE.participants, model="reader").json()
    assert grid["states"] == [list(row) for row in predicted.states]
    by_step = [[cell.gold for cell in row] for row in cells(predicted, EXAMPLE)]
    assert [list(row) for row in zip(*grid["corrections"], strict=True)] == by_step
    assert any(any(row) for row in by_step)


def test_a_paragraph_of_one_s_own_has_no_right_states(client: TestClient) -> None:
    grid = post(client, participants=[" water ", "salt; brine"]).json()
    assert grid["sentences"] == [
        "The water flows into the lake.",
        "The salt is destroyed.",
    ]
    assert grid["participants"] == ["water", "salt; brine"]
    assert grid["corrections"] is None
    assert [len(row) for row in grid["states"]] == [3, 3]


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"text": " "}, 422, "no sentence"),
        ({"text": "🙂 !"}, 422, "no sentence"),
        ({"text": "a" * (MAX_CHARACTERS + 1)}, 422, "2,001 characters; at most 2,000"),
        ({"text": "It is. " * (MAX_SENTENCES + 1)}, 422, "21 sentences; at most 20"),
        ({"participants": []}, 422, "participants"),
        ({"participants": [" "]}, 422, "participants"),
        ({"participants": ["water"] * (MAX_PARTICIPANTS + 1)}, 422, "participants"),
        ({"model": "writer"}, 404, "no network named 'writer'; there are: reader"),
    ],
)
def test_what_cannot_be_read_is_refused(
    client: TestClient, changes: dict[str, Any], status: int, reason: str
) -> None:
    answer = post(client, **changes)
    assert answer.status_code == status
    assert reason in answer.json()["detail"]


@pytest.mark.parametrize("text", ["It is.", "It 🙂.", "The the of. " * 20])
def test_texts_without_a_place_have_a_grid(client: TestClient, text: str) -> None:
    answer = post(client, text=text, participants=["it", "é"])
    assert answer.status_code == 200
    assert {state for row in answer.json()["states"] for state in row} <= {"?", "-"}


def test_a_service_without_such_a_network_says_so(sources: list[str]) -> None:
    client = TestClient(create_app(sources))
    assert client.get("/processes").json()["models"] == []
    answer = client.post("/processes", json={"text": TEXT, "participants": ["water"]})
    assert answer.status_code == 404
    assert "no network that reads processes" in answer.json()["detail"]


def test_a_broken_network_on_processes_is_refused_at_the_start(
    reader: Path, sources: list[str], tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("config.json", "vocab.json"):
        (broken / name).write_bytes((reader / name).read_bytes())
    with pytest.raises(Exception, match=r"broken.*safetensors.*missing"):
        Library([*sources, str(broken)])
