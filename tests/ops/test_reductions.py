"""The compiled reductions of a query-reduction network against the plain ones, values and gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from entnet.errors import EntNetError
from entnet.ops.library import plain_pytorch
from entnet.ops.reductions import reductions, reductions_reference

Made = tuple[Tensor, Tensor, Tensor]


def arguments(
    lengths: list[int], width: int, ways: int, dtype: torch.dtype = torch.float32
) -> Made:
    """inputs, weights, passed"""
    torch.manual_seed(1)
    rows = sum(lengths)
    inputs, weights = torch.randn(rows, width, dtype=dtype), torch.rand(ways, rows, dtype=dtype)
    made = inputs, weights, torch.rand(rows, dtype=dtype)
    return made[0].requires_grad_(), made[1].requires_grad_(), made[2].requires_grad_()


def outcome(run: Callable[..., Tensor], lengths: list[int], made: Made) -> list[Tensor]:
    """Values, and gradients of a sum in which every value counts differently."""
    states = run(*made, torch.tensor(lengths, dtype=torch.int64))
    weights = torch.arange(states.numel()).to(states).view_as(states).cos()
    return [states, *torch.autograd.grad((states * weights).sum(), made)]


@pytest.mark.parametrize("ways", [1, 2])
@pytest.mark.parametrize("width", [1, 7, 16, 50, 65])
@pytest.mark.parametrize("lengths", [[1], [4, 2, 3], [0, 3, 3, 1], [9, 30, 1, 30, 17]])
def test_the_compiled_layer_equals_the_plain_one(
    kernel: str, lengths: list[int], width: int, ways: int
) -> None:
    made = arguments(lengths, width, ways)
    for fast, plain in zip(
        outcome(reductions, lengths, made),
        outcome(reductions_reference, lengths, made),
        strict=True,
    ):
        torch.testing.assert_close(fast, plain, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("ways", [1, 2])
def test_it_is_a_sum_with_weights_that_fade(ways: int) -> None:
    """h_i = Σ_j≤i w_j Π_j<k≤i p_k tanh(x_j), and backwards the same of what comes after."""
    inputs, weights, passed = arguments([6], 3, ways, torch.float64)
    states = reductions(inputs, weights, passed, torch.tensor([6]))
    for i in range(6):
        before = [
            weights[0, j] * passed[j + 1 : i + 1].prod() * inputs[j].tanh() for j in range(i + 1)
        ]
        after = [weights[-1, j] * passed[i:j].prod() * inputs[j].tanh() for j in range(i, 6)]
        wanted = torch.stack(before).sum(0) + (torch.stack(after).sum(0) if ways == 2 else 0)
        torch.testing.assert_close(states[i], wanted)


@pytest.mark.parametrize("ways", [1, 2])
def test_gradients_of_the_plain_layer_are_right(ways: int) -> None:
    lengths = torch.tensor([0, 3, 2])
    made = arguments([0, 3, 2], 3, ways, torch.float64)
    assert torch.autograd.gradcheck(lambda *given: reductions(*given, lengths), made)


def test_gates_that_are_quite_open_or_shut(kernel: str) -> None:
    """Nothing passes an open gate, all passes a shut one, and gradients are finite."""
    inputs, _, _ = arguments([3], 20, 1)
    shut = torch.tensor([1.0, 0.0, 0.0]).requires_grad_()
    states = reductions(inputs, shut[None], 1 - shut, torch.tensor([3]))
    torch.testing.assert_close(states, inputs[:1].tanh().expand(3, -1))
    for gradient in torch.autograd.grad(states.sum(), (inputs, shut)):
        assert gradient.isfinite().all()


def test_nothing_to_read_is_no_state(kernel: str) -> None:
    for lengths in ([], [0, 0]):
        made = arguments(lengths, 3, 2)
        assert reductions(*made, torch.tensor(lengths, dtype=torch.int64)).shape == (0, 3)


def test_without_the_kernel_it_is_plain_pytorch() -> None:
    made = arguments([3, 2], 5, 2)
    with plain_pytorch():
        plain = outcome(reductions, [3, 2], made)
    for one, other in zip(plain, outcome(reductions_reference, [3, 2], made), strict=True):
        assert torch.equal(one, other)


def test_impossible_calls_are_refused() -> None:
    inputs, weights, passed = arguments([2, 1], 3, 2)
    with pytest.raises(EntNetError, match="as many as the rows"):
        reductions(inputs, weights, passed, torch.tensor([2, 2]))
    with pytest.raises(EntNetError, match="fewer than no"):
        reductions(inputs, weights, passed, torch.tensor([4, -1]))
    with pytest.raises(EntNetError, match="one or two"):
        reductions(inputs, weights.repeat(2, 1), passed, torch.tensor([2, 1]))
    with pytest.raises(EntNetError, match="passed is"):
        reductions(inputs, weights, passed[:2], torch.tensor([2, 1]))
