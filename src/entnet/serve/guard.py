"""What stands before every request: host, key, size; and after it: safe headers, and counting."""

from __future__ import annotations

import hmac
import json
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from entnet.serve.metrics import Metrics
from entnet.serve.settings import ServeSettings

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_OPEN_PATHS = ("/", "/health", "/docs", "/openapi.json", "/favicon.ico")
_SAFE_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


class Guard:
    """ASGI middleware, kept plain because every request passes through it."""

    def __init__(self, app: ASGIApp, settings: ServeSettings, metrics: Metrics) -> None:
        self.app = app
        self.settings = settings
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal:
                await _refuse(watched_send, *refusal)
            else:
                await self.app(scope, self._measured(receive), watched_send)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else "OTHER"
            route = getattr(scope.get("route"), "path", "none")
            self.metrics.answered(method, route, status, time.perf_counter() - began)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = _host_name(headers.get("host", ""))
        if self.settings.hosts and host not in self.settings.hosts:
            return 400, "this service does not go by the host name that the request is addressed to"
        if not self._may_enter(scope["path"], headers):
            return 401, "a key is needed: send it as X-API-Key, or as Authorization: Bearer …"
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self.settings.max_body_bytes:
            return 413, self._size_message()
        return None

    def _may_enter(self, path: str, headers: Headers) -> bool:
        key = self.settings.api_key
        if key is None or path in _OPEN_PATHS or path.startswith("/static/"):
            return True
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = headers.get("x-api-key") or (token if scheme.lower() == "bearer" else "")
        return hmac.compare_digest(given.encode(), key.encode())

    def _measured(self, receive: Receive) -> Receive:
        """The request's body, refused as soon as it grows past the limit, whatever was announced."""
        seen = 0

        async def measured() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.settings.max_body_bytes:
                raise HTTPException(413, self._size_message())
            return message

        return measured

    def _size_message(self) -> str:
        return f"the request is too large; at most {self.settings.max_body_bytes:,} bytes"


def _host_name(host: str) -> str:
    """A Host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


async def _refuse(send: Send, status: int, message: str) -> None:
    body = json.dumps({"detail": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
