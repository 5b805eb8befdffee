"""The service on Ray Serve: replicas that keep no stories, so that each may end at any moment.

A story comes in and goes out as a snapshot (``POST /tell``), so it does not matter which replica reads its
next sentence. Ray checks the health of replicas, starts new ones for those that end, and lets a replica
that is to stop finish what it has begun.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

from entnet.errors import EntNetError
from entnet.serve.run import settings_for
from entnet.serve.settings import ServeSettings

NAME = "entnet"


def application(sources: Sequence[str], settings: ServeSettings, replicas: int) -> Any:
    """The Ray Serve application: so many replicas of the stateless service."""
    from ray import serve

    from entnet.serve.app import create_app

    stateless = settings.replace(sessions=False)
    chosen = tuple(sources)

    def build() -> Any:
        import torch

        torch.set_num_threads(1)
        return create_app(chosen, stateless)

    @serve.deployment(
        name=NAME,
        num_replicas=replicas,
        max_ongoing_requests=100,
        health_check_period_s=2,
        health_check_timeout_s=10,
        graceful_shutdown_timeout_s=5,
        ray_actor_options={"num_cpus": 0.5},
    )
    @serve.ingress(build)
    class Replica:
        """One process with the networks."""

    return Replica.bind()  # type: ignore[attr-defined]


def start(
    sources: Sequence[str], host: str, port: int, settings: ServeSettings, replicas: int
) -> str:
    """Serve on the cluster that ``RAY_ADDRESS`` names, or on one of this machine; returns the address."""
    settings = settings_for(host, settings)
    # Ray lets everything else on the machine go first, and kills a proxy that then comes up late.
    os.environ.setdefault("RAY_worker_niceness", "0")
    for check in ("READY", "HEALTH"):
        os.environ.setdefault(f"RAY_SERVE_PROXY_{check}_CHECK_TIMEOUT_S", "30")
    try:
        import ray
        from ray import serve
    except ImportError as error:
        raise EntNetError(
            f"this needs {error.name}; install it with: pip install 'entnet[serve,ray]'"
        ) from error
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    serve.start(proxy_location="HeadOnly", http_options={"host": host, "port": port})
    serve.run(application(sources, settings, replicas), name=NAME, route_prefix="/")
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_on_ray(
    sources: Sequence[str],
    host: str,
    port: int,
    settings: ServeSettings,
    replicas: int,
    on_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until a signal comes; then replicas finish what they have begun."""
    if port == 0:
        raise EntNetError("Ray Serve cannot take a free port by itself: give --port")
    url = start(sources, host, port, settings, replicas)
    ended = threading.Event()
    # Only now: Ray puts in handlers of its own when it starts.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    on_ready(url)
    ended.wait()
    stop()


def stop() -> None:
    """End the service, and the cluster if it was started for it."""
    import ray
    from ray import serve

    serve.shutdown()  # type: ignore[no-untyped-call]
    ray.shutdown()
