"""What turns a batch into an update: plain PyTorch here, compiled code in ``native_engine``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from entnet.config import TrainConfig
from entnet.data.story import RaggedBatch
from entnet.errors import EntNetError
from entnet.models.base import StoryModel
from entnet.models.compiled import has_compiled_form
from entnet.ops import plain_pytorch
from entnet.training.learner import BatchResult, Learner
from entnet.training.native_engine import NativeEngine

_log = logging.getLogger("entnet")


class Engine(Learner, Protocol):
    """A learner from stories, which answers without updates too."""

    def predict(self, batch: RaggedBatch) -> tuple[Tensor, float]:
        """Answers (Q), and the summed loss; the weights stay as they are."""


class TorchEngine:
    """Autograd and torch's own optimisers: works for every network, and says what is right."""

    name = "torch"

    def __init__(self, model: StoryModel, config: TrainConfig) -> None:
        self.device = device_of(config)
        model = model.to(self.device)
        model.prepare_training(config)
        self.model = model
        self.config = config
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimiser = build_optimiser(self.parameters, config)

    def step(self, batch: RaggedBatch, rate: float) -> BatchResult:
        with self._operators():
            return self._step(batch, rate)

    def _step(self, batch: RaggedBatch, rate: float) -> BatchResult:
        self.model.train()
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad(set_to_none=True)
        if self.device.type != "cpu":
            batch = batch.to(self.device)
        losses, scores = self.model.loss(batch)
        loss = losses.sum()
        objective = loss if self.config.loss == "sum" else loss / batch.questions
        torch.autograd.backward(objective)
        clip_gradients(self.parameters, self.config)
        self.optimiser.step()
        self.model.after_update()
        errors = int((scores.argmax(-1) != batch.answers).sum())
        return BatchResult(float(loss.detach()), errors, batch.questions)

    @torch.no_grad()
    def predict(self, batch: RaggedBatch) -> tuple[Tensor, float]:
        self.model.eval()
        if self.device.type != "cpu":
            batch = batch.to(self.device)
        with self._operators():
            scores = self.model(batch)
        loss = nn.functional.cross_entropy(scores, batch.answers, reduction="sum")
        return scores.argmax(-1).cpu(), float(loss)

    def _operators(self) -> AbstractContextManager[None]:
        """With ``engine="reference"`` nothing is left to compiled code, operators neither."""
        return plain_pytorch() if self.config.engine == "reference" else nullcontext()

    def state(self) -> dict[str, Tensor]:
        return optimiser_state(self.optimiser)

    def load_state(self, state: dict[str, Tensor]) -> None:
        load_optimiser_state(self.optimiser, state)


def device_of(config: TrainConfig) -> torch.device:
    """The device of the settings, which must be there."""
    try:
        device = torch.device(config.device)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise EntNetError(f"device {config.device!r} cannot be used: {reason}") from error
    return device


def build_optimiser(
    parameters: Sequence[nn.Parameter], config: TrainConfig
) -> torch.optim.Optimizer:
    """Torch's own optimiser, as the settings say."""
    common: dict[str, Any] = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    if config.optimizer == "adam":
        # Fused, it sweeps once over the weights, not seven times: large embeddings cost much of an update.
        fused = all(p.device.type == "cpu" for p in parameters)
        return torch.optim.Adam(
            parameters,
            betas=config.betas,
            eps=config.epsilon,
            fused=fused,
            foreach=not fused,
            **common,
        )
    common["foreach"] = True
    if config.optimizer == "adagrad":
        return torch.optim.Adagrad(
            parameters,
            initial_accumulator_value=config.accumulator,
            eps=config.epsilon,
            **common,
        )
    if config.optimizer == "rmsprop":
        return torch.optim.RMSprop(
            parameters,
            alpha=config.smoothing,
            eps=config.epsilon,
            momentum=config.momentum,
            centered=config.centered,
            **common,
        )
    return torch.optim.SGD(parameters, momentum=config.momentum, **common)


def optimiser_state(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """What one of torch's optimisers carries from step to step, as named tensors."""
    return {
        f"{i}.{name}": value.clone() if isinstance(value, Tensor) else torch.tensor(value)
        for i, slots in optimiser.state_dict()["state"].items()
        for name, value in slots.items()
        if value is not None
    }


def load_optimiser_state(optimiser: torch.optim.Optimizer, state: dict[str, Tensor]) -> None:
    """Take up what ``optimiser_state`` gave."""
    slots: dict[int, dict[str, Tensor]] = {}
    for key, value in state.items():
        index, _, name = key.partition(".")
        slots.setdefault(int(index), {})[name] = value
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": slots, "param_groups": groups})


def clip_gradients(parameters: Sequence[nn.Parameter], config: TrainConfig) -> None:
    """Limit single entries first, then the norm of the whole gradient, or of each parameter's."""
    if config.max_grad_value > 0:
        nn.utils.clip_grad_value_(parameters, config.max_grad_value)
    if config.max_grad_norm > 0:
        for part in ([p] for p in parameters) if config.clip_each else [parameters]:
            nn.utils.clip_grad_norm_(part, config.max_grad_norm)


def choose_engine(model: StoryModel, config: TrainConfig) -> Engine:
    """The compiled engine where it can run this network, else plain PyTorch."""
    if config.engine == "reference":
        return TorchEngine(model, config)
    if config.device != "cpu":
        if config.engine == "native":
            raise EntNetError(f"the native engine trains on the cpu, not on {config.device}")
        return TorchEngine(model, config)
    reason = NativeEngine.supports(model, config)
    if reason is None:
        return NativeEngine(model, config)
    if config.engine == "native":
        raise EntNetError(f"the native engine cannot train this network: {reason}")
    if has_compiled_form(model):
        _log.warning("training runs in plain PyTorch, not in compiled code: %s", reason)
    return TorchEngine(model, config)
