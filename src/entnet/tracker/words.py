"""From text to the numbers that a network reads."""

from __future__ import annotations

from collections.abc import Sequence

from entnet.data.running import MOST_WORDS, running_pieces
from entnet.models.base import StoryModel
from entnet.text import tokenise
from entnet.tracker.said import TextError


def words_of(model: StoryModel, text: str) -> tuple[str, list[str]]:
    """A sentence in one line, and its words."""
    text = " ".join(text.split())
    if model.vocab.reads_running_text:
        tokens = [word for piece in running_pieces(text, MOST_WORDS) for word in piece.words]
    else:
        tokens = tokenise(text, model.config.lowercase)
    if not tokens:
        raise TextError("nothing to read: a sentence or question needs at least one word")
    return text, tokens


def encode_words(
    model: StoryModel, tokens: Sequence[str], strict: bool = False
) -> tuple[list[int], tuple[str, ...]]:
    """Words as L numbers, and those that have none.

    A sentence that is longer than those of training is read without its unknown words, which say nothing.
    """
    numbers = model.vocab.encode(tokens)
    unknown: tuple[str, ...] = ()
    if model.vocab.other in numbers:
        unknown = tuple(model.vocab.unknown(word for word in tokens if word))
    if unknown and strict:
        raise TextError(f"words never seen in training: {', '.join(unknown)}")
    longest = model.config.longest_sentence
    if len(numbers) > longest and not model.reads_any_length:
        numbers = [number for number in numbers if number]
        if len(numbers) > longest:
            raise TextError(
                f"{len(numbers)} words are too many for this network, which reads sentences of up to "
                f"{longest}: {_shortened(' '.join(tokens))!r}"
            )
    numbers += [0] * (model.config.sentence_length - len(numbers))
    return numbers, unknown


def _shortened(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
