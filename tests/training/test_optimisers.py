"""The optimisers and the clipping of the settings, against updates worked out here."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from entnet import ConfigError, EntNetError, TrainConfig
from entnet.training.engine import TorchEngine, build_optimiser, choose_engine, clip_gradients
from random_batches import random_batch, random_network

GRADIENTS = (0.5, -2.0, 1.0)
START = 3.0


def updated(config: TrainConfig, rate: float = 0.1) -> float:
    """A weight that starts at 3, after an update with each of the gradients."""
    weight = nn.Parameter(torch.tensor([START], dtype=torch.float64))
    optimiser = build_optimiser([weight], config)
    for group in optimiser.param_groups:
        group["lr"] = rate
    for gradient in GRADIENTS:
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        optimiser.step()
    return weight.item()


def by_hand(step: Callable[[float, int, dict[str, float]], float], decay: float = 0.0) -> float:
    """The same with ``step(gradient, number, memory)``, which says what is taken from the weight."""
    weight, memory = START, dict[str, float]()
    for number, gradient in enumerate(GRADIENTS, start=1):
        weight -= step(gradient + decay * weight, number, memory)
    return weight


def rmsprop(g: float, _: int, memory: dict[str, float]) -> float:
    """Graves (2013), with his constants but for the rate: centred, with momentum."""
    memory["n"] = 0.95 * memory.get("n", 0.0) + 0.05 * g * g
    memory["g"] = 0.95 * memory.get("g", 0.0) + 0.05 * g
    scaled = g / (math.sqrt(memory["n"] - memory["g"] ** 2) + 1e-4)
    memory["v"] = 0.9 * memory.get("v", 0.0) + scaled
    return 0.1 * memory["v"]


def adam(g: float, number: int, memory: dict[str, float]) -> float:
    memory["m"] = 0.5 * memory.get("m", 0.0) + 0.5 * g
    memory["v"] = 0.8 * memory.get("v", 0.0) + 0.2 * g * g
    first, second = memory["m"] / (1 - 0.5**number), memory["v"] / (1 - 0.8**number)
    return 0.1 * first / (math.sqrt(second) + 1e-8)


def adagrad(g: float, _: int, memory: dict[str, float]) -> float:
    memory["n"] = memory.get("n", 0.0) + g * g
    return 0.1 * g / (math.sqrt(memory["n"]) + 1e-8)


def momentum(g: float, _: int, memory: dict[str, float]) -> float:
    memory["v"] = 0.9 * memory.get("v", 0.0) + g
    return 0.1 * memory["v"]


@pytest.mark.parametrize(
    ("settings", "step"),
    [
        (
            {
                "optimizer": "rmsprop",
                "smoothing": 0.95,
                "centered": True,
                "momentum": 0.9,
                "epsilon": 1e-4,
            },
            rmsprop,
        ),
        ({"optimizer": "adam", "betas": (0.5, 0.8)}, adam),
        ({"optimizer": "adagrad"}, adagrad),
        ({"optimizer": "sgd", "momentum": 0.9}, momentum),
    ],
    ids=["rmsprop", "adam", "adagrad", "momentum"],
)
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_updates_are_those_worked_out_by_hand(
    settings: dict[str, Any], step: Callable[..., float], decay: float
) -> None:
    config = TrainConfig.from_dict({**settings, "weight_decay": decay})
    assert updated(config) == pytest.approx(by_hand(step, decay), rel=1e-6)


def clipped(**settings: Any) -> list[list[float]]:
    """Gradients (3, 4) and (0, 12) of two parameters, whole norm 13."""
    parameters = [nn.Parameter(torch.zeros(2)) for _ in range(2)]
    for parameter, gradient in zip(parameters, ([3.0, 4.0], [0.0, 12.0]), strict=True):
        parameter.grad = torch.tensor(gradient)
    clip_gradients(parameters, TrainConfig(**settings))
    return [[round(v, 4) for v in p.grad.tolist()] for p in parameters if p.grad is not None]


def test_the_norm_is_that_of_the_whole_gradient_or_of_each_parameter() -> None:
    assert clipped(max_grad_norm=0.0) == [[3, 4], [0, 12]]
    assert clipped(max_grad_norm=6.5) == [[1.5, 2], [0, 6]]
    assert clipped(max_grad_norm=6.0, clip_each=True) == [[3, 4], [0, 6]]


def test_entries_are_limited_before_the_norm_is() -> None:
    assert clipped(max_grad_norm=0.0, max_grad_value=3.5) == [[3, 3.5], [0, 3.5]]
    assert clipped(max_grad_norm=3.5, clip_each=True, max_grad_value=4.0) == [[2.1, 2.8], [0, 3.5]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"momentum": 0.9}, "momentum: for the optimizer sgd or rmsprop, not adam"),
        ({"optimizer": "sgd", "betas": (0.8, 0.9)}, "betas: for the optimizer adam, not sgd"),
        ({"centered": True, "smoothing": 0.9}, "smoothing and centered: for .* rmsprop"),
        ({"betas": (0.9,)}, "two numbers"),
        ({"betas": ("a", "b")}, "betas is .* a list of float"),
        ({"weight_decay": -1}, "weight_decay is -1"),
    ],
)
def test_what_an_optimiser_does_not_have_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TrainConfig.from_dict(settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "rmsprop"},
        {"optimizer": "sgd", "momentum": 0.9},
        {"weight_decay": 0.1},
        {"clip_each": True},
        {"max_grad_value": 1.0},
    ],
)
def test_what_compiled_code_lacks_is_left_to_pytorch(settings: dict[str, Any]) -> None:
    config = TrainConfig.from_dict(settings)
    assert isinstance(choose_engine(random_network({}, 1), config), TorchEngine)
    with pytest.raises(EntNetError, match="it has no"):
        choose_engine(random_network({}, 1), config.replace(engine="native"))


@pytest.mark.parametrize("settings", [{"optimizer": "rmsprop", "momentum": 0.9, "centered": True}])
def test_an_optimisers_memory_goes_to_a_checkpoint_and_back(settings: dict[str, Any]) -> None:
    config = TrainConfig.from_dict(settings)
    whole, parts = (TorchEngine(random_network({}, 1), config) for _ in range(2))
    batch = random_batch(whole.model.config, seed=1)  # type: ignore[arg-type]
    for number in range(4):
        whole.step(batch, 0.01)
        if number == 2:
            parts.model.load_state_dict(whole.model.state_dict())
            parts.load_state(whole.state())
    parts.step(batch, 0.01)
    for one, other in zip(whole.parameters, parts.parameters, strict=True):
        assert torch.equal(one, other)
