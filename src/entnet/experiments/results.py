"""results/TABLE.jsonl: a line a finished run, never two for the same run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from entnet.errors import DataError
from entnet.experiments.legacy import current_line
from entnet.experiments.preset import current_variant
from entnet.files import write_atomically
from entnet.tasks.spec import Result, RunKey, RunSpec


def results_path(results: Path, table: str) -> Path:
    return results / f"{table}.jsonl"


def line_key(line: Result) -> RunKey:
    return (line["table"], line["task"], line["variant"], line["seed"])


def read_results(path: Path) -> list[Result]:
    """All lines of a results file in today's form; none if there is no file."""
    return [line for _, line in _read(path)]


def add_result(path: Path, line: Result) -> bool:
    """Append a run's line unless the file has one for this run; True if it was added."""
    with _locked(path):
        kept = _read(path)
        if any(line_key(old) == line_key(line) for _, old in kept):
            return False
        text = json.dumps(line, separators=(",", ":"), ensure_ascii=False)
        _write(path, [*(text for text, _ in kept), text])
    return True


def drop_results(path: Path, specs: list[RunSpec]) -> int:
    """Take out the lines of these runs; how many there were."""
    dropped = {spec.key for spec in specs}
    with _locked(path):
        lines = _read(path)
        kept = [text for text, line in lines if line_key(line) not in dropped]
        if len(kept) < len(lines):
            _write(path, kept)
    return len(lines) - len(kept)


def _read(path: Path) -> list[tuple[str, Result]]:
    """Each line's text, which is never written otherwise, and what it says in today's form."""
    if not path.is_file():
        return []
    lines: list[tuple[str, Result]] = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            line = current_line(json.loads(text))
            line = {**line, "variant": current_variant(line["table"], line["variant"])}
            line_key(line)
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise DataError(path, number, f"not a line of results: {error}") from error
        lines.append((text, line))
    return lines


def _write(path: Path, lines: list[str]) -> None:
    write_atomically(path, "".join(f"{text}\n" for text in lines).encode())


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Several sweeps may write to the same file; one at a time."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / f".{path.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
