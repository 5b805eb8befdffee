"""What a network is and how it is trained, as frozen dataclasses.

Impossible values fail when a configuration is built, with the field, what was given and what would be
right. Where the paper's text and its authors' code differ, the field says so, and which is the default.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

Matrix = Literal["trained", "identity", "zero"]


class ConfigError(ValueError):
    """A configuration that cannot be."""


@dataclass(frozen=True)
class Config:
    """Common to all configurations: values are checked, and they go to JSON and back."""

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, list):
                value = tuple(value)
                object.__setattr__(self, field.name, value)
            _check_type(type(self).__name__, field.name, value, hints[field.name])
        self.check()

    def check(self) -> None:
        """Raise ConfigError where values of the right type do not make sense."""

    def require(self, holds: bool, message: str) -> None:
        if not holds:
            raise ConfigError(f"{type(self).__name__}: {message}")

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        names = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - names)
        if unknown:
            raise ConfigError(
                f"{cls.__name__}: no such field: {', '.join(unknown)} (known: {', '.join(sorted(names))})"
            )
        return cls(**values)

    def replace(self, **changes: Any) -> Self:
        return self.from_dict({**self.to_dict(), **changes})


def _check_type(owner: str, name: str, value: object, hint: Any) -> None:
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    for kind in allowed:
        origin = typing.get_origin(kind)
        if origin is Literal:
            if value in typing.get_args(kind):
                return
        elif origin is tuple:
            if isinstance(value, tuple):
                return
        elif kind is float:
            if isinstance(value, int | float) and not isinstance(value, bool):
                return
        elif kind is int:
            if isinstance(value, int) and not isinstance(value, bool):
                return
        elif kind is types.NoneType:
            if value is None:
                return
        elif isinstance(value, origin or kind):
            return
    choices = (
        [repr(c) for kind in allowed for c in typing.get_args(kind)]
        if (any(typing.get_origin(kind) is Literal for kind in allowed))
        else [getattr(kind, "__name__", str(kind)) for kind in allowed]
    )
    raise ConfigError(f"{owner}: {name} is {value!r}, but must be {' or '.join(choices)}")


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

    def check(self) -> None:
        self.require(
            self.vocabulary >= 2, f"vocabulary is {self.vocabulary}, but must be at least 2"
        )
        self.require(
            self.sentence_length >= 1,
            f"sentence_length is {self.sentence_length}, but must be at least 1",
        )
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
    close_on_empty: bool = True
    """A sentence without a known word closes all gates (authors' code, default)."""

    keys: Literal["free", "tied", "story"] = "free"
    """Keys are parameters, embeddings of ``key_words``, or of words given with each story."""
    key_words: tuple[str, ...] = ()
    """With tied keys: the word that each slot stands for."""

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
    """Share of embedding dimensions dropped in training, one mask a story (0.5 on CBT)."""

    def check(self) -> None:
        super().check()
        for name in ("width", "slots", "hops"):
            value = getattr(self, name)
            self.require(value >= 1, f"{name} is {value}, but must be at least 1")
        for name in ("weight_scale", "embedding_scale", "key_scale"):
            value = getattr(self, name)
            self.require(value >= 0, f"{name} is {value}, but must not be negative")
        self.require(0 <= self.dropout < 1, f"dropout is {self.dropout}, but must be in [0, 1)")
        if self.keys == "tied":
            self.require(
                len(self.key_words) == self.slots,
                f"tied keys need a word for each of the {self.slots} slots, got {len(self.key_words)}",
            )
        else:
            self.require(not self.key_words, "key_words are for tied keys only")
        self.require(
            self.output == "words" or self.hops == 1, "the direct output over slots has one hop"
        )
        self.require(
            self.answer_set == "answers" or not self.answer_words,
            'answer_words are for answer_set "answers" only',
        )


@dataclass(frozen=True)
class TrainConfig(Config):
    """How a network is trained. The defaults are the paper's for bAbI."""

    epochs: int = 200
    seed: int = 1
    optimiser: Literal["adam", "sgd"] = "adam"
    rate: float = 0.01
    """Learning rate at the start."""
    clip: float = 40.0
    """Largest norm of the whole gradient; 0 for no limit."""
    loss: Literal["sum", "mean"] = "sum"
    """Over the questions of a batch: summed (authors' code, default) or averaged."""
    batch: int = 32
    """Questions in a batch; with whole stories, about so many."""
    batch_of: Literal["questions", "stories"] = "questions"
    """What ``batch`` counts. The text does not say; stories have one question (task 16) to a dozen (20)."""
    draw: Literal["story", "question"] = "story"
    """A batch holds whole stories, read once for all their questions, or single questions."""
    epoch: Literal["pass", "draws"] = "pass"
    """An epoch is a pass over the data (default) or as many independent draws (authors' code)."""

    exchange: tuple[str, ...] = ()
    """Groups of words ("mary sandra") exchanged for one another as a story is read (not in the paper);
    docs/recipes.md has the notation."""
    exchange_unless: str = ""
    """Words that keep a story as it is: where they occur, answers hang on the very words (task 20)."""
    exchange_where: str = ""
    """If given, words are exchanged only in stories in which one of these occurs."""
    exchange_where_until: int | None = None
    """The last epoch with that limit; from the next on, words are exchanged in all stories."""
    exchange_from: int = 1
    """The first epoch in which words are exchanged."""
    repeat: tuple[str, ...] = ()
    """"4 north south": stories with one of these words are read so often an epoch (not in the paper)."""
    begin: tuple[str, ...] = ()
    """"40 north south": the first 40 epochs read only stories with one of these words; a second text
    says the same of the epochs after them (not in the paper)."""

    slot_alone: float = 0.0
    """Share of the questions that, in training, the slots named in them answer by themselves, so that
    slots come to hold what they are named after (tied keys; not in the paper)."""

    schedule: Literal["halving", "plateau", "constant"] = "halving"
    halve_every: int = 25
    """Epochs between halvings."""
    hold: int | None = None
    """Epochs before the first halving; as between the others when not given."""
    halving_rule: Literal["authors", "text"] = "authors"
    """Halve at the *start* of epochs 25, 50, … (24 epochs at full rate) or after 25, 50, …"""
    patience: int = 10
    """With "plateau": halve when validation has not improved for so many epochs."""
    warmup: int = 0
    """Epochs at ``warmup_rate`` before everything else."""
    warmup_rate: float = 0.003

    stop_after_zero: int = 0
    """End early once validation error has been 0 for so many epochs; 0 for never."""
    stop_after_learnt: int = 0
    """End early once training error has been 0 for so many epochs, as nothing is left to learn; 0 for
    never."""
    stop_after_best: int = 0
    """End early once so many epochs have passed since the best on validation; 0 for never."""
    give_up: tuple[str, ...] = ()
    """"12 14.0": end with epoch 12 if validation error, in percent, is above 14 then; "34 training 49.5"
    says the same of training error; a second text adds another such point."""
    select: Literal["best", "last"] = "best"
    """Which epoch's network is kept: best on validation, or the last (authors' code)."""
    validation: float = 0.1
    """Share of questions, the last of the training file by story, kept for validation."""
    whole_batches_only: bool = False
    """Score whole batches of 32 test questions only, dropping the rest, as the authors' code does."""
    threads: int = 1
    """Results are the same to the bit from run to run on one."""
    engine: Literal["auto", "native", "reference"] = "auto"

    def check(self) -> None:
        for name in ("epochs", "batch", "halve_every", "patience", "threads", "exchange_from"):
            value = getattr(self, name)
            self.require(value >= 1, f"{name} is {value}, but must be at least 1")
        self.require(self.rate > 0, f"rate is {self.rate}, but must be above 0")
        self.require(self.clip >= 0, f"clip is {self.clip}, but must not be negative")
        self.give_up_bounds()  # fails where one of its texts is not such a point
        self.require(0 <= self.slot_alone <= 1, "slot_alone is a share of the questions, in [0, 1]")
        self.require(0 <= self.validation < 1, "validation is a share of the questions, in [0, 1)")
        self.require(
            self.hold is None or self.hold >= 1, f"hold is {self.hold}, but must be at least 1"
        )
        self.require(
            self.exchange_where_until is None or bool(self.exchange_where),
            "exchange_where_until ends the limit of exchange_where, but there is none",
        )

    def give_up_bounds(self) -> dict[tuple[int, str], float]:
        """(epoch, "validation" or "training"): the largest error, in percent, with which a run goes on."""
        bounds = {}
        for text in self.give_up:
            try:
                epoch, *kind, bound = text.split()
                if kind not in ([], ["training"]):
                    raise ValueError(kind)
                bounds[int(epoch), kind[0] if kind else "validation"] = float(bound)
            except ValueError as error:
                raise ConfigError(
                    f'TrainConfig: give_up has {text!r}, but must be such as "12 14.0" or "9 training 30"'
                ) from error
        return bounds
