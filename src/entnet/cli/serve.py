"""``entnet serve``"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from entnet.cli.common import console
from entnet.serve.ray_serve import run_on_ray
from entnet.serve.run import run
from entnet.serve.settings import ServeSettings

_LIMITS = {
    "max_sessions": "Stories held at a time; whoever has most loses one first.",
    "max_sessions_per_client": (
        "Stories held for one client: a key, if there are several, or an address."
    ),
    "session_seconds": "A story that nobody used for so long is dropped.",
    "max_sentences": "Sentences in a story.",
    "max_session_characters": "Characters in a story.",
    "max_characters": "Characters in all stories.",
    "max_text_characters": "Longest text in a request.",
    "max_body_bytes": "Largest request.",
    "max_trace_words": "Sentences × words per slot in one trace.",
    "max_connections": "Connections held at a time.",
    "request_seconds": "Time for a request to arrive, and for an answer to be taken.",
    "idle_seconds": "Time that a connection may be silent.",
}


def register(app: typer.Typer) -> None:
    app.command()(_with_limits(serve))


def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="Networks to offer, by name or directory; all shipped ones if left out."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; beyond loopback a key is needed.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")
    ] = 8000,
    api_key: Annotated[
        str | None,
        typer.Option(
            "--api-key",
            envvar="ENTNET_API_KEY",
            help="Requests must carry this key; several are separated by commas.",
        ),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option("--proxy", help="Address of a proxy to believe on whom it speaks for."),
    ] = None,
    ray: Annotated[
        bool, typer.Option("--ray", help="Serve on Ray Serve: replicas, which keep no stories.")
    ] = False,
    replicas: Annotated[int, typer.Option(min=1, help="With --ray: so many.")] = 2,
    **limits: Any,
) -> None:
    """Serve networks over HTTP, with a page to watch their memory.

    [bold]Example:[/] entnet serve
    """
    settings = ServeSettings(api_key=api_key, **limits)

    def ready(url: str) -> None:
        console.print(f"Serving at [bold]{url}[/]  (Ctrl-C stops)")

    if ray:
        run_on_ray(models or [], host, port, settings, replicas, on_ready=ready)
    else:
        run(models or [], host, port, settings, proxy=proxy, on_ready=ready)


def _with_limits(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each limit, of the type and default that ServeSettings gives it."""
    types, defaults = get_type_hints(ServeSettings), ServeSettings()
    own = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=getattr(defaults, name),
            annotation=Annotated[types[name], typer.Option(help=text)],
        )
        for name, text in _LIMITS.items()
    ]
    kept = [one for one in own.parameters.values() if one.name != "limits"]
    command.__signature__ = own.replace(parameters=[*kept, *options])  # type: ignore[attr-defined]
    return command
