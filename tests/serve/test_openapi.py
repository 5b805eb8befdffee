"""Requests made up from the service's own description: none may break it, all answers must fit it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from entnet.serve.app import create_app
from entnet.serve.settings import ServeSettings

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]

VERBS = [
    ("GET", "/health"),
    ("GET", "/metrics"),
    ("GET", "/models"),
    ("GET", "/models/{name}"),
    ("GET", "/processes"),
    ("POST", "/processes"),
    ("GET", "/tasks"),
    ("GET", "/tasks/{task}/story"),
    ("POST", "/stories/parse"),
    ("POST", "/sessions"),
    ("GET", "/sessions/{session_id}"),
    ("DELETE", "/sessions/{session_id}"),
    ("POST", "/sessions/{session_id}/read"),
    ("POST", "/sessions/{session_id}/ask"),
    ("POST", "/sessions/{session_id}/tell"),
    ("POST", "/tell"),
    ("GET", "/sessions/{session_id}/slots"),
    ("GET", "/sessions/{session_id}/trace"),
    ("POST", "/sessions/{session_id}/undo"),
    ("POST", "/sessions/{session_id}/reset"),
    ("GET", "/sessions/{session_id}/snapshot"),
    ("POST", "/sessions/{session_id}/restore"),
]


@pytest.fixture(scope="module")
def app(sources: list[str]) -> FastAPI:
    return create_app(sources, ServeSettings(max_sessions=50))


@pytest.fixture(scope="module")
def described(app: FastAPI) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", app)


def live_session(app: FastAPI) -> str:
    """A session that has read something, so that the verbs have something to work on."""
    service = app.state.service
    session = service.sessions.create("walks-tied", service.library.load("walks-tied"))
    asyncio.run(session.read("Mary went to the garden. John went to the office."))
    service.sessions.keep(session)
    return str(session.id)


def test_the_verbs_are_pinned(app: FastAPI) -> None:
    found = [(m, path) for path, verbs in app.openapi()["paths"].items() for m in verbs]
    assert sorted(found) == sorted((method.lower(), path) for method, path in VERBS)


@pytest.mark.parametrize(("method", "path"), VERBS)
def test_no_request_breaks_the_service(
    app: FastAPI, described: Any, method: str, path: str
) -> None:
    """Sensible values and nonsense alike; most requests go to a session that is there."""
    operation = described[path][method]
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
        @given(operation.as_strategy(generation_mode=mode), st.integers(0, 3))
        def send(case: schemathesis.Case, die: int) -> None:
            if "session_id" in case.path_parameters and die:
                case.path_parameters["session_id"] = live_session(app)
            case.call_and_validate(checks=CHECKS)

        try:
            send()
        except Unsatisfiable:
            # Nothing can be sent wrongly where nothing is sent.
            assert mode is GenerationMode.NEGATIVE
