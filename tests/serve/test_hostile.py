"""What was once found to hurt a service, in this process: each is refused, and nothing is kept of it."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient
from safetensors.torch import load, save
from starlette.websockets import WebSocketDisconnect

from entnet.serve.quiet import AtMost
from entnet.tracker import SnapshotError, Tracker

STORY = "Mary went to the garden. John moved to the office."
MakeClient = Callable[..., TestClient]


def start(client: TestClient, **body: object) -> str:
    answer = client.post("/sessions", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def where_is_mary(client: TestClient, session: str) -> str:
    answer = client.post(f"/sessions/{session}/ask", json={"question": "Where is Mary?"})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["answer"])


@pytest.mark.parametrize("text", [r"\ud800", r"Mary went to \udfff.", r"\udc00\ud800"])
def test_half_a_character_is_refused_and_nothing_kept(client: TestClient, text: str) -> None:
    session = start(client, text=STORY)
    snapshot = client.get(f"/sessions/{session}/snapshot").text
    bodies = {
        f"/sessions/{session}/read": f'{{"text": "{text}"}}',
        f"/sessions/{session}/ask": f'{{"question": "{text}"}}',
        f"/sessions/{session}/tell": f'{{"text": "{text}"}}',
        f"/sessions/{session}/restore": snapshot.replace("John moved", f"John {text}"),
        "/sessions": f'{{"text": "{text}"}}',
        "/tell": f'{{"text": "{text}"}}',
        "/stories/parse": f'{{"text": "{text}"}}',
    }
    requests = [*bodies.items(), ("/sessions", f'{{"model": "{text}"}}')]
    for path, body in requests:
        answer = client.post(
            path, content=body.encode(), headers={"content-type": "application/json"}
        )
        assert 400 <= answer.status_code < 500, (path, answer.text)
        assert answer.json()["detail"]
    assert client.get(f"/sessions/{session}").json()["sentences"] == STORY.replace(
        ". ", ".\n"
    ).split("\n")
    assert where_is_mary(client, session) == "garden"
    assert client.get("/health").json()["sessions"] == 1


def test_a_line_number_of_thousands_of_digits_is_refused(client: TestClient) -> None:
    for digits in (10, 4300, 4301, 15_000):
        text = f"{'1' * digits} Mary went to the garden."
        answer = client.post("/stories/parse", json={"text": text})
        assert answer.status_code == 422
        assert f"{digits:,} digits" in answer.json()["detail"]


@pytest.mark.parametrize("value", [3e38, 1e30, -50.0, float("inf"), float("nan")])
def test_a_memory_that_no_network_writes_is_refused(client: TestClient, value: float) -> None:
    session = start(client, text=STORY)
    snapshot = client.get(f"/sessions/{session}/snapshot").json()
    tracker = Tracker(client.app.state.service.library.load(snapshot["model"]))  # type: ignore[attr-defined]
    tracker.read("Mary went to the garden.")
    content = tracker.snapshot()
    memory = load(content)["memory"]
    memory[1, 2] = value
    header = content[8 : 8 + int.from_bytes(content[:8], "little")]
    about = json.loads(header)["__metadata__"]
    forged = {**snapshot, "state": base64.b64encode(save({"memory": memory}, about)).decode()}
    for path, body in (
        (f"/sessions/{session}/restore", forged),
        ("/sessions", {"snapshot": forged}),
        ("/tell", {"snapshot": forged, "text": "Where is Mary?"}),
    ):
        answer = client.post(path, json=body)
        assert answer.status_code == 422
        assert "cannot have written" in answer.json()["detail"]
    assert where_is_mary(client, session) == "garden"


@pytest.mark.parametrize("name", [r"\ud800", "", "a b", " "])
def test_a_name_that_no_text_has_is_refused(client: TestClient, name: str) -> None:
    """Or else it would come back in an answer, and half a character is no JSON."""
    session = start(client, text=STORY)
    snapshot = client.get(f"/sessions/{session}/snapshot").json()
    tracker = Tracker(client.app.state.service.library.load(snapshot["model"]))  # type: ignore[attr-defined]
    content = tracker.snapshot()
    header = content[8 : 8 + int.from_bytes(content[:8], "little")]
    about = json.loads(header)["__metadata__"] | {"names": f'{{"{name}": "garden"}}'}
    forged = save({"memory": load(content)["memory"]}, about)
    with pytest.raises(SnapshotError, match="names cannot be read"):
        tracker.restore(forged)
    body = {"snapshot": {**snapshot, "state": base64.b64encode(forged).decode()}, "text": STORY}
    assert client.post("/tell", json=body).status_code == 422


def test_a_memory_that_has_grown_past_numbers_gives_no_answer(
    walking_networks: dict[str, Path],
) -> None:
    tracker = Tracker.from_pretrained(walking_networks["walks-free"])
    tracker.state = tracker.state._replace(memory=torch.full_like(tracker.state.memory, 3e38))
    with pytest.raises(Exception, match="no answer"):
        tracker.ask("Where is Mary?")


def test_restored_sentences_keep_to_the_limit(client: TestClient) -> None:
    session = start(client, text=STORY)
    snapshot = client.get(f"/sessions/{session}/snapshot").json()
    large = {**snapshot, "sentences": ["x" * 190_000]}
    for path, body in ((f"/sessions/{session}/restore", large), ("/sessions", {"snapshot": large})):
        answer = client.post(path, json=body)
        assert answer.status_code == 409
        assert "100,000 characters" in answer.json()["detail"]


def test_five_hundred_large_reads_fill_a_session_not_the_memory(client: TestClient) -> None:
    session = start(client)
    text = "é" * 19_000 + "."
    statuses = [
        client.post(f"/sessions/{session}/read", json={"text": text}).status_code for _ in range(50)
    ]
    assert statuses == [200] * 5 + [409] * 45
    store = client.app.state.service.sessions  # type: ignore[attr-defined]
    assert store.characters <= 100_000


def test_one_client_cannot_end_the_sessions_of_others(make_client: MakeClient) -> None:
    client = make_client(
        max_sessions=20, max_sessions_per_client=8, api_key="key of anna,key of ben"
    )
    anna, ben = ({"x-api-key": f"key of {name}"} for name in ("anna", "ben"))
    session = client.post("/sessions", json={"text": STORY}, headers=anna).json()["id"]
    for _ in range(60):
        assert client.post("/sessions", json={}, headers=ben).status_code == 201
    assert client.get(f"/sessions/{session}", headers=anna).status_code == 200
    assert client.get("/health").json()["sessions"] == 9


def test_a_trace_is_bounded(client: TestClient) -> None:
    session = start(client, text="Mary went to the garden. " * 400)
    path = f"/sessions/{session}/trace"
    refused = client.get(path, params={"words": 20})
    assert refused.status_code == 422
    assert "at most 100 sentences at a time" in refused.json()["detail"]
    parts = [
        client.get(path, params={"words": 20, "first": first, "count": 100}).json()
        for first in range(0, 400, 100)
    ]
    steps = [step for part in parts for step in part["steps"]]
    whole = client.get(path, params={"words": 5}).json()
    assert [step["gates"] for step in steps] == [step["gates"] for step in whole["steps"]]
    assert parts[1]["start"] == steps[99]["words"]
    assert max(len(client.get(path, params={"words": 5}).content), len(str(parts[0]))) < 2_000_000
    assert client.get(path, params={"first": 401}).status_code == 422


def test_questions_of_a_request_are_bounded(client: TestClient) -> None:
    answer = client.post("/tell", json={"text": "Where is Mary? " * 501})
    assert answer.status_code == 409


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://elsewhere.example"},
        {"origin": "http://testserver.elsewhere.example"},
        {"origin": "null"},
        {"origin": "http://["},
    ],
    ids=str,
)
def test_pages_elsewhere_get_no_stream(client: TestClient, headers: dict[str, str]) -> None:
    session = start(client)
    path = f"/sessions/{session}/stream"
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(path, headers=headers):
        pass
    with client.websocket_connect(path, headers={"origin": "http://testserver"}) as socket:
        socket.send_json({"text": STORY})
        assert socket.receive_json()["sentences_read"] == 1


def test_streams_need_the_key_too(make_client: MakeClient) -> None:
    client = make_client(api_key="open sesame")
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/sessions/x/stream"):
        pass


@pytest.mark.parametrize(
    "message",
    ["", "{", "[" * 50_000, '{"text": 5}', '{"text": "\\ud800"}', '{"text": "?"}', "null"],
)
def test_messages_that_are_not_what_they_should_be(client: TestClient, message: str) -> None:
    session = start(client, text=STORY)
    with client.websocket_connect(f"/sessions/{session}/stream") as socket:
        socket.send_text(message)
        assert socket.receive_json()["status"] == 422
        socket.send_json({"text": "Where is Mary?"})
        assert socket.receive_json()["answer"]["answer"] == "garden"


def test_forms_of_other_pages_are_refused(client: TestClient) -> None:
    """A page elsewhere may send text without being asked for leave, but not JSON."""
    session = start(client)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = client.post(
            f"/sessions/{session}/read",
            content=b'{"text": "Mary left."}',
            headers={"content-type": kind},
        )
        assert answer.status_code == 422
        assert "application/json" in answer.json()["detail"]


def test_logs_cannot_be_flooded() -> None:
    now = [0.0]
    limit = AtMost(records=3, seconds=10, clock=lambda: now[0])

    def record(text: str) -> logging.LogRecord:
        return logging.LogRecord("x", logging.ERROR, "", 0, text, (), None)

    assert sum(limit.filter(record("again")) for _ in range(10_000)) == 3
    now[0] = 11.0
    late: Any = record("later")
    assert limit.filter(late)
    assert late.getMessage() == "later (9997 records before this were left out)"
