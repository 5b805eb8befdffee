"""What a service counts, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """Counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "entnet_requests_total",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "entnet_request_seconds",
            "Time to answer a request.",
            ["route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.sessions = Gauge("entnet_sessions", "Sessions held.", registry=self.registry)
        self.started = Counter(
            "entnet_sessions_started_total", "Sessions started.", registry=self.registry
        )
        self.ended = Counter(
            "entnet_sessions_ended_total", "Sessions ended.", ["why"], registry=self.registry
        )
        self.sentences = Counter(
            "entnet_sentences_read_total", "Sentences read.", registry=self.registry
        )
        self.questions = Counter(
            "entnet_questions_answered_total", "Questions answered.", registry=self.registry
        )
        # Looking a counter up by its labels takes longer than counting.
        self._counters = lru_cache(1024)(self._look_up)

    def count_sessions_with(self, count: Callable[[], int]) -> None:
        self.sessions.set_function(count)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        requests, times = self._counters(method, route, status)
        requests.inc()
        times.observe(seconds)

    def _look_up(self, method: str, route: str, status: int) -> tuple[Any, Any]:
        return self.requests.labels(method, route, str(status)), self.seconds.labels(route)

    def text(self) -> bytes:
        return bytes(generate_latest(self.registry))
