"""Counts of the Children's Book Test's files, as its makers published them, to stand beside theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from entnet.data.cbt import SPLITS, CbtQuestion, Kind, Split, cbt_file_name, iterate_cbt
from entnet.errors import DataError


@dataclass(frozen=True)
class FileStats:
    """What the makers' statistics say about a file.

    Words are counted in lower case, candidates as they stand; questions are the same if their queries are.
    That is how the makers' counts come out on texts that are known.
    """

    examples: int
    distinct: int
    story_words: float
    """Mean number of tokens in the 20 sentences."""
    query_words: float
    vocabulary: int
    candidates: int
    """Distinct candidates."""
    new_words: int | None = None
    """Words that the training file lacks."""
    new_candidates: int | None = None
    """Candidates that are no candidates in the training file."""
    repeated: int | None = None
    """Questions that also stand in the training file."""


@dataclass
class _Seen:
    """What must be remembered of a file to compare another with it."""

    words: set[str]
    candidates: set[str]
    questions: set[int]


def measure(
    questions: Iterable[CbtQuestion], training: _Seen | None = None
) -> tuple[FileStats, _Seen]:
    """Count a file; with what was seen in training, also what it adds to that."""
    seen = _Seen(set(), set(), set())
    lengths: dict[str, int] = {}
    examples = story_words = query_words = repeated = 0
    for question in questions:
        examples += 1
        for sentence in question.sentences:
            if sentence not in lengths:
                tokens = sentence.lower().split(" ")
                lengths[sentence] = len(tokens)
                seen.words.update(tokens)
            story_words += lengths[sentence]
        tokens = question.query.lower().split(" ")
        seen.words.update(tokens)
        query_words += len(tokens)
        seen.candidates.update(question.candidates)
        identity = hash(question.query)
        seen.questions.add(identity)
        repeated += training is not None and identity in training.questions
    stats = FileStats(
        examples,
        len(seen.questions),
        story_words / max(examples, 1),
        query_words / max(examples, 1),
        len(seen.words),
        len(seen.candidates),
    )
    if training is not None:
        stats = replace(
            stats,
            new_words=len(seen.words - training.words),
            new_candidates=len(seen.candidates - training.candidates),
            repeated=repeated,
        )
    return stats, seen


def measure_kind(directory: Path | str, kind: Kind) -> dict[Split, FileStats]:
    """Statistics of the three files of a kind."""
    found: dict[Split, FileStats] = {}
    training: _Seen | None = None
    for split in SPLITS:
        path = Path(directory) / cbt_file_name(kind, split)
        found[split], seen = measure(iterate_cbt(path), training)
        training = training or seen
    return found


_PATTERNS = {
    "examples": r"# of examples \(all / distinct\):\s+(\d+)",
    "distinct": r"# of examples \(all / distinct\):\s+\d+\s+(\d+)",
    "story_words": r"# of words in stories .*?:\s+\d+\s+([\d.]+)",
    "query_words": r"# of words in questions .*?:\s+\d+\s+([\d.]+)",
    "vocabulary": r"Vocabulary size:\s+(\d+)",
    "candidates": r"# of distinct candidates:\s+(\d+)",
    "new_words": r"Additional words .*?:\s+(\d+)",
    "new_candidates": r"Additional cands .*?:\s+(\d+)",
    "repeated": r"Ident\w+ questions .*?:\s+(\d+)",
}


def read_official_stats(path: Path | str) -> dict[Split, FileStats]:
    """The makers' own statistics: stats/stats_NE.txt and its like."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(path, None, f"cannot be read: {error.strerror}") from error
    sections = re.split(r"PROCESSING:", text)[1:]
    if len(sections) != len(SPLITS):
        raise DataError(path, None, f"{len(sections)} files described, expected {len(SPLITS)}")
    return {split: _parse_section(path, text) for split, text in zip(SPLITS, sections, strict=True)}


def _parse_section(path: Path, text: str) -> FileStats:
    values: dict[str, float | int | None] = {}
    for name, pattern in _PATTERNS.items():
        match = re.search(pattern, text)
        if match is None:
            if not name.startswith(("new_", "repeated")):
                raise DataError(path, None, f"no line for {name}")
            values[name] = None
        else:
            number = float(match[1])
            values[name] = number if name.endswith("_words") and "." in match[1] else int(number)
    return FileStats(**values)  # type: ignore[arg-type]


LABELS = {
    "examples": "questions",
    "distinct": "distinct questions",
    "story_words": "words a story",
    "query_words": "words a query",
    "vocabulary": "vocabulary",
    "candidates": "distinct candidates",
    "new_words": "words not in training",
    "new_candidates": "candidates not in training",
    "repeated": "questions also in training",
}


def stats_markdown(
    built: dict[Kind, dict[Split, FileStats]], official: dict[Kind, dict[Split, FileStats]]
) -> str:
    """Built and official counts side by side, a column pair a file."""
    files = [(kind, split) for kind in built for split in SPLITS]
    head = " | ".join(f"{kind} {split}" for kind, split in files)
    lines = [f"| built / official | {head} |", "|---" * (len(files) + 1) + "|"]
    for name, label in LABELS.items():
        cells = []
        for kind, split in files:
            ours = getattr(built[kind][split], name)
            theirs = getattr(official[kind][split], name) if kind in official else None
            cells.append(f"{_show(ours)} / {_show(theirs)}")
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _show(value: float | int | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if isinstance(value, float) else f"{value:,}"
