"""A loaded service: no errors, no mix-ups, flat memory; and one that is stopped or killed under load."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import httpx2
from load_driver import Clients, prepare, resident_megabytes

SESSIONS = 200
MODEL = "walks-free"


def test_two_hundred_sessions_at_once(
    service: Any, walking_networks: dict[str, Path], record_property: Any
) -> None:
    """Every session is told its own story and gives its own answers; memory does not grow."""
    stories = prepare(walking_networks[MODEL], SESSIONS, seed=3)
    clients = Clients(service.url, MODEL)
    clients.run(stories)
    before = resident_megabytes(service.process.pid)
    load = clients.run(stories)
    after = resident_megabytes(service.process.pid)
    assert load.wrong == []
    assert len(load.times) == 2 * SESSIONS * (1 + 3 + 3 + 1)
    assert httpx2.get(f"{service.url}/health").json()["sessions"] <= 256
    assert after - before < 8, f"{before:.1f} MB before, {after:.1f} MB after"
    record_property("requests_per_second", round(load.per_second))
    record_property("p99_milliseconds", round(load.percentile(0.99) * 1000, 1))
    print(
        f"\n{load.per_second:.0f} requests a second, median {load.percentile(0.5) * 1000:.1f} ms, "
        f"99% within {load.percentile(0.99) * 1000:.1f} ms, memory {before:.1f} then {after:.1f} MB"
    )


class Talker(threading.Thread):
    """A client that reads and asks until told to stop, and keeps what it got."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.url = url
        self.stopped = threading.Event()
        self.statuses: list[int] = []
        self.failures: list[Exception] = []
        self.broken: list[str] = []

    def run(self) -> None:
        while not self.stopped.is_set():
            try:
                with httpx2.Client(base_url=self.url, timeout=10) as client:
                    self._talk(client)
            except httpx2.TransportError as error:
                self.failures.append(error)
                time.sleep(0.05)
            except Exception as error:
                self.broken.append(repr(error))

    def _talk(self, client: httpx2.Client) -> None:
        session = self._send(client, "/sessions", {"model": MODEL})["id"]
        while not self.stopped.is_set():
            self._send(client, f"/sessions/{session}/read", {"text": "Mary went to the office."})
            got = self._send(client, f"/sessions/{session}/ask", {"question": "Where is Mary?"})
            if got.get("answer") != "office":
                return

    def _send(self, client: httpx2.Client, path: str, body: dict[str, str]) -> dict[str, Any]:
        answer = client.post(path, json=body)
        self.statuses.append(answer.status_code)
        value = answer.json()
        if answer.is_error and not value.get("detail"):
            self.broken.append(f"{answer.status_code} without a message")
        return dict(value)


def talk(url: str, count: int = 4) -> list[Talker]:
    talkers = [Talker(url) for _ in range(count)]
    for talker in talkers:
        talker.start()
    wait_until(lambda: all(len(talker.statuses) > 5 for talker in talkers))
    return talkers


def wait_until(done: Any, seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def finish(talkers: list[Talker]) -> None:
    for talker in talkers:
        talker.stopped.set()
    for talker in talkers:
        talker.join(15)
        assert not talker.is_alive()


def test_killed_and_started_again_under_load(start_service: Any) -> None:
    """Clients get clean errors, and snapshots taken before bring every session back."""
    first = start_service()
    port = int(first.url.rsplit(":", 1)[1])
    places = ["garden", "kitchen", "office", "hallway"]
    kept = []
    with httpx2.Client(base_url=first.url, timeout=10) as client:
        for place in places:
            body = {"model": MODEL, "text": f"Mary went to the {place}."}
            session = client.post("/sessions", json=body).json()["id"]
            kept.append((session, client.get(f"/sessions/{session}/snapshot").json()))
    talkers = talk(first.url)
    first.process.kill()
    first.process.wait()
    wait_until(lambda: all(talker.failures for talker in talkers))
    second = start_service(port=port)
    before = [len(talker.statuses) for talker in talkers]
    wait_until(lambda: all(len(t.statuses) > n + 5 for t, n in zip(talkers, before, strict=True)))
    finish(talkers)
    for talker in talkers:
        assert talker.broken == []
        assert set(talker.statuses) <= {200, 201, 404}
    with httpx2.Client(base_url=second.url, timeout=10) as client:
        for place, (session, snapshot) in zip(places, kept, strict=True):
            assert client.get(f"/sessions/{session}").status_code == 404
            again = client.post("/sessions", json={"snapshot": snapshot}).json()["id"]
            asked = client.post(f"/sessions/{again}/ask", json={"question": "Where is Mary?"})
            assert asked.json()["answer"] == place
    second.stop()


def test_a_stop_lets_requests_finish(start_service: Any) -> None:
    """Told to stop, it answers what it has begun: no client sees half an answer or a fault."""
    service = start_service()
    talkers = talk(service.url)
    began = time.monotonic()
    service.stop()
    assert time.monotonic() - began < 8
    wait_until(lambda: all(talker.failures for talker in talkers))
    finish(talkers)
    for talker in talkers:
        assert talker.broken == []
        assert set(talker.statuses) <= {200, 201}
