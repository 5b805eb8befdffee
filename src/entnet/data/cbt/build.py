"""The Children's Book Test built from tagged books.

Every 21 consecutive sentences of a book are tried. A question is made for every distinct word of its kind
in the 21st sentence that also occurs, as that kind, in the 20 before. Nine more candidates are drawn
evenly from the distinct words of that kind in the 20 sentences; where these are too few, from common
nouns (for named entities) and then from words of any kind. Candidates stand in alphabetical order.

Two passes, a book at a time: one for a lexicon, one for the questions. What is drawn depends on the
seed, the book and the kind alone, so that any number of processes makes the same files.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from entnet.data.cbt.format import (
    BLANK,
    CANDIDATES,
    CONTEXT,
    KINDS,
    SPLITS,
    CbtQuestion,
    Kind,
    Split,
    cbt_file_name,
    format_question,
    iterate_cbt,
    write_cbt,
)
from entnet.data.cbt.rules import READINGS, Lexicon, Reading, ReadingName, is_any_noun
from entnet.data.cbt.tags import Book, Sentence, Token, list_books, read_tagged
from entnet.errors import EntNetError
from entnet.files import write_atomically

DRAWN: dict[Split, int | None] = {"train": None, "valid": 2000, "test": 2500}
"""Questions kept of all possible ones."""
# Columns of a story's words: those offered for each kind, nouns of any sort, those asked for of each kind.
_NOUNS = len(KINDS)
_ASKED = len(KINDS) + 1
_COLUMNS = 2 * len(KINDS) + 1


@dataclass(frozen=True)
class BuildConfig:
    """Everything that decides what the files hold."""

    seed: int = 1
    reading: ReadingName = "official"
    kinds: tuple[Kind, ...] = ("NE", "CN")
    splits: tuple[Split, ...] = SPLITS
    """Files to make. All books are counted all the same, so each is as it would be beside the others."""


def default_directory() -> Path:
    """Where built questions lie unless told otherwise: the user's cache."""
    return Path(platformdirs.user_cache_dir("entnet")) / "cbt"


# The first pass.


class BookWords(NamedTuple):
    """What the first pass takes from a book; counts are of words in lower case."""

    counts: Counter[str]
    proper: Counter[str]
    entities: set[str]


def book_lexicon(book: Book) -> BookWords:
    """Words of a book with their counts, as proper nouns too, and those that carry an entity label."""
    found = BookWords(Counter(), Counter(), set())
    for sentence in read_tagged(book.path):
        found.counts.update(token.word.lower() for token in sentence)
        found.proper.update(token.word.lower() for token in sentence if token.tag[:3] == "NNP")
        found.entities.update(token.word for token in sentence if token.label != "O")
    return found


def merge_lexicons(books: Sequence[Book], found: Iterable[BookWords]) -> Lexicon:
    counts: Counter[str] = Counter()
    proper: Counter[str] = Counter()
    entities: set[str] = set()
    for book, words in zip(books, found, strict=True):
        entities |= words.entities
        if book.split == "train":
            counts.update(words.counts)
            proper.update(words.proper)
    return Lexicon(dict(counts), dict(proper), frozenset(entities))


# The second pass.


class _Window:
    """The last 20 sentences, with the distinct words of each kind in them."""

    def __init__(self) -> None:
        self.sentences: deque[tuple[str, list[list[str]]]] = deque()
        self.words: list[dict[str, int]] = [{} for _ in range(_COLUMNS)]

    @property
    def full(self) -> bool:
        return len(self.sentences) == CONTEXT

    def push(self, text: str, words: list[list[str]]) -> None:
        if self.full:
            for held, gone in zip(self.words, self.sentences.popleft()[1], strict=True):
                for word in gone:
                    held[word] -= 1
                    if not held[word]:
                        del held[word]
        self.sentences.append((text, words))
        for held, new in zip(self.words, words, strict=True):
            for word in new:
                held[word] = held.get(word, 0) + 1

    def texts(self) -> tuple[str, ...]:
        return tuple(text for text, _ in self.sentences)


