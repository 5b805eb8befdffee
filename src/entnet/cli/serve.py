"""``entnet serve``"""

from __future__ import annotations

from typing import Annotated

import typer

from entnet.cli.common import console
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
        typer.Option("--api-key", envvar="ENTNET_API_KEY", help="Requests must carry this key."),
    ] = None,
    max_sessions: Annotated[
        int, typer.Option(help="Stories held at a time; the least recently used goes first.")
    ] = _DEFAULT.max_sessions,
    session_seconds: Annotated[
        float, typer.Option(help="A story that nobody used for so long is dropped.")
    ] = _DEFAULT.session_seconds,
    max_sentences: Annotated[
        int, typer.Option(help="Sentences in a story.")
    ] = _DEFAULT.max_sentences,
    max_text_characters: Annotated[
        int, typer.Option(help="Longest text in a request.")
    ] = _DEFAULT.max_text_characters,
    max_body_bytes: Annotated[int, typer.Option(help="Largest request.")] = _DEFAULT.max_body_bytes,
) -> None:
    """Serve networks over HTTP, with a page to watch their memory.

    [bold]Example:[/] entnet serve
    """
    settings = ServeSettings(
        max_sessions=max_sessions,
        session_seconds=session_seconds,
        max_sentences=max_sentences,
        max_text_characters=max_text_characters,
        max_body_bytes=max_body_bytes,
        api_key=api_key,
    )
    run(
        models or [],
        host,
        port,
        settings,
        on_ready=lambda url: console.print(f"Serving at [bold]{url}[/]  (Ctrl-C stops)"),
    )
