"""A service with the small networks, in this process and as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from entnet.serve.app import create_app
from entnet.serve.settings import ServeSettings

MakeClient = Callable[..., TestClient]


@pytest.fixture(scope="session")
def sources(walking_networks: dict[str, Path]) -> list[str]:
    return [str(path) for path in walking_networks.values()]


@pytest.fixture
def make_client(sources: list[str]) -> MakeClient:
    """A client of a service with these settings; what breaks inside shows as a 500, not an exception."""

    def make(**settings: object) -> TestClient:
        app = create_app(sources, ServeSettings(**settings))  # type: ignore[arg-type]
        return TestClient(app, raise_server_exceptions=False)

    return make


@pytest.fixture
def client(make_client: MakeClient) -> TestClient:
    return make_client()


@dataclass
class Service:
    """``entnet serve`` in a process of its own."""

    process: subprocess.Popen[str]
    url: str
    log: Path
    """What it wrote to its standard error."""

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(20)


StartService = Callable[..., Service]


@pytest.fixture(scope="session")
def start_service(
    sources: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StartService]:
    running: list[Service] = []

    def start(*options: str, port: int = 0) -> Service:
        command = [sys.executable, "-m", "entnet", "serve", *sources, "--port", str(port), *options]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        log = tmp_path_factory.mktemp("logs") / "stderr"
        with log.open("w") as errors:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"the service did not come up: {line!r} {log.read_text()}"
        running.append(Service(process, found.group(), log))
        return running[-1]

    yield start
    for service in running:
        if service.process.poll() is None:
            service.process.kill()
        service.process.wait()
        if service.process.stdout is not None:
            service.process.stdout.close()


@pytest.fixture(scope="session")
def service(start_service: StartService) -> Service:
    """One service for all tests that do not end it."""
    return start_service()
