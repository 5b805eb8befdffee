"""The service put together: verbs, page, errors, limits."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from entnet.errors import EntNetError
from entnet.serve import schemas
from entnet.serve.guard import Guard
from entnet.serve.lean import LeanRoute
from entnet.serve.library import Library
from entnet.serve.metrics import Metrics
from entnet.serve.problems import ClientError, shortened
from entnet.serve.processes import add_processes
from entnet.serve.routes import PROBLEMS, add_networks
from entnet.serve.service import Service
from entnet.serve.session_routes import add_sessions
from entnet.serve.sessions import SessionStore
from entnet.serve.settings import ServeSettings
from entnet.serve.shortcut import Shortcut
from entnet.serve.stateless import add_stateless
from entnet.serve.stream import add_stream
from entnet.serve.work import LongWork
from entnet.training.result import package_version

log = logging.getLogger("entnet.serve")
PAGE = Path(str(resources.files("entnet"))) / "serve" / "static"
SHARED = Path(str(resources.files("entnet"))) / "inspection" / "static"


class App(FastAPI):
    """FastAPI behind the guard and beside the shortcut."""

    def begin_with(self, settings: ServeSettings, metrics: Metrics) -> None:
        shortcut = Shortcut(super().__call__, self.routes, problem_of)
        self._entrance = Guard(shortcut, settings, metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._entrance(scope, receive, send)


def create_app(sources: Sequence[str] = (), settings: ServeSettings | None = None) -> FastAPI:
    """The service as an ASGI application, with the given networks or all that are shipped."""
    settings = settings or ServeSettings()
    metrics, work = Metrics(), LongWork()
    sessions = SessionStore(
        settings, work, on_end=lambda ending: metrics.ended.labels(ending).inc()
    )
    metrics.count_sessions_with(lambda: len(sessions))
    service = Service(settings, Library(sources, settings.max_models), sessions, metrics, work)
    app = App(
        title="entnet",
        version=package_version(),
        summary="Read a story once, track the state of the world, answer at any moment.",
        docs_url=None,
        redoc_url=None,
        responses=PROBLEMS,
    )
    app.state.service = service
    app.router.route_class = LeanRoute
    if settings.sessions:
        add_sessions(app.router, service)
        add_stream(app.router, service)
    add_stateless(app.router, service)
    add_networks(app.router, service)
    add_processes(app.router, service)
    _add_watching(app, service)
    _add_page(app, settings)
    _add_errors(app)
    app.begin_with(settings, metrics)
    return app


def _add_watching(app: FastAPI, service: Service) -> None:
    @app.get("/health", tags=["watching"], response_model=schemas.Health)
    async def health() -> dict[str, Any]:
        """Whether the service is up."""
        return {"status": "ok", "version": package_version(), "sessions": len(service.sessions)}

    @app.get(
        "/metrics",
        tags=["watching"],
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        """Counters for Prometheus."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


def _add_page(app: FastAPI, settings: ServeSettings) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        """The page needs sessions; without them, what programs can do is shown."""
        return FileResponse(PAGE / ("index.html" if settings.sessions else "docs.html"))

    @app.get("/docs", include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(PAGE / "docs.html")

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> FileResponse:
        return FileResponse(PAGE / "icon.svg", media_type="image/svg+xml")

    app.mount("/static/shared", StaticFiles(directory=SHARED), name="shared")
    app.mount("/static", StaticFiles(directory=PAGE), name="static")


def _add_errors(app: FastAPI) -> None:
    """Every mistake is answered in the same form, and none with a traceback."""

    @app.exception_handler(EntNetError)
    @app.exception_handler(RequestValidationError)
    async def wrong(request: Request, error: Exception) -> JSONResponse:
        return _response(*_problem(error))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        known = {
            404: "nothing is here; /docs lists what there is",
            405: f"{request.method} is not possible here; /docs lists what is",
        }
        message = known.get(error.status_code, str(error.detail))
        return _response(error.status_code, message, error.headers)

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> JSONResponse:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return _response(500, "the service made a mistake; its log tells more")


def problem_of(error: Exception) -> tuple[int, str] | None:
    """Status and message for a mistake of a client; none for a mistake of the service."""
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    if isinstance(error, EntNetError | RequestValidationError):
        return _problem(error)
    return None


def _problem(error: Exception) -> tuple[int, str]:
    if isinstance(error, RequestValidationError):
        return 422, "; ".join(_explain(item) for item in error.errors()[:5])
    return (error.status if isinstance(error, ClientError) else 422), str(error)


def _response(status: int, message: str, headers: Any = None) -> JSONResponse:
    return JSONResponse({"detail": shortened(message, 2000)}, status, headers)


def _explain(item: dict[str, Any]) -> str:
    """One thing wrong with a request, and where."""
    where = ".".join(str(part) for part in item["loc"] if part not in {"body", "query", "path"})
    return f"{shortened(where)}: {item['msg']}" if where else str(item["msg"])