class Place(NamedTuple):
    """A sentence of a book, and the twenty before it."""

    window: _Window
    tokens: list[str]
    asked: dict[Kind, dict[str, list[int]]]
    """Where the words that can be asked for stand in the sentence."""

    def can_ask(self, kind: Kind) -> Iterator[tuple[str, list[int]]]:
        """Words of this kind in the sentence that also occur, as that kind, in the twenty before."""
        before = self.window.words[_ASKED + KINDS.index(kind)]
        return ((word, places) for word, places in self.asked[kind].items() if word in before)

    def offered(self, kind: Kind) -> set[str]:
        """Words of the twenty sentences that can be candidates of this kind."""
        return set(self.window.words[KINDS.index(kind)])

    def query(self, position: int) -> str:
        return " ".join([*self.tokens[:position], BLANK, *self.tokens[position + 1 :]])


def book_places(
    sentences: Iterable[Sentence], kinds: Iterable[Kind], reading: Reading, lexicon: Lexicon
) -> Iterator[Place]:
    """Every sentence of a book that has twenty before it, in order."""
    window = _Window()
    known: dict[Token, _Use] = {}
    kinds = tuple(kinds)
    for sentence in sentences:
        words: list[list[str]] = [[] for _ in range(_COLUMNS)]
        asked: dict[Kind, dict[str, list[int]]] = {kind: {} for kind in kinds}
        for position, token in enumerate(sentence):
            use = known.get(token)
            if use is None:
                use = known[token] = _use(token, reading, lexicon)
            for column in use.columns:
                words[column].append(token.word)
            for kind in use.asked:
                if kind in asked:
                    asked[kind].setdefault(token.word, []).append(position)
        tokens = [token.word for token in sentence]
        if window.full:
            yield Place(window, tokens, asked)
        window.push(" ".join(tokens), words)


def book_questions(
    sentences: Iterable[Sentence],
    draws: dict[Kind, random.Random],
    reading: Reading,
    lexicon: Lexicon,
) -> Iterator[tuple[Kind, CbtQuestion]]:
    """All questions that a book allows, in its order, each kind with its own source of chance."""
    for place in book_places(sentences, draws, reading, lexicon):
        for kind, draw in draws.items():
            for answer, positions in place.can_ask(kind):
                candidates = draw_candidates(answer, kind, place.window.words, draw)
                if candidates is not None:
                    position = positions[0]
                    if reading.any_place and len(positions) > 1:
                        position = draw.choice(positions)
                    yield (
                        kind,
                        CbtQuestion(
                            place.window.texts(), place.query(position), answer, candidates
                        ),
                    )


class _Use(NamedTuple):
    """What a token can be in a question."""

    columns: tuple[int, ...]
    asked: tuple[Kind, ...]


def _use(token: Token, reading: Reading, lexicon: Lexicon) -> _Use:
    offered = reading.kinds(token, lexicon)
    asked = tuple(kind for kind in offered if reading.asks(token, kind, lexicon))
    columns = [KINDS.index(kind) for kind in offered]
    columns += [_ASKED + KINDS.index(kind) for kind in asked]
    if is_any_noun(token, lexicon):
        columns.append(_NOUNS)
    return _Use(tuple(columns), asked)


def draw_candidates(
    answer: str, kind: Kind, words: Sequence[dict[str, int]], draw: random.Random
) -> tuple[str, ...] | None:
    """The answer and nine more words of the story, in alphabetical order; None if there are too few."""
    chosen = {answer}
    pools: list[Iterable[str]] = [words[KINDS.index(kind)]]
    if kind == "NE":
        pools.append(words[_NOUNS])
    pools.append(word for held in words for word in held)
    for pool in pools:
        missing = CANDIDATES - len(chosen)
        if not missing:
            break
        free = sorted(set(pool) - chosen)
        chosen.update(draw.sample(free, min(missing, len(free))))
    return tuple(sorted(chosen)) if len(chosen) == CANDIDATES else None


# Files.


def _book_files(book: Book, folder: Path, config: BuildConfig, lexicon: Lexicon) -> dict[Kind, int]:
    """Write a book's questions, a file a kind; how many there are."""
    draws = {kind: random.Random(f"{config.seed} {book.name} {kind}") for kind in config.kinds}
    counts: dict[Kind, int] = dict.fromkeys(config.kinds, 0)
    with ExitStack() as stack:
        files = {
            kind: stack.enter_context(_part(folder, book, kind).open("w", encoding="utf-8"))
            for kind in config.kinds
        }
        sentences = read_tagged(book.path)
        for kind, question in book_questions(sentences, draws, READINGS[config.reading], lexicon):
            files[kind].write(format_question(question))
            counts[kind] += 1
    return counts


