"""Words: how a sentence is cut into them, and the numbers they get."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

NULL_WORD = "<null>"
"""Word 0. It pads sentences, embeds as zero, and stands in for words never seen in training."""

_EDGE_PUNCTUATION = '.,;:!?"()[]'


def tokenise(text: str, lowercase: bool = True) -> list[str]:
    """Cut a sentence or question into words: split at blanks, drop punctuation at word edges.

    >>> tokenise("Where is the milk?")
    ['where', 'is', 'the', 'milk']
    """
    if lowercase:
        text = text.lower()
    words = (word.strip(_EDGE_PUNCTUATION) for word in text.split())
    return [word for word in words if word]


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
        if len(self.index) != len(self.words):
            repeated = sorted({word for word in self.words if self.words.count(word) > 1})
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
        """Numbers of the words; a word that is not known becomes the null word."""
        return [self.index.get(word, 0) for word in words]

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
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: not a vocabulary (a JSON list of words): {error}") from error
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError(f"{path}: not a vocabulary (a JSON list of words)")
        try:
            return cls(words)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
