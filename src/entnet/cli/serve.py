"""``entnet serve``"""

from __future__ import annotations

from typing import Annotated

import typer

from entnet.cli.common import console
from entnet.serve.ray_serve import run_on_ray
from entnet.serve.run import run
from entnet.serve.settings import ServeSettings

_DEFAULT = ServeSettings()


def register(app: typer.Typer) -> None:
    app.command()(serve)


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
    max_sessions: Annotated[
        int, typer.Option(help="Stories held at a time; whoever has most loses one first.")
    ] = _DEFAULT.max_sessions,
    max_sessions_per_client: Annotated[
        int,
        typer.Option(
            help="Stories held for one client: a key, if there are several, or an address."
        ),
    ] = _DEFAULT.max_sessions_per_client,
    session_seconds: Annotated[
        float, typer.Option(help="A story that nobody used for so long is dropped.")
    ] = _DEFAULT.session_seconds,
    max_sentences: Annotated[
        int, typer.Option(help="Sentences in a story.")
    ] = _DEFAULT.max_sentences,
    max_session_characters: Annotated[
        int, typer.Option(help="Characters in a story.")
    ] = _DEFAULT.max_session_characters,
    max_characters: Annotated[
        int, typer.Option(help="Characters in all stories.")
    ] = _DEFAULT.max_characters,
    max_text_characters: Annotated[
        int, typer.Option(help="Longest text in a request.")
    ] = _DEFAULT.max_text_characters,
    max_body_bytes: Annotated[int, typer.Option(help="Largest request.")] = _DEFAULT.max_body_bytes,
    max_trace_words: Annotated[
        int, typer.Option(help="Sentences × words per slot in one trace.")
    ] = _DEFAULT.max_trace_words,
    max_connections: Annotated[
        int, typer.Option(help="Connections held at a time.")
    ] = _DEFAULT.max_connections,
    request_seconds: Annotated[
        float, typer.Option(help="Time for a request to arrive, and for an answer to be taken.")
    ] = _DEFAULT.request_seconds,
    idle_seconds: Annotated[
        float, typer.Option(help="Time that a connection may be silent.")
    ] = _DEFAULT.idle_seconds,
    proxy: Annotated[
        str | None,
        typer.Option("--proxy", help="Address of a proxy to believe on whom it speaks for."),
    ] = None,
    ray: Annotated[
        bool, typer.Option("--ray", help="Serve on Ray Serve: replicas, which keep no stories.")
    ] = False,
    replicas: Annotated[int, typer.Option(min=1, help="With --ray: so many.")] = 2,
) -> None:
    """Serve networks over HTTP, with a page to watch their memory.

    [bold]Example:[/] entnet serve
    """
    settings = ServeSettings(
        max_sessions=max_sessions,
        max_sessions_per_client=max_sessions_per_client,
        session_seconds=session_seconds,
        max_sentences=max_sentences,
        max_session_characters=max_session_characters,
        max_characters=max_characters,
        max_text_characters=max_text_characters,
        max_body_bytes=max_body_bytes,
        max_trace_words=max_trace_words,
        max_connections=max_connections,
        request_seconds=request_seconds,
        idle_seconds=idle_seconds,
        api_key=api_key,
    )

    def ready(url: str) -> None:
        console.print(f"Serving at [bold]{url}[/]  (Ctrl-C stops)")

    if ray:
        run_on_ray(models or [], host, port, settings, replicas, on_ready=ready)
    else:
        run(models or [], host, port, settings, proxy=proxy, on_ready=ready)
