"""Words: how a sentence is cut into them, and the numbers they get."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

NULL_WORD = "<null>"
"""Word 0. It pads sentences, embeds as zero, and stands in for words never seen in training."""

UNKNOWN_WORD = "<unknown>"
"""In the vocabulary of a network that reads running text, such as a book's: all words that it lacks."""

_EDGE_PUNCTUATION = '.,;:!?"()[]'


def tokenise(text: str, lowercase: bool = True) -> list[str]:
    """Cut a sentence or question into words: split at blanks, drop punctuation at word edges.

    >>> tokenise("Where is the milk?")
    ['where', 'is', 'the', 'milk']
    """
    if lowercase:
        text = text.lower()
    return [word for piece in text.split() if (word := piece.strip(_EDGE_PUNCTUATION))]


def answer_token(answer: str, lowercase: bool = True) -> str:
    """An answer is one token, whatever it holds: ``apple,football`` and ``n,w`` stay whole."""
    answer = " ".join(answer.split())
    return answer.lower() if lowercase else answer


class Vocab:
    """The words a network knows, each with its number. Word 0 is the null word."""

    def __init__(self, words: Sequence[str]) -> None:
        if not words or words[0] != NULL_WORD:
            raise ValueError(f"a vocabulary starts with {NULL_WORD!r}")
        self.words: tuple[str, ...] = tuple(words)
        self.index: dict[str, int] = {word: i for i, word in enumerate(self.words)}
        self.other = self.index.get(UNKNOWN_WORD, 0)
        """What stands for a word that is not known: the null word, unless there is one for them."""
        if len(self.index) != len(self.words):
            repeated = sorted(word for word, times in Counter(self.words).items() if times > 1)
            raise ValueError(f"a vocabulary names each word once; repeated: {repeated[:5]}")

    @classmethod
    def build(cls, words: Iterable[str]) -> Vocab:
        """The vocabulary of these words, in alphabetical order, so that it never depends on theirs."""
        return cls([NULL_WORD, *sorted(set(words) - {NULL_WORD})])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocab) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)

    def __repr__(self) -> str:
        return f"Vocab({len(self)} words)"

    def encode(self, words: Sequence[str]) -> list[int]:
        """Numbers of the words; a word that is not known becomes the null word, or ``<unknown>``."""
        number, other = self.index.get, self.other
        return [number(word, other) for word in words]

    @property
    def reads_running_text(self) -> bool:
        """Whether it has a word for all those that it lacks."""
        return self.other != 0

    def unknown(self, words: Iterable[str]) -> list[str]:
        """Those of the words that the vocabulary lacks, each once, in order of appearance."""
        return list(dict.fromkeys(word for word in words if word not in self.index))

    def to_json(self) -> str:
        return json.dumps(list(self.words), ensure_ascii=False)

    @classmethod
    def from_json(cls, path: Path) -> Vocab:
        """Read ``vocab.json``: a JSON list of words, the null word first."""
        try:
            words = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}: not a vocabulary (a JSON list of words): {error}") from error
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError(f"{path}: not a vocabulary (a JSON list of words)")
        try:
            return cls(words)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
