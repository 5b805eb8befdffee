"""A page that needs no server: one file with the network inside, which runs in the browser.

It is the service's own page; only what it would ask the service for is answered in the page itself.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from entnet.data.babi_tasks import TASKS, generate
from entnet.data.story import Story
from entnet.export.weights import plain_network
from entnet.files import write_atomically
from entnet.models.base import name_of
from entnet.models.card import facts_of, manner_of, read_card
from entnet.models.entnet import EntNet
from entnet.text import tokenise
from entnet.tracker import load_entity_network

_SHARED = ("dom.js", "memory.js", "player.js", "story.js", "answer.js", "process.js")
_IMPORTS = re.compile(r"^import .*?;\n", re.MULTILINE | re.DOTALL)
_STORIES_PER_TASK = 6


def save_page(source: str, path: Path | str, title: str = "") -> int:
    """Write the page of a network, a directory or a shipped name, to a file; returns its size in bytes."""
    model = load_entity_network(source)
    page = page_html(model, name_of(source), read_card(source), title).encode()
    write_atomically(Path(path), page)
    return len(page)


def page_html(model: EntNet, name: str, card: dict[str, Any] | None = None, title: str = "") -> str:
    """The page as text. ``card``: what is said about the network, as in its card.json."""
    stories = _stories(model)
    known = {task for task, _ in stories}
    data = {
        "network": plain_network(model),
        "about": _about(model, name, card or {}),
        "manner": manner_of(card or {}).to_json(),
        "tasks": [{"task": n, "name": t.name} for n, t in TASKS.items() if n in known],
        "stories": [_plain(task, story) for task, story in stories],
    }
    icon = base64.b64encode(_static("serve", "icon.svg").encode()).decode()
    page = _static("serve", "index.html")
    for pattern, put in (
        (
            r"<title>.*?</title>",
            f"<title>{html.escape(title or f'{name}: watch a memory read')}</title>",
        ),
        (r'\s*<link rel="stylesheet" href="/static/shared/shared.css">', ""),
        (r'<link rel="stylesheet" href="/static/page.css">', f"<style>\n{_styles()}</style>"),
        (
            r'<script src="/static/shared/theme.js"></script>',
            _script(_static("inspection", "theme.js")),
        ),
        (r'<script type="module" src="/static/app.js"></script>', _scripts(data)),
        (r' <i>·</i></span> <a href="/docs">HTTP interface</a>', "</span>"),
    ):
        page, found = re.subn(pattern, lambda _, put=put: put, page, flags=re.DOTALL)  # type: ignore[misc]
        # The service's page and this one must not drift apart unseen.
        assert found == 1, f"index.html has {found} places for {pattern}"
    return page.replace("/static/icon.svg", f"data:image/svg+xml;base64,{icon}")


def _scripts(data: dict[str, Any]) -> str:
    parts = [module("inspection", name) for name in _SHARED]
    parts += [
        module("export", name)
        for name in ("context.js", "network.js", "binding.js", "tracker.js", "local.js")
    ]
    parts += [module("serve", name) for name in ("link.js", "process.js", "app.js")]
    # JSON that cannot end the element it stands in, whatever the vocabulary holds.
    embedded = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'<script type="application/json" id="network">{embedded}</script>\n'
        f'<script type="module">\n{"".join(parts)}</script>'
    )


def _stories(model: EntNet) -> list[tuple[int, Story]]:
    """Generated stories of every task whose words the network knows, to begin with."""
    return [
        (task, story)
        for task in TASKS
        for story in generate(task, questions=30, seed=7, split="test")[:_STORIES_PER_TASK]
        if _readable(model, story)
    ]


def _readable(model: EntNet, story: Story) -> bool:
    texts: Iterable[str] = (*story.sentences, *(question.text for question in story.questions))
    tokens = [tokenise(text, model.config.lowercase) for text in texts]
    return all(
        len(words) <= model.config.sentence_length and not model.vocab.unknown(words)
        for words in tokens
    ) and all(question.answer.lower() in model.vocab for question in story.questions)


def _about(model: EntNet, name: str, card: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, **facts_of(card)._asdict(), "slots": model.config.slots}


def _plain(task: int, story: Story) -> dict[str, Any]:
    questions = [
        {"after": question.after, "question": question.text, "answer": question.answer}
        for question in story.questions
    ]
    return {"task": task, "sentences": list(story.sentences), "questions": questions}


def _styles() -> str:
    return _static("inspection", "shared.css") + _static("serve", "page.css")


def _script(text: str) -> str:
    return f"<script>\n{text}</script>"


def module(room: str, name: str) -> str:
    """A script without its imports and exports, so that all can stand in one."""
    return _IMPORTS.sub("", _static(room, name)).replace("\nexport ", "\n")


def _static(room: str, name: str) -> str:
    return (resources.files("entnet") / room / "static" / name).read_text(encoding="utf-8")
