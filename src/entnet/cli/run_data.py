"""What the run in a directory was trained and tested on, by content, beside what is given now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from entnet.data.identity import content_hash
from entnet.data.reading import read_stories
from entnet.data.story import Story
from entnet.errors import EntNetError

Part = Literal["train", "valid", "test"]


@dataclass(frozen=True)
class StoryFile:
    """A file of stories, read."""

    path: Path
    stories: list[Story]

    @classmethod
    def read(cls, path: Path) -> StoryFile:
        return cls(path, read_stories(path))

    def identity(self) -> dict[str, str]:
        """The file's name, for people, and its content's hash, which decides."""
        return {"file": self.path.name, "sha256": content_hash(self.stories)}


@dataclass(frozen=True)
class EarlierRun:
    """What a run directory says about a run that was started in it."""

    directory: Path
    data: dict[str, dict[str, str]] | None
    """By part, the files' names and hashes; None for a run that did not record its data."""
    finished: bool
    sentence_length: int | None

    @classmethod
    def find(cls, directory: Path) -> EarlierRun | None:
        """The run in this directory, if there is one."""
        run = _read_json(directory / "run.json")
        if run is None:
            return None
        result = _read_json(directory / "result.json")
        data = (result or {}).get("data") or run.get("about", {}).get("data")
        length = run.get("model", {}).get("sentence_length")
        recorded = data if isinstance(data, dict) and "train" in data else None
        return cls(directory, recorded, result is not None, length)

    def require_same_training_data(self, given: Mapping[Part, StoryFile | None]) -> None:
        """Refuse to pass off a run on other training or validation stories as this one."""
        parts: tuple[Part, ...] = ("train", "valid")
        for part in parts:
            recorded, now = (self.data or {}).get(part), given.get(part)
            if self.data is None or (recorded or {}).get("sha256") == _hash(now):
                continue
            was = recorded["file"] if recorded else "none"
            name = now.path.name if now else "none"
            content = " with other content" if was == name else f", not {name}"
            raise EntNetError(
                f"{self.directory}: holds a run on other data (--{part} was {was}{content}); "
                "give another --out, or delete it"
            )

    def was_tested_on(self, test: StoryFile) -> bool:
        """Whether the run's own result is about these test stories; unknown counts as yes."""
        if self.data is None:
            return True
        return (self.data.get("test") or {}).get("sha256") == _hash(test)


def _hash(file: StoryFile | None) -> str | None:
    return None if file is None else file.identity()["sha256"]


def _read_json(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
