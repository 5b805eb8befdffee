"""How a network is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from entnet.config.base import Config
from entnet.config.older import restructured
from entnet.config.stories import Oversample, Permute, Prune, Stage


@dataclass(frozen=True)
class TrainConfig(Config):
    """How a network is trained. The defaults are the paper's for bAbI."""

    aliases: ClassVar[Mapping[str, str]] = {
        "optimiser": "optimizer",
        "rate": "learning_rate",
        "clip": "max_grad_norm",
        "batch": "batch_size",
        "batch_of": "batch_unit",
        "draw": "example",
        "epoch": "sampling",
        "slot_alone": "slot_supervision",
        "hold": "hold_epochs",
        "patience": "lr_patience",
        "warmup": "warmup_epochs",
        "warmup_rate": "warmup_learning_rate",
        "stop_after_best": "early_stopping",
        "select": "checkpoint",
        "whole_batches_only": "drop_last",
    }
    value_aliases: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "sampling": {"pass": "shuffle", "draws": "replacement"},
    }

    @classmethod
    def renamed(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        return super().renamed(restructured(values))

    epochs: int = 200
    seed: int = 1
    optimizer: Literal["adam", "sgd", "adagrad", "rmsprop"] = "adam"
    learning_rate: float = 0.01
    """At the start; ``schedule`` says how it changes."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Adam's decays of the averages of gradients and of their squares."""
    momentum: float = 0.0
    """Share of the last update that goes into the next; for sgd and rmsprop."""
    smoothing: float = 0.99
    """RMSProp's decay of the average of squared gradients."""
    centered: bool = False
    """RMSProp divides by the gradients' deviation, not by their root mean square (Graves 2013)."""
    epsilon: float = 1e-8
    """Added to what adam, adagrad and rmsprop divide by."""
    accumulator: float = 0.0
    """AdaGrad's sums of squared gradients at the start (TensorFlow: 0.1)."""
    weight_decay: float = 0.0
    """L2 regularisation: this share of each weight is added to its gradient, after clipping."""
    max_grad_norm: float = 40.0
    """Gradient clipping: the largest norm of the whole gradient; 0 for no limit."""
    clip_each: bool = False
    """``max_grad_norm`` is for the gradient of each parameter by itself, as in MemN2N's paper."""
    max_grad_value: float = 0.0
    """The largest entry of a gradient, in size, before ``max_grad_norm`` applies; 0 for no limit."""
    loss: Literal["sum", "mean"] = "sum"
    """Over the questions of a batch: summed (authors' code, default) or averaged."""
    batch_size: int = 32
    """In units of ``batch_unit``; questions of whole stories come to about this many."""
    batch_unit: Literal["questions", "stories"] = "questions"
    """What ``batch_size`` counts. The text does not say; stories have one question (task 16) to a dozen
    (task 20)."""
    example: Literal["story", "question"] = "story"
    """A batch holds whole stories, read once for all their questions, or single questions."""
    sampling: Literal["shuffle", "replacement"] = "shuffle"
    """An epoch is a shuffled pass over the data (default) or as many examples drawn with replacement
    (authors' code)."""

    permute: Permute = field(default_factory=Permute)
    """Data augmentation: words that are permuted within a story (not in the paper)."""
    oversample: tuple[Oversample, ...] = ()
    """Stories that an epoch reads several times (not in the paper)."""
    curriculum: tuple[Stage, ...] = ()
    """Stages at the start of training that read only some stories (not in the paper)."""

    slot_supervision: float = 0.0
    """Fraction of training questions answered from the slot tied to the queried entity alone, which
    encourages slots to store their own entity's state (tied keys; not in the paper)."""

    gate_penalty: float = 0.0
    """Cost of every gate that is pressed open for a sentence of no meaning, where the data say which those
    are (text around the facts; not in the paper)."""

    end_penalty: float = 0.0
    """Cost of half the squared distance between the memory after a story and after another that ends in the
    same state of the world, where the data have such pairs (the grid world; not in the paper)."""

    weight_average: float = 0.0
    """Weight of the past in a running average of the weights, taken every ten updates (not in the paper);
    at the end it is kept if it does better on validation. 0 for none."""

    schedule: Literal["halving", "plateau", "constant", "exponential", "linear", "auto"] = "halving"
    """``auto``: phases that end by what is measured (docs/training.md); it has its own learning rates, and
    ``epochs`` is the most it may take."""
    augment: bool = True
    """With the schedule ``auto``: permute words that are found to be interchangeable in the stories."""
    halve_every: int = 25
    """Epochs between halvings."""
    hold_epochs: int | None = None
    """Epochs at the initial learning rate; ``halve_every`` when not given."""
    halving_rule: Literal["authors", "text"] = "authors"
    """Halve at the *start* of epochs 25, 50, … (24 epochs at full rate) or after 25, 50, …"""
    lr_patience: int = 10
    """With "plateau": halve when validation has not improved for this many epochs."""
    decay: float = 1.0
    """With "exponential": the learning rate is multiplied by this after every epoch."""
    warmup_epochs: int = 0
    """Epochs at ``warmup_learning_rate`` before everything else."""
    warmup_learning_rate: float = 0.003

    max_seconds: float = 0.0
    """No epoch begins after so many seconds of training; 0 for no limit."""
    stop_after_zero: int = 0
    """End early once validation error has been 0 for so many epochs; 0 for never."""
    stop_after_learnt: int = 0
    """End early once training error has been 0 for so many epochs, as nothing is left to learn; 0 for
    never."""
    early_stopping: int = 0
    """Patience: stop once validation has not improved for this many epochs; 0 for never."""
    prune: tuple[Prune, ...] = ()
    """Rules that end a run which is behind."""
    checkpoint: Literal["best", "last"] = "best"
    """Which epoch's network is kept: best on validation, or the last (authors' code)."""
    validation: float = 0.1
    """Share of questions, the last of the training file by story, kept for validation."""
    drop_last: bool = False
    """Score whole batches of 32 test questions only, dropping the rest, as the authors' code does."""
    threads: int = 1
    """Results are the same to the bit from run to run on one."""
    engine: Literal["auto", "native", "reference"] = "auto"
    device: str = "cpu"
    """Where plain PyTorch trains: "cpu", "cuda", "mps", … The compiled engine is for "cpu"."""

    def check(self) -> None:
        self.at_least(1, "epochs", "batch_size", "halve_every", "lr_patience", "threads")
        self.require(
            self.learning_rate > 0, f"learning_rate is {self.learning_rate}, but must be above 0"
        )
        self.at_least(0, "max_grad_norm", "max_grad_value", "weight_decay", "accumulator")
        self._check_optimizer()
        self.require(
            0 <= self.weight_average < 1,
            f"weight_average is {self.weight_average}, but must be in [0, 1)",
        )
        self.at_least(0, "gate_penalty", "end_penalty")
        self.require(0 < self.decay <= 1, f"decay is {self.decay}, but must be in (0, 1]")
        self.require(
            0 <= self.slot_supervision <= 1,
            "slot_supervision is a fraction of the questions, in [0, 1]",
        )
        self.require(0 <= self.validation < 1, "validation is a share of the questions, in [0, 1)")
        self.at_least(1, "hold_epochs")

    def _check_optimizer(self) -> None:
        self.require(
            len(self.betas) == 2 and all(0 <= beta < 1 for beta in self.betas),
            f"betas is {self.betas}, but must be two numbers in [0, 1)",
        )
        for name in ("momentum", "smoothing"):
            value = getattr(self, name)
            self.require(0 <= value < 1, f"{name} is {value}, but must be in [0, 1)")
        self.require(self.epsilon > 0, f"epsilon is {self.epsilon}, but must be above 0")
        for names, optimizers in (
            (("betas",), ("adam",)),
            (("momentum",), ("sgd", "rmsprop")),
            (("smoothing", "centered"), ("rmsprop",)),
            (("accumulator",), ("adagrad",)),
        ):
            unused = self.changed(names)
            self.require(
                not unused or self.optimizer in optimizers,
                f"{' and '.join(unused)}: for the optimizer {' or '.join(optimizers)}, "
                f"not {self.optimizer}",
            )
