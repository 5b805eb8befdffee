"""A real browser for tests of pages: Debian's chromium, which reaches nothing but this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


@contextmanager
def open_browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("chromium is missing; scripts/ensure-chromium installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watched:
    """A page, with everything it complained of and every request that it sent."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def check(self, host: str = "127.0.0.1", allowed: tuple[str, ...] = ()) -> None:
        """No error in the console, no request to anywhere else."""
        complaints = [text for text in self.complaints if not any(part in text for part in allowed)]
        assert complaints == []
        elsewhere = [url for url in self.requests if urlsplit(url).hostname not in {host, None}]
        assert elsewhere == []


@contextmanager
def open_page(browser: Browser, **options: Any) -> Iterator[Watched]:
    context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
    context.set_default_timeout(15_000)
    watched = Watched(context.new_page())
    page = watched.page
    page.on("console", lambda said: watched.complaints.append(f"{said.type}: {said.text}")
            if said.type in {"error", "warning"} else None)  # fmt: skip
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    page.on("request", lambda request: watched.requests.append(request.url))
    try:
        yield watched
    finally:
        context.close()