def _part(folder: Path, book: Book, kind: Kind) -> Path:
    return folder / f"{kind}-{book.name}.txt"


def build_cbt(
    tagged: Path | str,
    directory: Path | str | None = None,
    config: BuildConfig | None = None,
    processes: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Build the question files under ``directory`` from the tagged books; says what was built.

    ``progress`` is told books done and books in all. The files are in place only when all are whole.
    """
    began = time.monotonic()
    config = config or BuildConfig()
    target = Path(directory) if directory else default_directory()
    books = list_books(tagged)
    for split in SPLITS:
        if not any(book.split == split for book in books):
            raise EntNetError(f"{Path(tagged) / 'books.tsv'}: no book for {split}")
    parts = target / ".parts"
    shutil.rmtree(parts, ignore_errors=True)
    parts.mkdir(parents=True)
    tell = progress or (lambda done, total: None)
    try:
        with _pool(processes) as each:
            lexicon = merge_lexicons(books, each(book_lexicon, books))
            # Large books first, so that no process is left with one at the end.
            made = [book for book in books if book.split in config.splits]
            order = sorted(made, key=lambda book: -book.path.stat().st_size)
            work = partial(_book_files, folder=parts, config=config, lexicon=lexicon)
            possible: Counter[tuple[Kind, Split]] = Counter()
            for done, (book, counts) in enumerate(zip(order, each(work, order), strict=True)):
                possible.update({(kind, book.split): count for kind, count in counts.items()})
                tell(done + 1, len(made))
        kept = _gather(parts, target, books, config, possible)
    finally:
        shutil.rmtree(parts, ignore_errors=True)
    about = {
        **asdict(config),
        "tagged": str(Path(tagged).resolve()),
        "possible": _by_name(possible),
        "questions": _by_name(kept),
        "seconds": round(time.monotonic() - began, 1),
    }
    write_atomically(target / "build.json", json.dumps(about, indent=1).encode())
    return about


class _pool:  # noqa: N801 - used as a function
    """Map a function over items, in this process or in several; results come in order."""

    def __init__(self, processes: int) -> None:
        self.pool = (
            ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
            if processes > 1
            else None
        )

    def __enter__(self) -> Callable[[Callable[..., Any], Sequence[Any]], Iterable[Any]]:
        return self.pool.map if self.pool else map

    def __exit__(self, *error: object) -> None:
        if self.pool:
            self.pool.shutdown(cancel_futures=True)


def _gather(
    parts: Path,
    target: Path,
    books: Sequence[Book],
    config: BuildConfig,
    possible: Counter[tuple[Kind, Split]],
) -> dict[tuple[Kind, Split], int]:
    """Put the books' files together: all of training, a sample of validation and test."""
    kept: dict[tuple[Kind, Split], int] = {}
    for kind in config.kinds:
        for split in config.splits:
            files = [_part(parts, book, kind) for book in books if book.split == split]
            total, wanted = possible[kind, split], DRAWN[split]
            path = target / cbt_file_name(kind, split)
            if wanted is None or wanted >= total:
                _concatenate(files, path)
                kept[kind, split] = total
                continue
            draw = random.Random(f"{config.seed} {kind} {split}")
            chosen = set(draw.sample(range(total), wanted))
            everything = (question for file in files for question in _questions(file))
            sample = (question for n, question in enumerate(everything) if n in chosen)
            kept[kind, split] = write_cbt(path, sample)
    return kept


def _questions(path: Path) -> Iterator[CbtQuestion]:
    """A book's questions; a short book may have none."""
    return iterate_cbt(path) if path.stat().st_size else islice((), 0)


def _concatenate(files: Sequence[Path], path: Path) -> None:
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as whole:
        for file in files:
            with file.open("rb") as piece:
                shutil.copyfileobj(piece, whole, 1 << 20)
    part.replace(path)


def _by_name(counts: dict[tuple[Kind, Split], int]) -> dict[str, int]:
    return {f"{kind} {split}": count for (kind, split), count in sorted(counts.items())}
