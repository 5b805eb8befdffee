"""How near rebuilt questions come to the makers' own: official questions found again in the tagged books.

For every official question whose sentences stand in the books: would the rules here have asked for that
word in that sentence, and which candidates would they have drawn? The rules were chosen on validation.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from entnet.data.cbt.build import (
    book_lexicon,
    book_places,
    draw_candidates,
    merge_lexicons,
)
from entnet.data.cbt.format import BLANK, CbtQuestion, Kind, Split, read_cbt
from entnet.data.cbt.rules import READINGS, ReadingName
from entnet.data.cbt.tags import list_books, read_tagged
from entnet.errors import EntNetError


@dataclass
class Candidates:
    """What ten candidates are like, over many questions; shares in percent."""

    questions: int = 0
    capitalised: float = 0.0
    """Candidates with a capital letter."""
    capitalised_answers: float = 0.0
    counted: float = 0.0
    """Questions answered by the candidate that is most frequent in the story; ties by chance."""

    @classmethod
    def of(cls, questions: Iterable[CbtQuestion]) -> Candidates:
        asked = list(questions)
        offered = [word for question in asked for word in question.candidates if word]
        return cls(
            len(asked),
            _percent(sum(_capital(word) for word in offered), len(offered)),
            _percent(sum(_capital(question.answer) for question in asked), len(asked)),
            _percent(sum(_by_counting(question) for question in asked), len(asked)),
        )


@dataclass
class Agreement:
    """Official questions beside what the rules here make of the same sentences."""

    kind: Kind
    reading: ReadingName
    questions: int = 0
    located: int = 0
    """Official questions that were found in the books."""
    eligible: int = 0
    """Of these: the rules would ask for the same word of the same sentence."""
    possible: int = 0
    """All questions that the rules allow in those books."""
    offered: int = 0
    """Wrong candidates of the located questions that the rules offer as words of the kind."""
    filled: int = 0
    """The other wrong candidates: nouns that fill up, or words that the rules do not know of."""
    common: float = 0.0
    """Wrong candidates, in percent, that a draw by the rules has too."""
    official: Candidates = field(default_factory=Candidates)
    rebuilt: Candidates = field(default_factory=Candidates)
    """The same sentences and answers, with candidates drawn by the rules."""
    drawn: Candidates = field(default_factory=Candidates)
    """As many questions as the official file has, drawn from all that the rules allow."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def found(self) -> float:
        """Official questions, in percent, that the rules would ask too."""
        return _percent(self.eligible, self.located)


def compare(
    tagged: Path | str,
    questions: Path | str,
    kind: Kind,
    split: Split,
    reading: ReadingName = "official",
    seed: int = 1,
) -> Agreement:
    """Look for a file of official questions in the tagged books of its split."""
    books = list_books(tagged)
    lexicon = merge_lexicons(books, (book_lexicon(book) for book in books))
    official = read_cbt(questions)
    wanted: dict[tuple[str, str], list[CbtQuestion]] = {}
    for question in official:
        wanted.setdefault(_identity(question), []).append(question)
    found = Agreement(kind, reading, len(official))
    draw = random.Random(f"{seed} {kind} {split}")
    again: list[CbtQuestion] = []
    everything: list[CbtQuestion] = []
    located: list[CbtQuestion] = []
    shared = Counter[bool]()
    for book in books:
        if book.split != split:
            continue
        for place in book_places(read_tagged(book.path), [kind], READINGS[reading], lexicon):
            texts = place.window.texts()
            askable = dict(place.can_ask(kind))
            found.possible += len(askable)
            for answer, positions in askable.items():
                candidates = draw_candidates(answer, kind, place.window.words, draw)
                if candidates:
                    query = place.query(draw.choice(positions))
                    everything.append(CbtQuestion(texts, query, answer, candidates))
            for question in wanted.pop((texts[0] + texts[-1], " ".join(place.tokens)), []):
                located.append(question)
                found.eligible += question.answer in askable
                offered = place.offered(kind)
                wrong = {word for word in question.candidates if word != question.answer}
                found.offered += len(wrong & offered)
                found.filled += len(wrong - offered)
                mine = draw_candidates(question.answer, kind, place.window.words, draw)
                if mine:
                    again.append(CbtQuestion(texts, question.query, question.answer, mine))
                    shared.update(word in mine for word in wrong)
    if not located:
        raise EntNetError(
            f"{questions}: none of its questions stands in the {split} books of {tagged}"
        )
    found.located = len(located)
    found.common = _percent(shared[True], shared.total())
    found.official = Candidates.of(located)
    found.rebuilt = Candidates.of(again)
    draw.shuffle(everything)
    found.drawn = Candidates.of(everything[: len(official)])
    return found


def _identity(question: CbtQuestion) -> tuple[str, str]:
    """A question's place in a book: its first and last sentence, and the query with its word."""
    whole = question.query.replace(BLANK, question.answer)
    return question.sentences[0] + question.sentences[-1], whole


def _by_counting(question: CbtQuestion) -> float:
    counts = Counter(word for sentence in question.sentences for word in sentence.split(" "))
    best = max(counts[word] for word in question.candidates)
    tied = sum(counts[word] == best for word in question.candidates)
    return (counts[question.answer] == best) / tied


def _capital(word: str) -> bool:
    return word[:1].isupper()


def _percent(part: float, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0
