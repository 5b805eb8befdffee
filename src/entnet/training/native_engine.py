"""Training steps in compiled code: one call per batch, from words to updated weights."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from entnet.config import TrainConfig
from entnet.data.story import RaggedBatch
from entnet.errors import EntNetError
from entnet.models.base import StoryModel
from entnet.models.compiled import compile_network, why_not_compiled
from entnet.models.entnet import EntNet
from entnet.models.own_code import Watch
from entnet.ops.fused import PHASES, Beside, update_struct
from entnet.ops.library import is_plain
from entnet.training.learner import BatchResult

LACKING = ("momentum", "weight_decay", "clip_each", "max_grad_value")
"""Settings that compiled code does not know; there training is left to PyTorch."""


class NativeEngine:
    """The compiled counterpart of TorchEngine: the same updates, and the same state on disk."""

    name = "native"

    def __init__(self, model: StoryModel, config: TrainConfig) -> None:
        reason = self.supports(model, config)
        if reason is not None or not isinstance(model, EntNet):
            raise ValueError(f"the compiled engine cannot train this network: {reason}")
        self.model = model
        self.config = config
        self.trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.network = compile_network(model)
        self.watch = Watch(model)
        size = self.network.flat.numel()
        self.gradients = torch.zeros(size)
        adam = config.optimizer == "adam"
        self.first = torch.zeros(size) if adam else None
        self.second = torch.zeros(size) if adam else None
        self.updates = 0
        self.seconds = dict.fromkeys(PHASES, 0.0)
        """Where the time of all steps went."""
        self._update = update_struct(
            self.gradients,
            self.first,
            self.second,
            beta1=config.betas[0],
            beta2=config.betas[1],
            epsilon=config.epsilon,
            clip=config.max_grad_norm,
            mean_loss=config.loss == "mean",
            zero_null_output=model.config.zero_null_output,
            gate_penalty=config.gate_penalty,
            end_penalty=config.end_penalty,
        )

    @classmethod
    def supports(cls, model: StoryModel, train_config: TrainConfig) -> str | None:
        """None if this engine can train the network, else why not."""
        if train_config.slot_supervision > 0:
            return "it has no slots that answer by themselves"
        if train_config.optimizer not in ("adam", "sgd"):
            return f"it has no {train_config.optimizer}"
        lacking = train_config.changed(LACKING)
        if lacking:
            return f"it has no {' and no '.join(lacking)}"
        if not is_plain(*model.parameters()):
            return "it takes float32 parameters in main memory"
        return why_not_compiled(model)

    def step(self, batch: RaggedBatch, rate: float) -> BatchResult:
        if self.watch.changed():
            raise EntNetError(
                "the network got hooks, methods or parts of its own after its engine was built: "
                "change it first"
            )
        if not self.model.training:
            self.model.train()
        dropout = self.model.config.dropout > 0
        keep = self.model._kept_dimensions(batch) if dropout else None
        self._update.rate = rate
        self._update.count = self.updates + 1
        noise = self.model.memory_noise(batch)
        ends = None
        if self.config.end_penalty > 0 and batch.same_ends is not None:
            ends = self.model.ends(batch.same_ends)
        outcome = self.network.train(batch, self._update, Beside(keep, noise, ends))
        self.updates += 1
        for phase, seconds in outcome.seconds.items():
            self.seconds[phase] += seconds
        for parameter in self.trained.values():
            increment_version(parameter)
        return BatchResult(outcome.loss, outcome.errors, batch.questions)

    def predict(self, batch: RaggedBatch) -> tuple[Tensor, float]:
        if self.model.training:
            self.model.eval()
        return self.network.evaluate(batch)

    def gradient(self, name: str) -> Tensor:
        """The last step's gradient of a parameter, before clipping."""
        return self._slice(self.gradients, name)

    def state(self) -> dict[str, Tensor]:
        if self.first is None or self.second is None or self.updates == 0:
            return {}
        out: dict[str, Tensor] = {}
        for i, name in enumerate(self.trained):
            out[f"{i}.step"] = torch.tensor(float(self.updates))
            out[f"{i}.exp_avg"] = self._slice(self.first, name).clone()
            out[f"{i}.exp_avg_sq"] = self._slice(self.second, name).clone()
        return out

    def load_state(self, state: dict[str, Tensor]) -> None:
        if self.first is None or self.second is None:
            return
        self.updates = int(state["0.step"]) if state else 0
        for i, name in enumerate(self.trained):
            for part, key in ((self.first, "exp_avg"), (self.second, "exp_avg_sq")):
                value = state.get(f"{i}.{key}")
                self._slice(part, name).copy_(torch.zeros(()) if value is None else value)

    def _slice(self, flat: Tensor, name: str) -> Tensor:
        parameter = self.trained[name]
        start = self.network.starts[name]
        return flat[start : start + parameter.numel()].view(parameter.shape)
