"""Counts of the Children's Book Test's files, as its makers published them, to stand beside theirs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from entnet.data.cbt.format import SPLITS, CbtQuestion, Kind, Split, cbt_file_name, iterate_cbt
from entnet.errors import DataError
from entnet.files import write_atomically


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
    by_context: float | None = None
    """Share answered by the candidate that is most frequent in the 20 sentences."""
    by_corpus: float | None = None
    """The same for the training file's sentences."""


Stats = dict[Kind, dict[Split, FileStats]]

PUBLISHED: dict[Kind, tuple[float, float]] = {"NE": (0.299, 0.120), "CN": (0.281, 0.158)}
"""Published accuracies of the most frequent candidate on test, in the context and in the books."""


@dataclass
class _Seen:
    """What must be remembered of a file to compare another with it."""

    words: set[str]
    candidates: set[str]
    questions: set[int]
    counts: Counter[str]


def measure(
    questions: Iterable[CbtQuestion], training: _Seen | None = None
) -> tuple[FileStats, _Seen]:
    """Count a file; with what was seen in training, also what it adds to that."""
    seen = _Seen(set(), set(), set(), Counter())
    lengths: dict[str, int] = {}
    examples = story_words = query_words = repeated = 0
    by_context = by_corpus = 0.0
    for question in questions:
        examples += 1
        for sentence in question.sentences:
            if sentence not in lengths:
                tokens = sentence.split(" ")
                lengths[sentence] = len(tokens)
                seen.words.update(token.lower() for token in tokens)
                seen.counts.update(tokens)
            story_words += lengths[sentence]
        tokens = question.query.lower().split(" ")
        seen.words.update(tokens)
        query_words += len(tokens)
        seen.candidates.update(question.candidates)
        identity = hash(question.query)
        seen.questions.add(identity)
        if training is not None:
            repeated += identity in training.questions
            here = Counter(token for text in question.sentences for token in text.split(" "))
            by_context += _by_frequency(question, here)
            by_corpus += _by_frequency(question, training.counts)
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
            by_context=by_context / max(examples, 1),
            by_corpus=by_corpus / max(examples, 1),
        )
    return stats, seen


def _by_frequency(question: CbtQuestion, counts: Counter[str]) -> float:
    """Whether the most frequent candidate is the answer; with ties, the chance that a draw gives it."""
    found = [counts[candidate] for candidate in question.candidates]
    best = max(found)
    return (counts[question.answer] == best) / found.count(best)


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
    found = {
        split: _parse_section(path, section)
        for split, section in zip(SPLITS, sections, strict=True)
    }
    for kind, (context, corpus) in PUBLISHED.items():
        if f"cbtest_{kind}_test" in sections[-1]:
            found["test"] = replace(found["test"], by_context=context, by_corpus=corpus)
    return found


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
    "by_context": "most frequent in the story is right",
    "by_corpus": "most frequent in training is right",
}


COUNTS = "cbt-counts.json"
"""Where a folder of results has them."""


def write_stats(path: Path, built: Stats, official: Stats) -> None:
    """Keep both in a file, from which the report makes the table."""
    both = {
        name: {
            kind: {split: asdict(one) for split, one in of.items()} for kind, of in stats.items()
        }
        for name, stats in (("built", built), ("official", official))
    }
    write_atomically(path, (json.dumps(both, indent=1) + "\n").encode())


def read_stats(path: Path) -> tuple[Stats, Stats]:
    """Built and official counts, as they were kept."""
    both = json.loads(path.read_text(encoding="utf-8"))
    built, official = (
        {kind: {split: FileStats(**one) for split, one in of.items()} for kind, of in stats.items()}
        for stats in (both["built"], both["official"])
    )
    return built, official


def stats_markdown(built: Stats, official: Stats) -> str:
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
    if isinstance(value, float):
        return f"{value:.3f}" if value <= 1 else f"{value:.1f}"
    return f"{value:,}"
