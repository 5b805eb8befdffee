"""The HTTP interface: every verb, every limit, and mistakes answered with help."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from entnet import Story
from entnet.inspection.trace import trace_story
from entnet.models.card import read_manner
from entnet.serve.app import create_app
from entnet.tracker import load_entity_network

STORY = "Mary went to the garden. John moved to the office. Mary travelled to the kitchen."


def start(client: TestClient, **body: object) -> str:
    answer = client.post("/sessions", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def ask(client: TestClient, session: str, question: str, after: int | None = None) -> str:
    body = {"question": question, "after": after}
    answer = client.post(f"/sessions/{session}/ask", json=body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["answer"])


def problem(client: TestClient, method: str, path: str, status: int, body: object = None) -> str:
    answer = client.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["detail"]
    return str(answer.json()["detail"])


def test_a_whole_conversation(client: TestClient) -> None:
    session = start(client, model="walks-tied")
    read = client.post(f"/sessions/{session}/read", json={"text": STORY}).json()
    assert read["sentences_read"] == 3
    assert read["read"][0]["sentence"] == "Mary went to the garden."
    assert len(read["read"][0]["gates"]) == 3
    assert ask(client, session, "Where is Mary?") == "kitchen"
    assert ask(client, session, "Where is Mary?", after=1) == "garden"
    slots = client.get(f"/sessions/{session}/slots").json()["slots"]
    held = {slot["key"]: slot["words"][0]["word"] for slot in slots}
    assert (held["mary"], held["john"]) == ("kitchen", "office")
    undone = client.post(f"/sessions/{session}/undo", json={}).json()
    assert undone["sentences"] == ["Mary went to the garden.", "John moved to the office."]
    assert ask(client, session, "Where is Mary?") == "garden"
    assert client.post(f"/sessions/{session}/reset").json()["sentences"] == []
    assert client.delete(f"/sessions/{session}").status_code == 204
    assert "POST /sessions" in problem(client, "GET", f"/sessions/{session}", 404)


def test_a_trace_tells_everything(client: TestClient) -> None:
    session = start(client, text=STORY)
    trace = client.get(f"/sessions/{session}/trace", params={"words": 2}).json()
    slots = len(trace["slots"])
    assert [step["sentence"] for step in trace["steps"]][1] == "John moved to the office."
    assert all(len(step["gates"]) == len(step["movement"]) == slots for step in trace["steps"])
    assert all(len(words) == 2 for step in trace["steps"] for words in step["words"])
    now = client.get(f"/sessions/{session}/slots", params={"words": 2}).json()["slots"]
    assert [slot["words"] for slot in now] == trace["steps"][-1]["words"]
    past = client.get(f"/sessions/{session}/slots", params={"words": 2, "after": 0}).json()
    assert [slot["words"] for slot in past["slots"]] == trace["start"]


def test_unknown_words_are_named(client: TestClient) -> None:
    session = start(client)
    read = client.post(f"/sessions/{session}/read", json={"text": "Mary flew to Mars."}).json()
    assert read["read"][0]["unknown"] == ["flew", "mars"]
    asked = client.post(f"/sessions/{session}/ask", json={"question": "Where is Zoe?"}).json()
    assert asked["unknown"] == ["zoe"]


def test_snapshots_restore_in_the_same_and_in_another_session(client: TestClient) -> None:
    session = start(client, text=STORY)
    snapshot = client.get(f"/sessions/{session}/snapshot").json()
    client.post(f"/sessions/{session}/read", json={"text": "Mary went to the hallway."})
    other = start(client, snapshot=snapshot)
    assert ask(client, other, "Where is Mary?") == "kitchen"
    assert ask(client, other, "Where is Mary?", after=1) == "garden"
    back = client.post(f"/sessions/{session}/restore", json=snapshot).json()
    assert back["sentences"] == snapshot["sentences"]
    assert ask(client, session, "Where is Mary?") == "kitchen"


def test_snapshots_that_do_not_fit_are_refused(client: TestClient) -> None:
    session = start(client, model="walks-free", text=STORY)
    snapshot = client.get(f"/sessions/{session}/snapshot").json()
    other = start(client, model="walks-tied")
    restore = f"/sessions/{other}/restore"
    assert "another network" in problem(client, "POST", restore, 422, snapshot)
    forged = {**snapshot, "model": "walks-tied"}
    assert "another network" in problem(client, "POST", restore, 422, forged)
    restore = f"/sessions/{session}/restore"
    assert "base64" in problem(client, "POST", restore, 422, {**snapshot, "state": "é"})
    cut = {**snapshot, "state": snapshot["state"][:400]}
    assert "cut short" in problem(client, "POST", restore, 422, cut)
    assert "version" in problem(client, "POST", restore, 422, {**snapshot, "version": 7})
    wordy = {**snapshot, "sentences": ["mary " * 50]}
    assert "too many" in problem(client, "POST", restore, 422, wordy)
    assert ask(client, session, "Where is Mary?") == "kitchen"


def test_a_text_with_questions_is_told_at_once(client: TestClient) -> None:
    session = start(client, model="walks-free")
    text = "Mary went to the garden. Where is Mary?\nMary left. Mary went to the office. Where is Mary?"
    told = client.post(f"/sessions/{session}/tell", json={"text": text, "alternatives": 1}).json()
    assert told["sentences_read"] == 3
    assert told["read"][0]["sentence"] == "Mary went to the garden."
    assert [(a["after"], a["answer"]) for a in told["answers"]] == [(1, "garden"), (3, "office")]
    assert len(told["answers"][0]["alternatives"]) == 1
    wrong = {"text": "John went to the office. Where is John? Mary " + "went " * 60 + "off."}
    assert "too many" in problem(client, "POST", f"/sessions/{session}/tell", 422, wrong)
    assert len(client.get(f"/sessions/{session}").json()["sentences"]) == 3
    assert ask(client, session, "Where is Mary?") == "office"


def test_a_story_goes_from_service_to_service(make_client: Callable[..., TestClient]) -> None:
    """Nothing is kept: each sentence may be read by another service that has the network."""
    services = [make_client(sessions=False) for _ in range(3)]
    alone = start(make_client(), model="walks-tied", text=STORY)
    snapshot: dict[str, object] | None = None
    for number, sentence in enumerate(STORY.split(". ")):
        body = {"text": sentence, "snapshot": snapshot, "model": "walks-tied"}
        told = services[number % 3].post("/tell", json=body).json()
        assert told["sentences_read"] == number + 1
        snapshot = told["snapshot"]
    body = {"text": "Where is Mary? Where is John?", "snapshot": snapshot}
    told = services[0].post("/tell", json=body).json()
    assert [answer["answer"] for answer in told["answers"]] == ["kitchen", "office"]
    assert told["snapshot"]["sentences"] == snapshot["sentences"]
    with_sessions = make_client()
    again = start(with_sessions, snapshot=snapshot)
    assert ask(with_sessions, again, "Where is Mary?") == "kitchen"
    assert alone != again
    for path in ("/sessions", f"/sessions/{again}/read"):
        assert services[0].post(path, json={}).status_code in {404, 405}
    assert services[0].get("/").status_code == 200


def test_a_stream_answers_sentence_by_sentence(client: TestClient) -> None:
    session = start(client, model="walks-free")
    with client.websocket_connect(f"/sessions/{session}/stream") as socket:
        socket.send_json({"text": STORY + " Where is Mary?"})
        reads = [socket.receive_json() for _ in range(3)]
        assert [read["sentences_read"] for read in reads] == [1, 2, 3]
        assert reads[1]["read"]["sentence"] == "John moved to the office."
        answer = socket.receive_json()["answer"]
        assert (answer["answer"], answer["after"]) == ("kitchen", 3)
        socket.send_json({"text": "Mary " + "went " * 60 + "off."})
        assert "too many" in socket.receive_json()["detail"]
    assert len(client.get(f"/sessions/{session}").json()["sentences"]) == 3
    with client.websocket_connect("/sessions/nobody/stream") as socket:
        socket.send_json({"text": STORY})
        assert socket.receive_json()["status"] == 404


def test_networks_are_listed_with_their_words(client: TestClient) -> None:
    listed = client.get("/models").json()
    assert [model["name"] for model in listed["models"]] == ["walks-free", "walks-tied"]
    assert listed["default"] == "walks-free"
    detail = client.get("/models/walks-tied").json()
    assert detail["keys"] == "tied"
    assert {"mary", "garden", "went"} <= set(detail["vocabulary"])
    assert "walks-tied" in problem(client, "GET", "/models/nope", 404)
    assert "nope" in problem(client, "POST", "/sessions", 404, {"model": "nope"})


def test_fresh_stories_of_every_task(client: TestClient) -> None:
    for task in client.get("/tasks").json():
        story = client.get(f"/tasks/{task['task']}/story", params={"seed": 5}).json()
        again = client.get(f"/tasks/{task['task']}/story", params={"seed": 5}).json()
        assert story == again
        assert story["sentences"]
        assert story["questions"]
        assert all(0 < q["after"] <= len(story["sentences"]) for q in story["questions"])
    fresh = [client.get(f"/tasks/{task['task']}/story").json() for _ in range(2)]
    assert fresh[0]["sentences"] != fresh[1]["sentences"]
    assert "no such task" in problem(client, "GET", "/tasks/99/story", 404)


def test_text_is_cut_into_sentences_and_questions(client: TestClient) -> None:
    text = "1 Mary left.\n2 Where is Mary?\tgarden\t1\n3 John stayed."
    story = client.post("/stories/parse", json={"text": text}).json()
    assert story["sentences"] == ["Mary left.", "John stayed."]
    assert story["questions"][0] | {"supports": []} == {
        "after": 1, "question": "Where is Mary?", "answer": "garden", "supports": [],
    }  # fmt: skip
    two = "1 Mary left.\n1 John left."
    assert "2 stories" in problem(client, "POST", "/stories/parse", 422, {"text": two})


@pytest.mark.parametrize(
    ("verb", "body", "says"),
    [
        ("read", {"text": ""}, "no sentence"),
        ("read", {"text": " . ! \n"}, "no sentence"),
        ("read", {"text": 5}, "text: "),
        ("read", {}, "text: "),
        ("read", {"text": "a.", "colour": 1}, "colour: "),
        ("read", {"text": "mary " * 60}, "too many for this network"),
        ("read", {"text": "a" * 20_001}, "at most 20,000"),
        ("ask", {"question": "?"}, "at least one word"),
        ("ask", {"question": "Where is Mary?", "after": 7}, "after is 7, but 3"),
        ("ask", {"question": "Where is Mary?", "after": -1}, "after"),
        ("undo", {"sentences": 4}, "4 sentences to undo, but 3"),
        ("undo", {"sentences": 0}, "sentences: "),
    ],
)
def test_wrong_values_are_explained(
    client: TestClient, verb: str, body: dict[str, object], says: str
) -> None:
    session = start(client, text=STORY)
    assert says in problem(client, "POST", f"/sessions/{session}/{verb}", 422, body)
    assert len(client.get(f"/sessions/{session}").json()["sentences"]) == 3


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"\xff\xfe", b"[" * 50_000, b'{"text": "\\ud800"}', b'{"\\ud800": 1}', b"null", b"",
        b'{"text": "a", "text": NaN}', b'{"after": 1e999}',
    ],
)  # fmt: skip
def test_bodies_that_are_not_what_they_should_be(client: TestClient, body: bytes) -> None:
    session = start(client)
    for path in (f"/sessions/{session}/read", f"/sessions/{session}/ask", "/sessions"):
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code in {400, 422}, (path, answer.text)
        assert answer.json()["detail"]


def test_places_that_are_not_there(client: TestClient) -> None:
    assert "/docs" in problem(client, "GET", "/nothing", 404)
    assert "PATCH" in problem(client, "PATCH", "/sessions", 405)
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/%2e%2e/app.py").status_code == 404


def test_requests_have_a_largest_size(make_client: Callable[..., TestClient]) -> None:
    client = make_client(max_body_bytes=2000)
    large = {"text": "a" * 3000}
    assert "2,000" in problem(client, "POST", "/stories/parse", 413, large)

    def pieces() -> Iterator[bytes]:
        """A body that does not say how long it will be."""
        yield b'{"text": "'
        for _ in range(100):
            yield b"a" * 100
        yield b'"}'

    answer = client.post(
        "/stories/parse", content=pieces(), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 413
    assert "2,000" in answer.json()["detail"]


def test_sessions_have_a_limit(make_client: Callable[..., TestClient]) -> None:
    client = make_client(max_sessions=3, max_sentences=3)
    first = start(client, text=STORY)
    assert "at most 3" in problem(
        client, "POST", f"/sessions/{first}/read", 409, {"text": "Mary went to the office."}
    )
    for _ in range(3):
        start(client)
    assert problem(client, "GET", f"/sessions/{first}", 404)
    assert client.get("/health").json()["sessions"] == 3


def test_a_key_keeps_others_out(make_client: Callable[..., TestClient]) -> None:
    client = make_client(api_key="open sesame")
    assert "X-API-Key" in problem(client, "GET", "/models", 401)
    assert "X-API-Key" in problem(client, "POST", "/sessions", 401, {})
    assert "X-API-Key" in problem(client, "GET", "/metrics", 401)
    for headers in ({"x-api-key": "open sesame"}, {"authorization": "Bearer open sesame"}):
        assert client.get("/models", headers=headers).status_code == 200
    for headers in ({"x-api-key": "open"}, {"authorization": "Basic open sesame"}):
        assert client.get("/models", headers=headers).status_code == 401
    for path in ("/", "/health", "/static/page.css", "/docs", "/openapi.json"):
        assert client.get(path).status_code == 200


def test_other_host_names_are_refused(make_client: Callable[..., TestClient]) -> None:
    client = make_client(hosts=("localhost", "::1"))
    for host, status in {
        "localhost": 200, "LOCALHOST:8000": 200, "[::1]:8000": 200, "evil.example": 400, "": 400,
    }.items():  # fmt: skip
        assert client.get("/health", headers={"host": host}).status_code == status, host


def test_every_answer_is_safe_to_show(client: TestClient) -> None:
    for path in ("/", "/health", "/models", "/nothing", "/static/app.js", "/docs"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_metrics_count(client: TestClient) -> None:
    session = start(client, text=STORY)
    ask(client, session, "Where is Mary?")
    client.get("/sessions/nope")
    client.delete(f"/sessions/{session}")
    lines = client.get("/metrics").text.splitlines()
    for line in (
        "entnet_sentences_read_total 3.0",
        "entnet_questions_answered_total 1.0",
        "entnet_sessions_started_total 1.0",
        'entnet_sessions_ended_total{why="deleted"} 1.0',
        "entnet_sessions 0.0",
        'entnet_requests_total{method="GET",route="/sessions/{session_id}",status="404"} 1.0',
    ):
        assert line in lines
    assert not [line for line in lines if session in line]


def test_what_breaks_inside_shows_no_inside(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the service itself: a plain message, no traceback, and the log has the rest."""
    service = client.app.state.service  # type: ignore[attr-defined]
    monkeypatch.setattr(service.library, "load", lambda name: 1 / 0)
    answer = client.get("/models/walks-free")
    assert answer.status_code == 500
    assert json.loads(answer.text) == {"detail": "the service made a mistake; its log tells more"}


