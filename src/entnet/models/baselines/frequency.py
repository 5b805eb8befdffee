"""Systems that only count: how often candidates occur, and how like the query their surroundings are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from entnet.data.cbt.format import CbtQuestion
from entnet.models.readers.scorer import Floats, split_query, table, tokens


class CorpusFrequency:
    """The candidate that is most frequent in the training books."""

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        self.counts: Counter[str] = Counter()
        for sentence in sentences:
            self.counts.update(sentence)

    def scores(self, questions: Sequence[CbtQuestion]) -> Floats:
        return table(
            [self.counts[candidate.lower()] for candidate in question.candidates]
            for question in questions
        )


class ContextFrequency:
    """The candidate that is most frequent in the 20 sentences."""

    def scores(self, questions: Sequence[CbtQuestion]) -> Floats:
        return table(self._counts(question) for question in questions)

    def _counts(self, question: CbtQuestion) -> list[float]:
        counts = Counter(word for text in question.sentences for word in tokens(text))
        return [counts[candidate.lower()] for candidate in question.candidates]


class WordDistance:
    """Frequency in the whole passage, weighed by how well the query's neighbours fit.

    The blank is laid on every occurrence of a candidate. Each word of the query near the blank then costs
    its distance to the nearest place where it stands round that occurrence, at most ``cost``; the best
    occurrence counts, and every further one adds ``frequency_weight``.
    """

    def __init__(self, reach: int = 5, cost: float = 8.0, frequency_weight: float = 1.0) -> None:
        self.reach = reach
        self.cost = cost
        self.frequency_weight = frequency_weight

    def scores(self, questions: Sequence[CbtQuestion]) -> Floats:
        return table(self._scores(question) for question in questions)

    def _scores(self, question: CbtQuestion) -> list[float]:
        before, after = split_query(question)
        passage = [word for text in question.sentences for word in tokens(text)]
        passage += [*before, "", *after]
        neighbours = [(-k, word) for k, word in enumerate(before[::-1][: self.reach], start=1)]
        neighbours += [(k, word) for k, word in enumerate(after[: self.reach], start=1)]
        places: dict[str, list[int]] = {}
        for place, word in enumerate(passage):
            places.setdefault(word, []).append(place)
        return [
            self._score(places.get(candidate.lower(), []), neighbours, passage)
            for candidate in question.candidates
        ]

    def _score(
        self, occurrences: list[int], neighbours: list[tuple[int, str]], passage: list[str]
    ) -> float:
        if not occurrences:
            return -self.cost * (len(neighbours) + 1)
        fits = [-self._distance(place, neighbours, passage) for place in occurrences]
        return max(fits) + self.frequency_weight * (len(occurrences) - 1)

    def _distance(self, place: int, neighbours: list[tuple[int, str]], passage: list[str]) -> float:
        total = 0.0
        for offset, word in neighbours:
            nearest = self.cost
            for shift in range(int(self.cost)):
                low, high = place + offset - shift, place + offset + shift
                if (0 <= low < len(passage) and passage[low] == word) or (
                    0 <= high < len(passage) and passage[high] == word
                ):
                    nearest = float(shift)
                    break
            total += nearest
        return total
