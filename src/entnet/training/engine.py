"""What turns a batch into an update: plain PyTorch here, compiled code in ``native_engine``."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from entnet.config import TrainConfig
from entnet.data.story import RaggedBatch
from entnet.errors import EntNetError
from entnet.models.base import StoryModel
from entnet.models.entnet import EntNet


class BatchResult(NamedTuple):
    """What a step saw before it changed the weights."""

    loss: float
    """Cross-entropy, summed over the questions."""
    errors: int
    questions: int


class Engine(Protocol):
    """One update at a time, and answers without updates."""

    name: str

    def step(self, batch: RaggedBatch, rate: float) -> BatchResult:
        """Update the network's weights from one batch."""

    def predict(self, batch: RaggedBatch) -> tuple[Tensor, float]:
        """Answers (Q), and the summed loss; the weights stay as they are."""

    def state(self) -> dict[str, Tensor]:
        """Everything besides the weights that the next step depends on."""

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Take up what ``state`` gave."""


class TorchEngine:
    """Autograd and torch's own optimisers: works for every network, and says what is right."""

    name = "torch"

    def __init__(self, model: StoryModel, config: TrainConfig) -> None:
        if config.slot_alone > 0 and not _has_named_slots(model):
            raise EntNetError(
                f"slot_alone is {config.slot_alone}, but slots of this network have no names: "
                "it is for an EntNet with tied keys that answers with words"
            )
        self.model = model
        self.config = config
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimiser: torch.optim.Optimizer
        if config.optimiser == "adam":
            self.optimiser = torch.optim.Adam(self.parameters, lr=config.rate, foreach=True)
        else:
            self.optimiser = torch.optim.SGD(self.parameters, lr=config.rate, foreach=True)

    def step(self, batch: RaggedBatch, rate: float) -> BatchResult:
        self.model.train()
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad(set_to_none=True)
        scores = self._scores(batch)
        loss = nn.functional.cross_entropy(scores, batch.answers, reduction="sum")
        objective = loss if self.config.loss == "sum" else loss / batch.questions
        torch.autograd.backward(objective)
        if self.config.clip > 0:
            nn.utils.clip_grad_norm_(self.parameters, self.config.clip)
        self.optimiser.step()
        self.model.after_update()
        errors = int((scores.argmax(-1) != batch.answers).sum())
        return BatchResult(float(loss.detach()), errors, batch.questions)

    def _scores(self, batch: RaggedBatch) -> Tensor:
        if self.config.slot_alone == 0 or not isinstance(self.model, EntNet):
            scores: Tensor = self.model(batch)
            return scores
        drawn = torch.rand(batch.questions, 1) < self.config.slot_alone
        return self.model.answer(batch, drawn & self.model.named_slots(batch.question_words)).scores

    @torch.no_grad()
    def predict(self, batch: RaggedBatch) -> tuple[Tensor, float]:
        self.model.eval()
        scores = self.model(batch)
        loss = nn.functional.cross_entropy(scores, batch.answers, reduction="sum")
        return scores.argmax(-1), float(loss)

    def state(self) -> dict[str, Tensor]:
        return {
            f"{i}.{name}": value if isinstance(value, Tensor) else torch.tensor(value)
            for i, slots in self.optimiser.state_dict()["state"].items()
            for name, value in slots.items()
            if value is not None
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        slots: dict[int, dict[str, Tensor]] = {}
        for key, value in state.items():
            index, _, name = key.partition(".")
            slots.setdefault(int(index), {})[name] = value
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": slots, "param_groups": groups})


def _has_named_slots(model: StoryModel) -> bool:
    if not isinstance(model, EntNet):
        return False
    return model.config.keys == "tied" and model.config.output == "words"


def choose_engine(model: StoryModel, config: TrainConfig) -> Engine:
    """The compiled engine where it can run this network, else plain PyTorch."""
    if config.engine == "reference":
        return TorchEngine(model, config)
    from entnet.training.native_engine import NativeEngine

    reason = NativeEngine.supports(model.config, config)
    if reason is None:
        return NativeEngine(model, config)
    if config.engine == "native":
        raise ValueError(f"the native engine cannot train this network: {reason}")
    return TorchEngine(model, config)
