"""What stands before every request: host, key, size; and after it: safe headers, and counting."""

from __future__ import annotations

import hmac
import json
import time
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from entnet.serve.metrics import Metrics
from entnet.serve.settings import ServeSettings

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_OPEN_PATHS = ("/", "/health", "/docs", "/openapi.json", "/favicon.ico")
_POLICY_VIOLATION = 1008
_SAFE_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),
]
_Headers = dict[bytes, bytes]


class Guard:
    """ASGI middleware, kept plain because every request passes through it."""

    def __init__(self, app: ASGIApp, settings: ServeSettings, metrics: Metrics) -> None:
        self.app = app
        self.settings = settings
        self.metrics = metrics
        self._keys = [key.encode() for key in settings.keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            headers = dict(scope["headers"])
            if self._refusal(scope, headers) or not _same_origin(headers):
                await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            else:
                await self.app(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        status = 499  # until an answer begins: the client went before

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_SAFE_HEADERS]
            await send(message)

        try:
            refusal = self._refusal(scope, dict(scope["headers"]))
            if refusal:
                await _refuse(watched_send, *refusal)
            else:
                await self.app(scope, self._measured(receive), watched_send)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else "OTHER"
            route = getattr(scope.get("route"), "path", "none")
            self.metrics.answered(method, route, status, time.perf_counter() - began)

    def _refusal(self, scope: Scope, headers: _Headers) -> tuple[int, str] | None:
        """Why the request may not pass; else the client's name is noted."""
        if self.settings.hosts and _host_name(headers) not in self.settings.hosts:
            return 400, "this service does not go by the host name that the request is addressed to"
        key = self._key_of(headers) if self._keys else None
        if self._keys and key is None and not _is_open(scope["path"]):
            return 401, "a key is needed: send it as X-API-Key, or as Authorization: Bearer …"
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and (len(length) > 18 or int(length) > self.settings.max_body_bytes):
            return 413, self._size_message()
        # Where many share one key, or need none, they are told apart by their addresses.
        address = scope["client"][0] if scope.get("client") else ""
        scope["entnet.client"] = (
            f"key {key}" if key is not None and len(self._keys) > 1 else address
        )
        return None

    def _key_of(self, headers: _Headers) -> int | None:
        """Which of the keys came with a request. All are compared, in constant time."""
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        given = headers.get(b"x-api-key") or (token if scheme.lower() == b"bearer" else b"")
        same = [hmac.compare_digest(given, key) for key in self._keys]
        return same.index(True) if any(same) else None

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


def _is_open(path: str) -> bool:
    return path in _OPEN_PATHS or path.startswith("/static/")


def _host_name(headers: _Headers) -> str:
    """The Host header without its port."""
    host = headers.get(b"host", b"").decode("latin-1")
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _same_origin(headers: _Headers) -> bool:
    """A page elsewhere may open a WebSocket to anywhere; its browser only says where it is from."""
    origin = headers.get(b"origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.lower() == headers.get(b"host", b"").lower()
    except ValueError:
        return False


async def _refuse(send: Send, status: int, message: str) -> None:
    body = json.dumps({"detail": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
