"""Running the service."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence

from entnet.errors import EntNetError
from entnet.serve.settings import ServeSettings

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a service bound to this address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def settings_for(host: str, settings: ServeSettings) -> ServeSettings:
    """Beyond loopback a service must have a key; on loopback it answers to its own names only."""
    if is_loopback(host):
        return settings.replace(hosts=settings.hosts or (*_LOOPBACK_NAMES, host.lower()))
    if settings.api_key is None:
        raise EntNetError(
            f"{host} can be reached from other machines: give --api-key, or bind to 127.0.0.1"
        )
    return settings


def run(
    sources: Sequence[str] = (),
    host: str = "127.0.0.1",
    port: int = 8000,
    settings: ServeSettings | None = None,
    grace_seconds: int = 5,
    on_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until a signal comes; then finish what is being answered, and stop.

    ``on_ready`` is told the address once connections are accepted.
    """
    settings = settings_for(host, settings or ServeSettings())
    try:
        import uvicorn

        from entnet.serve.app import create_app
    except ImportError as error:
        raise EntNetError(
            f"the service needs {error.name}; install it with: pip install 'entnet[serve]'"
        ) from error
    import torch

    # Steps are small: threads within one cost more than they bring; requests run side by side.
    torch.set_num_threads(1)
    app = create_app(sources, settings)
    with _listen(host, port) as listener:
        shown = f"[{host}]" if ":" in host else host
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=grace_seconds,
        )
        on_ready(f"http://{shown}:{listener.getsockname()[1]}")
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            return


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise EntNetError(f"cannot listen at {host}, port {port}: {error.strerror}") from error
