"""What a network is. Where the paper's text and its authors' code differ, the field says so.

The default is named with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from entnet.config.base import Config

Matrix = Literal["trained", "identity", "zero"]

MOST_KEY_SLOTS = 16
"""Of one word."""

CONTEXT_NAMES = 2
"""As many people have their names in a context, and what was told of them."""
CONTEXT_PLACES = 3
"""Sentences that are kept of where each person is: all stand beside a sentence for the first whom it is
about, and the last one for the second."""
CONTEXT_THINGS = (4, 2)
"""Sentences about things that stand beside a sentence: for the first whom it is about, and the second."""


def context_size(length: int, things: bool) -> int:
    """Places that a context takes, if so many words of a sentence are kept: names, and sentences."""
    sentences = CONTEXT_PLACES + 1 + (sum(CONTEXT_THINGS) if things else 0)
    return CONTEXT_NAMES + sentences * length if length else 0


@dataclass(frozen=True)
class ModelConfig(Config):
    """Fields that every network has: the size of its vocabulary and of a sentence."""

    kind: ClassVar[str] = "model"

    vocabulary: int = 2
    """|V|, the null word included."""
    sentence_length: int = 8
    """L: words in the longest sentence or question that can be read."""
    lowercase: bool = True
    """Words are read in lower case, as in the authors' code (the text does not say)."""
    memory_limit: int | None = 70
    """Sentences a question can look back on (paper: 70, task 3: 130; authors' code: 150 there)."""

    @property
    def longest_sentence(self) -> int:
        """Words in the longest sentence or question that can be read."""
        return self.sentence_length

    def check(self) -> None:
        self.at_least(2, "vocabulary")
        self.at_least(1, "sentence_length")
        self.require(
            self.memory_limit is None or self.memory_limit >= 1,
            f"memory_limit is {self.memory_limit}, but must be at least 1, or none",
        )


