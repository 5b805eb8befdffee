"""Kneser-Ney language models: interpolated, with one discount or the three of Chen and Goodman.

    code        letter          meaning
    counts      c(h w)          how often an n-gram occurs; below the highest order, after how many words
    totals      c(h ·)          the same, summed over the words w that follow a history h
    discounts   D(c)            what is taken off a count of 1, of 2, of 3 and more
    weights     γ(h)            what was taken off, given to the shorter history

    P(w | h) = max(c(h w) − D, 0) / c(h ·) + γ(h) P(w | h without its first word)

N-grams are kept as sorted keys, the number of the first n − 1 words times |V| plus the last word, so that
whole arrays of events are looked up at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entnet.text import Vocab

START, END = "<s>", "</s>"

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Order:
    """All n-grams of one length that end in a word, not in the padding before a sentence."""

    keys: Ints
    """Sorted; n-grams of padding are among them, with count 0, since longer ones start with them."""
    counts: Ints
    totals: Ints
    """By number of the history."""
    weights: Floats
    """By number of the history."""
    discounts: Floats
    """(4) for counts of 0, 1, 2, and 3 or more."""


class KneserNey:
    """A language model over sentences of words."""

    def __init__(
        self,
        sentences: Iterable[Sequence[str]],
        order: int = 5,
        discount: float | None = None,
        uniform: bool = True,
        padded: bool = False,
    ) -> None:
        """Count n-grams up to ``order``. ``discount`` is the only one, or None to estimate three an order.

        With ``uniform``, single words are discounted too, in favour of all words alike, so that none has
        probability 0. ``padded`` sentences come with their own marks of start and end.
        """
        self.order = order
        texts = [list(sentence) for sentence in sentences]
        if not padded:
            texts = [[*[START] * (order - 1), *text, END] for text in texts]
        self.vocab = Vocab.build([START, END, *(word for text in texts for word in text)])
        index = self.vocab.index
        flat = np.array([index[word] for text in texts for word in text], dtype=np.int64)
        # Where padded sentences meet, n-grams would reach from one into the next: mark their ends.
        place = np.concatenate([np.arange(len(text)) for text in texts])
        is_word = np.full(len(flat), True) if padded else flat != index[START]
        self._orders = self._count(flat, place, is_word, discount, uniform)

    def _count(
        self,
        flat: Ints,
        place: Ints,
        is_word: NDArray[np.bool_],
        discount: float | None,
        uniform: bool,
    ) -> list[_Order]:
        size = len(self.vocab)
        numbers = flat  # of the n-gram that ends here
        keys_of: list[Ints] = [np.arange(size)]
        found: list[tuple[Ints, Ints]] = [(flat, np.flatnonzero(is_word))]
        for length in range(2, self.order + 1):
            # An n-gram that ends here is the one that ended a word ago, with this word.
            ends = np.flatnonzero(place >= length - 1)
            keys = np.full(len(flat), -1, dtype=np.int64)
            keys[ends] = numbers[ends - 1] * size + flat[ends]
            unique = np.unique(keys[ends])
            numbers = np.where(keys >= 0, np.searchsorted(unique, keys), -1)
            keys_of.append(unique)
            found.append((numbers, ends[is_word[ends]]))
        orders = []
        for length in range(1, self.order + 1):
            numbers, ends = found[length - 1]
            if length < self.order:
                # Distinct words before: distinct longer n-grams, counted by what they end in.
                longer, longer_ends = found[length]
                _, first = np.unique(longer[longer_ends], return_index=True)
                counted = numbers[longer_ends[first]]
            else:
                counted = numbers[ends]
            keys = keys_of[length - 1]
            counts = np.bincount(counted, minlength=len(keys))
            histories = len(keys_of[length - 2]) if length > 1 else 1
            history = keys // size if length > 1 else np.zeros(len(keys), dtype=np.int64)
            fixed = 0.0 if length == 1 and not uniform else discount
            orders.append(_finish(keys, counts, history, histories, fixed))
        return orders

    def numbers(self, words: Iterable[str]) -> list[int]:
        """Words by number; those never seen are the null word."""
        return self.vocab.encode(list(words))

    def probabilities(self, events: Ints) -> Floats:
        """P(last word | words before) for rows of at most ``order`` words each: (M, n) → (M)"""
        length = min(events.shape[1], self.order)
        events = events[:, events.shape[1] - length :]
        size = len(self.vocab)
        word = events[:, -1]
        first = self._orders[0]
        taken = _discounted(first, first.counts[word])
        total = max(int(first.totals[0]), 1)
        p: Floats = taken / total + first.weights[0] / size
        for n in range(2, length + 1):
            order = self._orders[n - 1]
            history = self._number(events[:, length - n : -1])
            here = np.flatnonzero(history >= 0)
            here = here[order.totals[history[here]] > 0]
            held = history[here]
            found = _lookup(order.keys, held * size + word[here])
            counts = np.where(found >= 0, order.counts[found], 0)
            p[here] = (
                _discounted(order, counts) / order.totals[held] + order.weights[held] * p[here]
            )
        return p

    def _number(self, histories: Ints) -> Ints:
        """Numbers of n-grams (M, n), −1 for those never seen."""
        size = len(self.vocab)
        numbers = histories[:, 0].copy()
        for n in range(2, histories.shape[1] + 1):
            keys = numbers * size + histories[:, n - 1]
            numbers = np.where(numbers >= 0, _lookup(self._orders[n - 1].keys, keys), -1)
        return numbers

    def score(self, word: str, history: Sequence[str] = ()) -> float:
        """P(word | history), for a word at a time."""
        event = self.numbers([*history, word])
        return float(self.probabilities(np.array([event], dtype=np.int64))[0])


def _lookup(keys: Ints, wanted: Ints) -> Ints:
    """Places of wanted keys among sorted ones, −1 for those that are not there."""
    place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    return np.where(keys[place] == wanted, place, -1)


def _discounted(order: _Order, counts: Ints) -> Floats:
    taken: Floats = np.maximum(counts - order.discounts[np.minimum(counts, 3)], 0)
    return taken


def _finish(
    keys: Ints, counts: Ints, history: Ints, histories: int, discount: float | None
) -> _Order:
    discounts = estimate_discounts(counts) if discount is None else np.full(4, discount)
    discounts[0] = 0
    totals = np.bincount(history, counts, histories).astype(np.int64)
    taken = np.bincount(history, discounts[np.minimum(counts, 3)], histories)
    weights = np.divide(taken, totals, out=np.ones(histories), where=totals > 0)
    return _Order(keys, counts, totals, weights, discounts)


def estimate_discounts(counts: Ints) -> Floats:
    """Chen and Goodman's three: D_k = k − (k + 1) Y n_{k+1} / n_k with Y = n_1 / (n_1 + 2 n_2)."""
    n = [int((counts == k).sum()) for k in range(5)]
    discounts = np.zeros(4)
    if not n[1] or not n[2]:
        return np.array([0.0, 0.75, 0.75, 0.75])
    y = n[1] / (n[1] + 2 * n[2])
    for k in (1, 2, 3):
        estimate = k - (k + 1) * y * n[k + 1] / n[k] if n[k] else float(k)
        discounts[k] = min(max(estimate, 0.0), k)
    return discounts
