"""Ray Serve on a local cluster: a replica is killed under load, and no story is lost."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from entnet import EntNet, Tracker
from small_networks import PEOPLE, make_stories

pytestmark = pytest.mark.slow
CLIENTS = 4
STORIES = 3


@pytest.fixture(scope="module")
def url(walking_networks: dict[str, Path]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "entnet", "serve", str(walking_networks["walks-free"])]
    options = ["--ray", "--replicas", "2", "--port", str(port)]
    environment = {**os.environ, "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0", "COLUMNS": "200"}
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert "http://" in line, line
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        process.stdout.close()
    assert code == 0


class Teller(threading.Thread):
    """Tells stories sentence by sentence, each going on from the last snapshot; asks after each sentence.

    A request that a killed replica took with it is sent again, as any client of a balancer does.
    """

    def __init__(self, url: str, network: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self.url, self.seed = url, seed
        self.model = EntNet.from_pretrained(network)
        self.wrong: list[str] = []
        self.again = 0
        self.told = 0

    def run(self) -> None:
        dice = random.Random(self.seed)
        try:
            with httpx2.Client(base_url=self.url, timeout=20) as client:
                for story in make_stories(STORIES, self.seed, sentences=20):
                    self._tell(client, story.sentences, dice)
        except Exception as error:
            self.wrong.append(repr(error))

    def _tell(self, client: httpx2.Client, sentences: tuple[str, ...], dice: random.Random) -> None:
        tracker, snapshot = Tracker(self.model), None
        for number, sentence in enumerate(sentences):
            question = f"Where is {dice.choice(PEOPLE)}?"
            tracker.read(sentence)
            told = self._send(client, {"text": f"{sentence} {question}", "snapshot": snapshot})
            if told["sentences_read"] != number + 1:
                self.wrong.append(f"{told['sentences_read']} sentences, not {number + 1}")
            if told["answers"][0]["answer"] != tracker.ask(question).answer:
                self.wrong.append(f"{sentence} {question} {told['answers'][0]['answer']}")
            snapshot = told["snapshot"]
            self.told += 1

    def _send(self, client: httpx2.Client, body: dict[str, Any]) -> dict[str, Any]:
        for _ in range(100):
            try:
                answer = client.post("/tell", json=body)
                if answer.status_code == 200:
                    return dict(answer.json())
                assert answer.status_code >= 500, answer.text
            except httpx2.TransportError:
                pass
            self.again += 1
            time.sleep(0.1)
        raise AssertionError("the service did not come back")


def replicas() -> set[int]:
    """Processes of replicas, by the names that Ray gives them."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes()
        except OSError:
            continue
        if command.startswith(b"ray::ServeReplica:entnet:entnet"):
            found.add(int(path.parent.name))
    return found


def test_a_replica_is_lost_and_no_story_with_it(
    url: str, walking_networks: dict[str, Path]
) -> None:
    tellers = [Teller(url, walking_networks["walks-free"], seed) for seed in range(CLIENTS)]
    before = replicas()
    assert len(before) == 2
    for teller in tellers:
        teller.start()
    while sum(teller.told for teller in tellers) < CLIENTS * STORIES * 5:
        assert any(teller.is_alive() for teller in tellers), [teller.wrong for teller in tellers]
        time.sleep(0.05)
    os.kill(min(before), signal.SIGKILL)
    for teller in tellers:
        teller.join(60)
        assert teller.wrong == []
        assert teller.told == STORIES * 20
    end = time.monotonic() + 120
    while len(replicas()) < 2:
        assert time.monotonic() < end, "no new replica was started"
        time.sleep(0.1)
    assert min(before) not in replicas()


def test_replicas_keep_no_sessions(url: str) -> None:
    with httpx2.Client(base_url=url, timeout=20) as client:
        assert client.get("/health").json()["status"] == "ok"
        assert client.post("/sessions", json={}).status_code == 404
        assert [model["name"] for model in client.get("/models").json()["models"]] == ["walks-free"]
        assert client.post("/tell", json={}).status_code == 422
