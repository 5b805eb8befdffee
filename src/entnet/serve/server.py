"""The HTTP server: uvicorn with limits on connections, and an end that loses nobody's answer."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import uvicorn

from entnet.errors import EntNetError
from entnet.serve.app import create_app
from entnet.serve.connections import Limited, LimitedStream
from entnet.serve.quiet import keep_logs_short
from entnet.serve.settings import ServeSettings

_OTHER_FILES = 64
"""Files that a service has open beside its connections."""


def configured(
    sources: Sequence[str], settings: ServeSettings, grace_seconds: int, proxy: str | None
) -> uvicorn.Config:
    """uvicorn's settings for a service."""
    keep_logs_short()
    allow_files(settings.max_connections + _OTHER_FILES)
    return uvicorn.Config(
        create_app(sources, settings),
        http=Limited.limited_to(settings.max_connections, settings.request_seconds),
        ws=LimitedStream,
        ws_max_size=settings.max_body_bytes,
        ws_per_message_deflate=False,
        timeout_keep_alive=int(settings.idle_seconds) or 1,
        timeout_graceful_shutdown=grace_seconds,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
    )


class Server(uvicorn.Server):
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Long work that has not begun is refused, so that what has begun ends in time."""
        self.config.app.state.service.work.stop()  # type: ignore[union-attr]
        await super().shutdown(sockets)


def allow_files(wanted: int) -> None:
    """Raise the limit on open files where the system lets us; say so where it does not."""
    try:
        import resource
    except ImportError:
        return  # no such limit on this system
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise EntNetError(
                f"this system allows {hard} open files, and {wanted} may be needed: "
                f"give --max-connections {max(1, hard - _OTHER_FILES)} or less"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
