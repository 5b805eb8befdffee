"""The short way to verbs that are called thousands of times a second, past the framework's layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from entnet.serve.lean import LeanRoute, encoded, send_json

Problem = Callable[[Exception], tuple[int, str] | None]


class Shortcut:
    """Calls lean verbs of sessions itself, ``POST /sessions/ID/VERB``; all else goes to the application.

    Nothing but time depends on it: the application has the same routes.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute], problem: Problem) -> None:
        self.app = app
        self._problem = problem
        self._verbs = {
            route.path.removeprefix("/sessions/{session_id}/"): route
            for route in routes
            if isinstance(route, LeanRoute)
            and route.path.startswith("/sessions/{session_id}/")
            and route.lean is not None
            and "POST" in (route.methods or ())
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = None
        if scope["type"] == "http" and scope["method"] == "POST":
            parts = scope["path"].split("/")
            if len(parts) == 4 and parts[1] == "sessions" and parts[2]:
                route = self._verbs.get(parts[3])
        if route is None or route.lean is None:
            await self.app(scope, receive, send)
            return
        scope["route"] = route
        scope["path_params"] = {"session_id": parts[2]}
        try:
            await route.lean(scope, receive, send)
        except Exception as error:
            problem = self._problem(error)
            if problem is None:
                raise
            await send_json(send, problem[0], encoded({"detail": problem[1]}))
