"""Augmentation: participants of a paragraph have one another's names; what happens stays as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from entnet.data.propara.process import NOWHERE, UNKNOWN, Process, names
from entnet.data.propara.spans import key_of, mentions, paragraph_words, split_words


def exchange(process: Process, rng: np.random.Generator) -> Process:
    """The paragraph told with the names of its interchangeable participants permuted."""
    free = interchangeable(process)
    given = {old: free[new] for old, new in zip(free, rng.permutation(len(free)), strict=True)}
    sentences = paragraph_words(process)
    spans = [(span, new) for old, new in given.items() for span in mentions(old, sentences)]
    # From the last to the first, so that what is replaced does not move what is to be.
    for span, new in sorted(spans, key=lambda one: one[0].start, reverse=True):
        sentences[span.sentence][span.start : span.end] = split_words(new)
    return replace(
        process,
        sentences=tuple(" ".join(words) for words in sentences),
        participants=tuple(given.get(one, one) for one in process.participants),
    )


def interchangeable(process: Process) -> list[str]:
    """Participants with one name, no word of which stands in another's name or in a place."""
    words = {one: set(key_of(split_words(one))) for one in process.participants}
    places = {state for row in process.states for state in row} - {UNKNOWN, NOWHERE}
    taken = {word for place in places for word in key_of(split_words(place))}
    return [
        one
        for one in process.participants
        if len(names(one)) == 1
        and not words[one] & taken
        and not any(words[one] & words[other] for other in words if other != one)
    ]
