"""``python -m benchmarks.serve``: the service under load, beside a bare Starlette route in the same run.

wrk (from Debian, or your system's packages) sends requests from one core; the service, and the bare route
after it, have another. The bare route takes the same JSON and gives the same answer back without doing
anything for it: no service in Python can be faster. Where other work shares the machine, requests per
second of the clock say little, so those per second of the server's own CPU time stand beside them. Then
1,000 requests a second, evenly, show how long an answer takes where there is room. What the tracker takes
for a sentence or question by itself, in Python, stands below.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from entnet import Tracker
from entnet.errors import EntNetError
from entnet.training.result import machine

HERE = Path(__file__).parent
VERBS = {"read": {"text": "Mary went to the garden."}, "ask": {"question": "Where is Mary?"}}
SESSIONS = 200
CONNECTIONS = (16, 200)
PACED, PAUSE = 22, 19
"""Connections that each send a request every 20 ms, if it is answered in one: 1,000 a second."""


@dataclass(frozen=True)
class Load:
    """What wrk saw, and what it took the server."""

    verb: str
    connections: int
    pause_ms: int
    requests: int
    per_second: float
    per_cpu_second: float
    p50_ms: float
    p99_ms: float
    failed: int


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[str]
    url: str

    def cpu_seconds(self) -> float:
        """Processor time so far, of the process and the system for it."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def post(self, path: str, body: dict[str, Any]) -> bytes:
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            found: bytes = answer.read()
            return found


