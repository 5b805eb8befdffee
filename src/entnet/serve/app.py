"""The service put together: verbs, page, errors, limits."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from entnet.errors import EntNetError
from entnet.serve import schemas
from entnet.serve.guard import Guard
from entnet.serve.library import Library
from entnet.serve.metrics import Metrics
from entnet.serve.problems import ClientError, shortened
from entnet.serve.routes import Service, about_networks, about_sessions
from entnet.serve.sessions import SessionStore
from entnet.serve.settings import ServeSettings

log = logging.getLogger("entnet.serve")
PAGE = Path(str(resources.files("entnet"))) / "serve" / "static"
SHARED = Path(str(resources.files("entnet"))) / "inspection" / "static"


def create_app(sources: Sequence[str] = (), settings: ServeSettings | None = None) -> FastAPI:
    """The service as an ASGI application, with the given networks or all that are shipped."""
    settings = settings or ServeSettings()
    metrics = Metrics()
    sessions = SessionStore(
        settings.max_sessions,
        settings.session_seconds,
        settings.max_sentences,
        on_end=lambda ending: metrics.ended.labels(ending).inc(),
    )
    metrics.count_sessions_with(lambda: len(sessions))
    service = Service(settings, Library(sources, settings.max_models), sessions, metrics)
    app = FastAPI(
        title="entnet",
        version=version(),
        summary="Read a story once, track the state of the world, answer at any moment.",
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    app.add_middleware(Guard, settings=settings, metrics=metrics)
    app.include_router(about_networks(service))
    app.include_router(about_sessions(service))
    _add_watching(app, service)
    _add_page(app)
    _add_errors(app)
    return app


def version() -> str:
    try:
        return metadata.version("entnet")
    except metadata.PackageNotFoundError:
        return "0"


def _add_watching(app: FastAPI, service: Service) -> None:
    @app.get("/health", tags=["watching"])
    def health() -> schemas.Health:
        """Whether the service is up."""
        return schemas.Health(status="ok", version=version(), sessions=len(service.sessions))

    @app.get(
        "/metrics",
        tags=["watching"],
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    def metrics() -> Response:
        """Counters for Prometheus."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    @app.get("/docs", include_in_schema=False)
    def docs() -> FileResponse:
        return FileResponse(PAGE / "docs.html")

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> FileResponse:
        return FileResponse(PAGE / "icon.svg", media_type="image/svg+xml")

    app.mount("/static/shared", StaticFiles(directory=SHARED), name="shared")
    app.mount("/static", StaticFiles(directory=PAGE), name="static")


def _add_errors(app: FastAPI) -> None:
    """Every mistake is answered in the same form, and none with a traceback."""

    @app.exception_handler(EntNetError)
    def wrong(request: Request, error: EntNetError) -> JSONResponse:
        return _problem(error.status if isinstance(error, ClientError) else 422, str(error))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return _problem(422, "; ".join(_explain(item) for item in error.errors()[:5]))

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> JSONResponse:
        known = {
            404: "nothing is here; /docs lists what there is",
            405: f"{request.method} is not possible here; /docs lists what is",
        }
        message = known.get(error.status_code, str(error.detail))
        return _problem(error.status_code, message, error.headers)

    @app.exception_handler(Exception)
    def broken(request: Request, error: Exception) -> JSONResponse:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return _problem(500, "the service made a mistake; its log tells more")


def _problem(status: int, message: str, headers: Any = None) -> JSONResponse:
    return JSONResponse({"detail": shortened(message, 2000)}, status, headers)


def _explain(item: dict[str, Any]) -> str:
    """One thing wrong with a request, and where."""
    where = ".".join(str(part) for part in item["loc"] if part not in {"body", "query", "path"})
    return f"{shortened(where)}: {item['msg']}" if where else str(item["msg"])
