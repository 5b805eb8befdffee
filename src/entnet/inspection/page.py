"""A trace as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import html
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

from entnet.files import write_atomically
from entnet.inspection.trace import Trace

_SCRIPTS = ("dom.js", "memory.js", "player.js", "story.js", "answer.js", "export.js")
_LINKS = re.compile(r"^import .*?;\n", re.MULTILINE | re.DOTALL)

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
<script>
{theme}</script>
</head>
<body class="exported">
<header><h1>{title}</h1><button type="button" id="theme" aria-label="Light or dark">◐</button></header>
<main>
<section class="card" aria-label="Story"><div class="frame"><ol id="story"></ol></div><div id="answer"></div></section>
<section class="card" aria-label="Memory"><div id="player"></div><p class="moment" id="moment"></p><div id="memory"></div></section>
</main>
<script type="application/json" id="trace">{data}</script>
<script type="module">
{script}</script>
</body>
</html>
"""  # noqa: E501


def html_page(trace: Trace, title: str = "") -> str:
    """The story, the memory as it went, the questions and their answers, to be stepped through."""
    script = "\n".join(_module(name) for name in _SCRIPTS)
    return _PAGE.format(
        title=html.escape(title or f"A story read by {trace.model or 'an entity network'}"),
        style=_file("shared.css") + _file("export.css"),
        theme=_file("theme.js"),
        data=_embedded(trace.to_dict()),
        script=script,
    )


def save_page(trace: Trace, path: Path | str, title: str = "") -> None:
    """Write ``html_page`` to a file."""
    write_atomically(Path(path), html_page(trace, title).encode())


def _embedded(value: dict[str, Any]) -> str:
    """JSON that cannot end the element it stands in, whatever the story says."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _module(name: str) -> str:
    """A script without its imports and exports, so that all can stand in one."""
    return _LINKS.sub("", _file(name)).replace("\nexport ", "\n")


def _file(name: str) -> str:
    folder = resources.files("entnet") / "inspection" / "static"
    return (folder / name).read_text(encoding="utf-8")