@contextlib.contextmanager
def serving(command: list[str], core: int) -> Iterator[Server]:
    """A server in a process of its own, on one core, once it answers."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    pinned = ["taskset", "-c", str(core), *command]
    process = subprocess.Popen(pinned, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        if found is None:
            raise EntNetError(f"{' '.join(command)} did not come up")
        yield Server(process, found.group())
    finally:
        process.terminate()
        process.wait(20)


def wrk(server: Server, verb: str, connections: int, pause: int, seconds: int, paths: Path) -> Load:
    """One stretch of load from the second core: ``verb`` on the paths of a file, one after the other."""
    before = server.cpu_seconds()
    done = subprocess.run(
        [
            *("taskset", "-c", "1", "wrk", "-t1", f"-c{connections}", f"-d{seconds}s"),
            *("-s", str(HERE / "serve.lua"), server.url, "--", verb, str(paths), str(pause)),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    cpu = server.cpu_seconds() - before
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return Load(
        verb=verb,
        connections=connections,
        pause_ms=pause,
        requests=found["requests"],
        per_second=round(found["requests"] / found["seconds"]),
        per_cpu_second=round(found["requests"] / cpu),
        p50_ms=round(found["p50"] / 1000, 2),
        p99_ms=round(found["p99"] / 1000, 2),
        failed=found["failed"],
    )


def measure(model: str, seconds: int, rounds: int) -> dict[str, Any]:
    """Everything in one run: rounds of the bare route and of the verbs, one after the other."""
    loads: dict[str, list[Load]] = {"bare": [], "service": []}
    service = [sys.executable, "-m", "entnet", "serve", model, "--port", "0"]
    with contextlib.ExitStack() as stack:
        served = stack.enter_context(serving(service, core=0))
        limit = [sys.executable, "-m", "benchmarks.serve", "--bare", *_answers(served)]
        servers = {"bare": stack.enter_context(serving(limit, core=0)), "service": served}
        folder = Path(stack.enter_context(TemporaryDirectory()))
        (folder / "bare").write_text("/sessions/bare\n")
        (folder / "service").write_text("".join(f"{path}\n" for path in _sessions(served)))
        paces = [*((connections, 0) for connections in CONNECTIONS), (PACED, PAUSE)]
        for _, pace, verb, name in product(range(rounds), paces, VERBS, servers):
            load = wrk(servers[name], verb, *pace, seconds, folder / name)
            loads[name].append(load)
    return {
        "machine": machine(),
        "cores": os.cpu_count(),
        "model": model,
        "seconds": seconds,
        "load_average": os.getloadavg()[0],
        "tracker": tracker_microseconds(model),
        **{name: [asdict(load) for load in of] for name, of in loads.items()},
    }


def tracker_microseconds(model: str, calls: int = 2000, rounds: int = 10) -> dict[str, float]:
    """CPU time of one call of the tracker, new names bound, as a user has it; the least disturbed round."""
    torch.set_num_threads(1)
    tracker = Tracker.from_pretrained(model)
    best = dict.fromkeys(VERBS, math.inf)
    verbs = {
        "read": (tracker.read, VERBS["read"]["text"]),
        "ask": (tracker.ask, VERBS["ask"]["question"]),
    }
    for _, (verb, (act, text)) in product(range(rounds), verbs.items()):
        tracker.reset()
        tracker.read(VERBS["read"]["text"])
        began = time.process_time()
        for _ in range(calls):
            act(text)
        best[verb] = min(best[verb], (time.process_time() - began) / calls * 1e6)
    return {verb: round(best[verb], 1) for verb in VERBS}


def _sessions(server: Server) -> list[str]:
    opened = (json.loads(server.post("/sessions", {})) for _ in range(SESSIONS))
    return [f"/sessions/{session['id']}" for session in opened]


def _answers(server: Server) -> list[str]:
    """What the service says to one of each, for the bare route to repeat."""
    session = json.loads(server.post("/sessions", {}))["id"]
    return [server.post(f"/sessions/{session}/{verb}", VERBS[verb]).decode() for verb in VERBS]


def serve_bare(answers: dict[str, bytes]) -> None:
    """The limit: a Starlette route that parses its JSON and repeats an answer."""

    async def verb(request: Request) -> Response:
        json.loads(await request.body())
        return Response(answers[request.path_params["verb"]], media_type="application/json")

    app = Starlette(routes=[Route("/sessions/{id}/{verb}", verb, methods=["POST"])])
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        loop="uvloop",
        http="httptools",
    )
    listener = config.bind_socket()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


def best(loads: list[dict[str, Any]], verb: str, connections: int) -> dict[str, Any]:
    """Of the rounds, the one that other work disturbed least."""
    same = [load for load in loads if (load["verb"], load["connections"]) == (verb, connections)]
    if same[0]["pause_ms"]:
        return min(same, key=lambda load: load["p99_ms"])
    return max(same, key=lambda load: load["per_cpu_second"])


def table(report: dict[str, Any]) -> str:
    tracker = report["tracker"]
    lines = [
        "# Speed of the service",
        "",
        "Written by `python -m benchmarks.serve`.",
        "",
        f"As much as goes, with the network {report['model']} on one core ({report['machine']}):",
        "",
        "| connections | verb | requests/s | bare route | share "
        "| per CPU second | bare route | share | p50 | p99 |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for connections, verb in product(CONNECTIONS, VERBS):
        ours = best(report["service"], verb, connections)
        bare = best(report["bare"], verb, connections)
        rates = [
            f"{ours[unit]:,} | {bare[unit]:,} | {ours[unit] / bare[unit]:.0%}"
            for unit in ("per_second", "per_cpu_second")
        ]
        times = f"{ours['p50_ms']} ms | {ours['p99_ms']} ms"
        lines.append(f"| {connections} | {verb} | {' | '.join(rates)} | {times} |")
    lines += [
        "",
        f"About 1,000 requests a second, evenly, on {PACED} connections:",
        "",
        "| verb | requests/s | p50 | p99 | bare route: p50 | p99 |",
        "|---|---|---|---|---|---|",
    ]
    for verb in VERBS:
        ours, bare = (best(report[name], verb, PACED) for name in ("service", "bare"))
        times = " | ".join(f"{one[p]} ms" for one in (ours, bare) for p in ("p50_ms", "p99_ms"))
        lines.append(f"| {verb} | {ours['per_second']:,} | {times} |")
    lines += [
        "",
        f"`Tracker.read` takes {tracker['read']} µs of one core, `Tracker.ask` {tracker['ask']} µs, "
        "new names bound.",
        "",
        f"The machine's load average was {report['load_average']:.1f} on {report['cores']} cores.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--model", default="babi-qa1")
    parser.add_argument("--seconds", type=int, default=5, help="for each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="the least disturbed one is reported")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--bare", nargs=2, metavar=("READ", "ASK"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        serve_bare(dict(zip(VERBS, map(str.encode, options.bare), strict=True)))
        return
    for tool in ("wrk", "taskset"):
        if shutil.which(tool) is None:
            raise EntNetError(f"{tool} is missing; on Debian: apt-get install wrk util-linux")
    report = measure(options.model, options.seconds, options.rounds)
    report["when"] = time.strftime("%Y-%m-%d")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "serve.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (options.out / "serve.md").write_text(table(report), encoding="utf-8")
    print(table(report))


if __name__ == "__main__":
    main()