@dataclass(frozen=True)
class EntNetConfig(ModelConfig):
    """The Recurrent Entity Network. The defaults are the general model of the paper on bAbI."""

    kind: ClassVar[str] = "entnet"

    width: int = 100
    """d: units of a slot, and of every embedding."""
    slots: int = 20
    """m: memory slots."""

    encoder: Literal["mask", "bow", "position"] = "mask"
    """(1): a learned mask, a plain sum of words, or MemN2N's fixed position encoding."""
    mask_init: Literal["ones", "normal"] = "ones"
    """Story mask at the start: 1 (text, default) or N(0, weight_scale²) (authors' code)."""
    separate_masks: bool = True
    """Sentences and questions have masks of their own (authors' code, default) or share one (text)."""
    separate_encoders: bool = False
    """Gate and candidate read the sentence through encoders of their own (used on CBT)."""

    activation: Literal["prelu", "identity"] = "prelu"
    """φ, in (3) and (6)."""
    slopes: Literal["unit", "single"] = "unit"
    """PReLU slopes: one a unit (authors' code, default) or a single one."""
    share_slopes: bool = True
    """(3) and (6) use the same slopes (authors' code, default) or each its own."""
    U: Matrix = "trained"
    """Matrix of the memory in (3)."""
    V: Matrix = "trained"
    """Matrix of the keys in (3)."""
    W: Matrix = "trained"
    """Matrix of the sentence in (3)."""
    gate_bias: bool = True
    """One bias per slot in (2) (authors' code, default) or none (text)."""
    candidate_bias: bool = True
    """A bias in (3) (authors' code, default) or none (text)."""
    bias_init: Literal["normal", "zero"] = "normal"
    """Biases at the start: N(0, weight_scale²) (authors' code, default) or 0."""
    normalise: bool = True
    """(5), the forgetting step."""
    zero_norm: Literal["one", "epsilon"] = "one"
    """A slot of norm 0 in (5) is divided by 1 (authors' code, default) or by a tiny number."""
    gate: Literal["sigmoid", "threshold", "stretched"] = "sigmoid"
    """(2): σ, never quite shut (paper, default), or gates that shut: a slot whose σ is below
    ``gate_threshold`` stays as it is, to the bit. From there on "threshold" lets σ through, "stretched"
    what of it is above."""
    gate_threshold: float = 0.02
    """Of gates that shut."""
    gate_learns: float = 0.02
    """A shut gate learns to open while its σ is at least this (a straight-through gradient)."""
    close_on_empty: bool = True
    """A sentence without a known word closes all gates (authors' code, default)."""

    keys: Literal["free", "tied", "story", "named"] = "free"
    """Keys are parameters, embeddings of ``key_words``, or of words given with each story. "named": a story
    gets a slot for each of ``key_words`` as it first names it, so that memory grows with the cast."""
    key_words: tuple[str, ...] = ()
    """With tied keys: the word that each slot stands for. With "named": words that get a slot, at most
    ``slots`` in a story."""
    key_slots: tuple[int, ...] = ()
    """With "named": how many slots each of ``key_words`` gets, 1 when not given. The keys of its second,
    third, … are its embedding and a learned vector, the same for all words: a slot holds one thing well,
    and several only in part."""

    context_length: int = 0
    """Beside each sentence, in the last of its ``sentence_length`` places, stands what was told before of
    whom it is about: sentences of this many words (docs/names.md; the paper's networks read windows of
    words on CBT, but not here)."""
    context_people: tuple[str, ...] = ()
    """Words that say whom a sentence is about; one without them is about those of the one before."""
    context_places: tuple[str, ...] = ()
    """A sentence that has one of these words is kept, to stand beside later ones."""
    context_things: tuple[str, ...] = ()
    """So is one that has one of these, until another is told of the same thing."""

    output: Literal["words", "slots"] = "words"
    """(6) over words, or the attention itself as a distribution over slots."""
    hops: int = 1
    """Rounds of reading in (6); the paper's is 1."""
    answer_set: Literal["vocabulary", "answers"] = "vocabulary"
    """Words that can be answers: all (authors' code, default) or those seen as answers in training."""
    answer_words: tuple[int, ...] = ()
    """With answer_set "answers": the numbers of those words."""
    zero_null_output: bool = True
    """The null word's row of R stays zero, as its embedding does (authors' code, default)."""

    weight_scale: float = 0.1
    """Standard deviation of weights at the start."""
    embedding_scale: float = 0.1
    """The same for embeddings."""
    key_scale: float = 0.1
    """The same for free keys."""
    dropout: float = 0.0
    """Share of embedding dimensions dropped in training, one mask per story (0.5 on CBT)."""
    memory_noise: float = 0.0
    """Standard deviation of noise that training adds to every unit of a slot that is written, before (5)
    (not in the paper): errors of that size are then corrected instead of adding up."""

    @property
    def longest_sentence(self) -> int:
        return self.sentence_length - self.context_size

    @property
    def context_size(self) -> int:
        """Places that the context takes."""
        return context_size(self.context_length, bool(self.context_things))

    def check(self) -> None:
        super().check()
        self.at_least(1, "width", "slots", "hops")
        self.at_least(0, "weight_scale", "embedding_scale", "key_scale", "memory_noise")
        self.require(
            0 < self.gate_learns <= self.gate_threshold < 1,
            f"gate_learns is {self.gate_learns} and gate_threshold {self.gate_threshold}, but must be "
            "0 < gate_learns <= gate_threshold < 1",
        )
        self.require(
            self.gate == "sigmoid" or self.keys != "named",
            f"gate {self.gate!r} is for keys that are there from the start, not for named ones",
        )
        self.require(0 <= self.dropout < 1, f"dropout is {self.dropout}, but must be in [0, 1)")
        self.require(
            self.memory_noise == 0 or self.keys != "named",
            "memory_noise is for keys that are there from the start, not for named ones",
        )
        if self.keys == "tied":
            self.require(
                len(self.key_words) == self.slots,
                f"tied keys need a word for each of the {self.slots} slots, got {len(self.key_words)}",
            )
        elif self.keys == "named":
            self.require(
                bool(self.key_words), "named keys need key_words, the words that get a slot"
            )
            self.require(not self.gate_bias, "named slots have no gate_bias: none is the first")
            self.require(
                not self.key_slots or len(self.key_slots) == len(self.key_words),
                f"{len(self.key_slots)} key_slots for {len(self.key_words)} key_words: one each is needed",
            )
            self.require(
                all(1 <= count <= MOST_KEY_SLOTS for count in self.key_slots),
                f"key_slots must be from 1 to {MOST_KEY_SLOTS}",
            )
            self.require(self.output == "words", 'named keys answer with words: output = "words"')
        else:
            self.require(not self.key_words, "key_words are for tied and named keys only")
        self.require(
            self.keys == "named" or not self.key_slots, 'key_slots are for keys = "named" only'
        )
        self.require(
            self.context_length >= 0 and self.context_size < self.sentence_length,
            f"context_length is {self.context_length}, and the context takes {self.context_size} places, "
            f"but must leave some of the {self.sentence_length} places of a sentence",
        )
        self.require(
            self.output == "words" or self.hops == 1, "the direct output over slots has one hop"
        )
        self.require(self.hops <= 100, f"hops is {self.hops}, but must be at most 100")
        self.require(
            all(isinstance(word, str) for word in self.key_words), "key_words must be words"
        )
        self.require(
            all(type(n) is int and 0 <= n < self.vocabulary for n in self.answer_words),
            f"answer_words must be numbers of words, from 0 to {self.vocabulary - 1}",
        )
        self.require(
            self.answer_set == "answers" or not self.answer_words,
            'answer_words are for answer_set "answers" only',
        )
