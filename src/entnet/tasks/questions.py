"""Questions of the Children's Book Test in numbers: what is read of them, trained on and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from entnet.config import Config, TrainConfig
from entnet.config.hashed import OLD_SOURCE_NAMES
from entnet.data.cbt.windows import shuffled
from entnet.data.story import RaggedBatch
from entnet.models.base import StoryModel
from entnet.models.readers.scorer import Floats, accuracy
from entnet.text import Vocab
from entnet.training.engine import choose_engine
from entnet.training.learner import BatchResult, Learner
from entnet.training.schedule import ScheduledTask
from entnet.training.trainer import TrainingScore, ValidationScore


@dataclass(frozen=True)
class QuestionOptions(Config):
    """Which questions an epoch reads, and how it reads words that training does not have."""

    aliases: ClassVar[Mapping[str, str]] = OLD_SOURCE_NAMES

    questions: int = 0
    """Questions per epoch, drawn anew for each; 0 for all of them."""
    oov_rows: int = 64
    """Rows of the embedding for words that training does not have."""
    oov_probability: float = 0.0
    """How often a candidate is read as such a word in training."""
    test: bool = True
    """Whether the test questions are scored at the end; trials leave them alone."""

    def check(self) -> None:
        self.require(0 <= self.oov_probability <= 1, "oov_probability must be in [0, 1]")
        self.require(
            self.oov_rows > 0 or self.oov_probability == 0, "oov_probability needs OOV rows"
        )
        self.at_least(0, "questions")

    def order(self, count: int, seed: int, epoch: int) -> NDArray[np.int64]:
        """Which of so many questions an epoch reads, one after the other."""
        order = shuffled(count, seed, epoch)
        return order[: self.questions] if self.questions else order

    def passes(self, count: int, epochs: int) -> float:
        """How often these epochs read each of so many questions, on average."""
        return epochs * min(self.questions / count, 1.0) if self.questions else float(epochs)


def in_parts(count: int, size: int) -> list[NDArray[np.int64]]:
    """The numbers below ``count`` in order, in parts of about this size."""
    return np.array_split(np.arange(count), max(1, count // size))


class Asked(Protocol):
    """Questions in numbers, as windows or whole."""

    @property
    def answers(self) -> NDArray[np.integer]: ...


class QuestionEngine(Learner, Protocol):
    """Updates from questions, and scores of the ten candidates."""

    def scores(self, data: Any) -> Floats: ...


Questions = TypeVar("Questions", bound=Asked)


@dataclass(frozen=True)
class QuestionData(Generic[Questions]):
    """What a network trains on, chooses by and is tested on."""

    train: Questions
    valid: Questions
    test: Questions
    vocab: Vocab
    beside: Mapping[str, Questions] = field(default_factory=dict)
    """Scored besides at the end, by name: "rebuilt_test"."""


class TorchQuestions:
    """Any network that chooses among candidates, on the package's engines."""

    def __init__(
        self,
        model: StoryModel,
        config: TrainConfig,
        batches: Callable[[Any], Iterable[RaggedBatch]],
    ) -> None:
        """``batches`` lays questions out as the network reads them, in their order."""
        self.model, self.batches = model, batches
        self.engine = choose_engine(model, config)
        self.name = self.engine.name

    def step(self, batch: RaggedBatch, rate: float) -> BatchResult:
        return self.engine.step(batch, rate)

    @torch.no_grad()
    def scores(self, data: Any) -> Floats:
        self.model.eval()
        return np.concatenate([self.model(batch).numpy() for batch in self.batches(data)])

    def state(self) -> dict[str, Tensor]:
        return self.engine.state()

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.engine.load_state(state)


class QuestionTask(ScheduledTask):
    """Accuracy on validation and test questions; where candidates tie, what a draw would give."""

    def __init__(
        self, data: QuestionData[Any], config: TrainConfig, options: QuestionOptions
    ) -> None:
        super().__init__(config)
        self.valid = data.valid
        tested = {"test": data.test, **data.beside} if options.test else {}
        self.scored = {"valid": data.valid, **tested}

    def validate(
        self, engine: QuestionEngine, epoch: int, training: TrainingScore
    ) -> ValidationScore:
        error = self._error(engine, self.valid)
        percent = {"valid_error": error, "train_error": training.error}
        better = self.progress.record(self.config, epoch, error, 0.0, percent=percent)
        return ValidationScore(None, error, better)

    def test(self, engine: QuestionEngine) -> dict[str, Any]:
        scores: dict[str, Any] = {}
        for name, questions in self.scored.items():
            scores[f"{name}_error"] = round(self._error(engine, questions), 4)
            scores[f"{name}_questions"] = len(questions)
        return scores

    def _error(self, engine: QuestionEngine, data: Asked) -> float:
        return 100 * (1 - accuracy(engine.scores(data), data.answers))
