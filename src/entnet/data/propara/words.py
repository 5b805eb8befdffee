"""Lists of words, kept in ``words.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def word_lists() -> dict[str, Any]:
    text = (resources.files("entnet.data.propara") / "words.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def items(text: str) -> list[str]:
    """Phrases with semicolons between them."""
    return [" ".join(item.split()) for item in text.split(";")]
