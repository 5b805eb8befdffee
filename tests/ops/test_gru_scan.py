"""The compiled GRU scans against the plain ones and torch's own, in values and all gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from entnet.errors import EntNetError
from entnet.models.layers import pack
from entnet.ops.gru import gru_scan, gru_scan_reference

LENGTHS = [[1], [4, 2, 3], [0, 3, 3, 1], [0, 1], [9, 30, 1, 30, 17]]


def arguments(
    lengths: list[int], units: int, attention: bool, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, ...]:
    """inputs, U, hidden and, if wanted, attention"""
    torch.manual_seed(1)
    gates = 2 if attention else 3
    shapes = [(sum(lengths), gates * units), (gates * units, units), (len(lengths), units)]
    made = [torch.randn(shape, dtype=dtype).div_(units**0.5) for shape in shapes]
    if attention:
        made.append(torch.rand(sum(lengths), dtype=dtype))
    return tuple(tensor.requires_grad_() for tensor in made)


def run(scan: Any, lengths: list[int], made: tuple[Tensor, ...]) -> Tensor:
    inputs, U, hidden, *attention = made
    states: Tensor = scan(inputs, U, hidden, pack(torch.tensor(lengths)).active, *attention)
    return states


def outcome(scan: Any, lengths: list[int], made: tuple[Tensor, ...]) -> list[Tensor]:
    """Values, and gradients of a sum in which every value counts differently."""
    hiddens = run(scan, lengths, made)
    weights = torch.arange(hiddens.numel(), dtype=hiddens.dtype).view_as(hiddens).cos()
    total = (hiddens * weights).sum()
    return [hiddens, *torch.autograd.grad(total, made, materialize_grads=True)]


@pytest.mark.parametrize("attention", [False, True])
@pytest.mark.parametrize("units", [1, 7, 16, 50, 65])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_compiled_scan_equals_the_plain_one(
    kernel: str, lengths: list[int], units: int, attention: bool
) -> None:
    made = arguments(lengths, units, attention)
    for fast, plain in zip(
        outcome(gru_scan, lengths, made), outcome(gru_scan_reference, lengths, made), strict=True
    ):
        torch.testing.assert_close(fast, plain, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("attention", [False, True])
def test_gradients_of_the_plain_scan_are_right(attention: bool) -> None:
    lengths = [0, 3, 2]
    made = arguments(lengths, 3, attention, torch.float64)
    assert torch.autograd.gradcheck(lambda *tensors: run(gru_scan, lengths, tensors), made)


def test_it_is_torchs_gru() -> None:
    """With torch's order of gates (reset, update, candidate), and no bias of its own on the state."""
    torch.manual_seed(2)
    units, steps = 5, 4
    theirs = nn.GRU(3, units, bias=True)
    nn.init.zeros_(theirs.bias_hh_l0)
    x = torch.randn(steps, 3)
    order = torch.cat(
        [torch.arange(units), torch.arange(2 * units, 3 * units), torch.arange(units, 2 * units)]
    )
    inputs = (x @ theirs.weight_ih_l0.T + theirs.bias_ih_l0)[:, order]
    ours = gru_scan(inputs, theirs.weight_hh_l0[order], torch.zeros(1, units), [1] * steps)
    torch.testing.assert_close(ours, theirs(x)[0])


def test_attention_decides_what_is_overwritten() -> None:
    """Nothing where it is 0; all where it is 1, as if the story began there but for the reset gate."""
    lengths = [4]
    inputs, U, hidden, _ = arguments(lengths, 6, True)
    none = gru_scan(inputs, U, hidden, [1] * 4, torch.zeros(4))
    torch.testing.assert_close(none, hidden.expand(4, -1))
    only = torch.tensor([0.0, 1.0, 0.0, 0.0])
    states = gru_scan(inputs, U, torch.zeros_like(hidden), [1] * 4, only)
    torch.testing.assert_close(states[1], inputs[1, 6:].tanh())
    torch.testing.assert_close(states[3], states[1])


def test_double_precision_and_a_missing_kernel_take_the_plain_scan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = arguments([4, 2], 3, False, torch.float64)
    assert outcome(gru_scan, [4, 2], made)[0].dtype == torch.float64
    single = arguments([4, 2], 3, True)
    compiled = outcome(gru_scan, [4, 2], single)
    monkeypatch.setattr("entnet.ops.library.library", lambda: None)
    for fast, plain in zip(compiled, outcome(gru_scan, [4, 2], single), strict=True):
        torch.testing.assert_close(fast, plain)


def test_impossible_calls_are_refused() -> None:
    inputs, U, hidden = arguments([2, 1], 3, False)
    with pytest.raises(EntNetError, match="longest first"):
        gru_scan(inputs, U, hidden, [1, 2])
    with pytest.raises(EntNetError, match="as many as the rows"):
        gru_scan(inputs, U, hidden, [2, 2])
    with pytest.raises(EntNetError, match="inputs is"):
        gru_scan(inputs[:, :-1], U, hidden, [2, 1])
    with pytest.raises(EntNetError, match="inputs is"):
        gru_scan(inputs, U, hidden, [2, 1], torch.zeros(3))
