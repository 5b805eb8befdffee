"""The compiled hops of a memory network against the plain ones, in values and all gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from entnet.errors import EntNetError
from entnet.ops.hops import memory_hops, memory_hops_reference

Made = tuple[Tensor, Tensor, Tensor, Tensor | None]
HOPS = 3


def arguments(
    heard: list[int], width: int = 3, shared: bool = False, dtype: torch.dtype = torch.float32
) -> Made:
    """memories, state, heard, H"""
    torch.manual_seed(1)
    layers = 2 if shared else HOPS + 1
    shapes = [(len(heard), max(heard), layers, width), (len(heard), width), (width, width)]
    memories, state, H = (
        torch.randn(shape, dtype=dtype).div_(width**0.5).requires_grad_() for shape in shapes
    )
    return memories, state, torch.tensor(heard), H if shared else None


def outcome(
    run: Callable[..., Tensor], made: Made, linear: bool, relu: bool = False
) -> list[Tensor]:
    """States, and gradients of a sum in which every value counts differently."""
    memories, state, heard, H = made
    last = run(memories, state, heard, H, HOPS, linear, relu)
    total = (last * torch.arange(last.numel()).to(last).view_as(last).cos()).sum()
    inputs = [tensor for tensor in (memories, state, H) if tensor is not None]
    return [last, *torch.autograd.grad(total, inputs)]


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("width", [1, 7, 16, 20, 50])
@pytest.mark.parametrize("heard", [[1], [4, 1, 3], [40, 17, 16, 33]])
def test_the_compiled_hops_equal_the_plain_ones(
    kernel: str, heard: list[int], width: int, shared: bool, linear: bool, relu: bool
) -> None:
    made = arguments(heard, width, shared)
    for fast, plain in zip(
        outcome(memory_hops, made, linear, relu),
        outcome(memory_hops_reference, made, linear, relu),
        strict=True,
    ):
        # Scores that no softmax holds back grow from hop to hop.
        close = 1e-5 * max(1.0, float(plain.detach().abs().max()))
        torch.testing.assert_close(fast, plain, rtol=1e-4, atol=close)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_gradients_of_the_plain_hops_are_right(shared: bool, linear: bool) -> None:
    memories, state, heard, H = arguments([3, 1], 2, shared, torch.float64)
    inputs = (memories, state) if H is None else (memories, state, H)

    def run(memories: Tensor, state: Tensor, H: Tensor | None = None) -> Tensor:
        return memory_hops(memories, state, heard, H, HOPS, linear, relu=True)

    assert torch.autograd.gradcheck(run, inputs)


def test_large_scores_do_not_overflow() -> None:
    memories, state, heard, _ = arguments([5, 2])
    last = memory_hops(memories * 1000, state, heard, None, HOPS, False)
    plain = memory_hops_reference(memories * 1000, state, heard, None, HOPS, False)
    torch.testing.assert_close(last, plain)


def test_a_missing_kernel_takes_the_plain_hops(monkeypatch: pytest.MonkeyPatch) -> None:
    made = arguments([4, 2], shared=True)
    compiled = outcome(memory_hops, made, False)
    monkeypatch.setattr("entnet.ops.library.library", lambda: None)
    for fast, plain in zip(compiled, outcome(memory_hops, made, False), strict=True):
        torch.testing.assert_close(fast, plain)


def test_impossible_memories_are_refused() -> None:
    memories, state, heard, _ = arguments([2, 1])
    for wrong in (heard + 1, heard - 1):
        with pytest.raises(EntNetError, match="looks back on no sentence, or on too many"):
            memory_hops(memories, state, wrong, None, HOPS, False)
    with pytest.raises(EntNetError, match="fewer layers"):
        memory_hops(memories, state, heard, None, HOPS + 1, False)
