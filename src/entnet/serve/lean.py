"""A route for verbs that take microseconds: on the event loop, with little between the bytes and the verb.

To readers of /docs it is like any other. But the body goes from JSON into its model in one step, the verb
is awaited where it stands, and the plain value that it gives is written as it is: that it fits the
description is for tests to show, not for every request to check again.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from entnet.serve.problems import ClientError


class LeanRoute(APIRoute):
    """Takes over where a verb has a body or path parameters only; the stock route does all others."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self.lean: ASGIApp | None = None
        gives = typing.get_type_hints(endpoint).get("return")
        own_response = inspect.isclass(gives) and issubclass(gives, Response)
        if not self.dependant.query_params and not own_response:
            self.app = self.lean = _lean(endpoint, self.status_code or 200)


def _lean(verb: Callable[..., Awaitable[Any]], status: int) -> ASGIApp:
    hints = typing.get_type_hints(verb)
    hints.pop("return", None)
    body_name, body_type = next(
        ((n, t) for n, t in hints.items() if inspect.isclass(t) and issubclass(t, BaseModel)),
        ("", BaseModel),
    )
    wants_request = "request" in hints

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        values: dict[str, Any] = dict(scope["path_params"])
        if wants_request:
            values["request"] = Request(scope)
        if body_name:
            _check_content_type(scope)
            try:
                text = await _body(receive)
            except ClientDisconnect:
                return  # nobody waits for an answer
            values[body_name] = parsed(body_type, text)
        value = await verb(**values)
        await send_json(send, status, b"" if status == 204 else encoded(value))

    return app


def encoded(value: Any) -> bytes:
    """A plain value, or JSON that is written already."""
    if isinstance(value, bytes):
        return value
    text: bytes = to_json(value, inf_nan_mode="null")
    return text


def parsed(model: type[BaseModel], text: bytes | str) -> Any:
    """A body; what is wrong with it is told as by the stock route."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False)) from error


async def send_json(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-length", b"%d" % len(body))] if body or status != 204 else []
    if body:
        headers.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _body(receive: Receive) -> bytes:
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return body


def _check_content_type(scope: Scope) -> None:
    """JSON must be said to be JSON: a page elsewhere cannot send that without being asked for leave."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value.partition(b";")[0].strip().lower()
            if kind == b"application/json" or (
                kind.startswith(b"application/") and kind.endswith(b"+json")
            ):
                return
    raise ClientError("the request's content-type must be application/json")
