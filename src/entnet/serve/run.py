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
    proxy: str | None = None,
    on_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until a signal comes; then finish what is being answered, and stop.

    ``proxy``: the address of a proxy whose word is taken on whom it speaks for (X-Forwarded-For).
    ``on_ready`` is told the address once connections are accepted.
    """
    settings = settings_for(host, settings or ServeSettings())
    try:
        from entnet.serve.server import Server, configured
    except ImportError as error:
        raise EntNetError(
            f"the service needs {error.name}; install it with: pip install 'entnet[serve]'"
        ) from error
    import torch

    # Steps are small: threads within one cost more than they bring.
    torch.set_num_threads(1)
    with _listen(host, port) as listener:
        server = Server(configured(sources, settings, grace_seconds, proxy))
        shown = f"[{host}]" if ":" in host else host
        on_ready(f"http://{shown}:{listener.getsockname()[1]}")
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            return


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise EntNetError(f"cannot listen at {host}, port {port}: {error.strerror}") from error
    # Connections inherit it. Without, an answer waits 40 ms for the client to acknowledge its headers.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
