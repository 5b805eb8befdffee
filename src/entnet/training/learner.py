"""What training asks of an engine: updates, and what they depend on."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from torch import Tensor


class BatchResult(NamedTuple):
    """What a step saw before it changed the weights."""

    loss: float
    """Summed over the questions."""
    errors: int
    questions: int


class Learner(Protocol):
    """Turns batches into updates; only it looks inside a batch."""

    name: str

    def step(self, batch: Any, rate: float) -> BatchResult:
        """Update the network's weights from one batch."""

    def state(self) -> dict[str, Tensor]:
        """Everything besides the weights that the next step depends on."""

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Take up what ``state`` gave."""
