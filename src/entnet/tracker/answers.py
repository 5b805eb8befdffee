"""From the scores of answers to one answer, and to saying that there is none."""

from __future__ import annotations

import math

from torch import Tensor

from entnet.errors import EntNetError
from entnet.tracker.said import Guess

UNKNOWN = "unknown"
"""The answer to what a story does not tell."""
LIKELY_WRONG = "the network is not sure enough"


def best_guesses(
    scores: Tensor, first: int, count: int, temperature: float
) -> list[tuple[int, float]]:
    """Of the scores from ``first`` on, the places and probabilities of the best, best first: as many as
    ``count``, at least one, if there are so many possible ones.

    A word before ``first`` is no answer, but takes its share.
    """
    chances = (scores if temperature == 1.0 else scores / temperature).softmax(-1)
    values, indices = chances.topk(min(count + first, len(scores)))
    probabilities = values.tolist()
    if not math.isfinite(probabilities[0]):
        raise EntNetError("the memory has grown past all numbers, so there is no answer")
    places = zip(indices.tolist(), probabilities, strict=True)
    found = [guess for guess in places if guess[0] >= first][:count]
    if probabilities[-1] == 0.0:  # perhaps of a word that is never an answer
        found = [guess for guess in found if scores[guess[0]] > -math.inf]
    return found


def judged(
    guesses: list[Guess], why: str | None, least_probability: float
) -> tuple[list[Guess], str | None]:
    """The guesses with "unknown" before them where the answer is not known, and why it is not.

    ``why``: what the words of the question alone tell.
    """
    best = guesses[0]
    if why is None and best.word == UNKNOWN:
        why = "the story does not tell"
    elif why is None and best.probability < least_probability:
        why = LIKELY_WRONG
    if why is not None and best.word != UNKNOWN:
        # As sure as the guess is unlikely, or certain from the words alone.
        sure = 1 - best.probability if why == LIKELY_WRONG else 1.0
        guesses = [Guess(UNKNOWN, sure), *guesses]
    return guesses, why