def test_the_interface_is_described(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    assert set(described["paths"]) >= {
        "/sessions", "/sessions/{session_id}/read", "/sessions/{session_id}/ask",
        "/sessions/{session_id}/slots", "/sessions/{session_id}/trace",
        "/sessions/{session_id}/undo", "/sessions/{session_id}/snapshot",
        "/sessions/{session_id}/restore", "/health", "/metrics",
    }  # fmt: skip
    for path, verbs in described["paths"].items():
        for method, verb in verbs.items():
            assert verb.get("description"), f"{method} {path} is not described"


def test_a_trace_is_told_in_the_names_of_each_moment() -> None:
    """Who is named later is not there before; so it is with the exported page, too."""
    sentences = ("Mary went to the garden.", "Alice got the lantern.", "Alice went to the cellar.")
    client = TestClient(create_app(["babi-qa2"]))
    body = {"text": "\n".join(sentences)}
    session = client.post("/sessions", json=body).json()["id"]
    steps = client.get(f"/sessions/{session}/trace").json()["steps"]
    trace = trace_story(
        load_entity_network("babi-qa2"), Story(sentences, ()), manner=read_manner("babi-qa2")
    )
    assert [step["words"] for step in steps] == [step["words"] for step in trace.to_dict()["steps"]]
    assert "cellar" in {near["word"] for slot in steps[-1]["words"] for near in slot}
    assert "cellar" not in {near["word"] for slot in steps[0]["words"] for near in slot}
