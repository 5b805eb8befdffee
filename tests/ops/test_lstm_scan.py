"""The compiled LSTM scan against the plain one, in values and all gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from entnet.errors import EntNetError
from entnet.models.layers import pack
from entnet.ops.lstm import lstm_scan, lstm_scan_reference

LENGTHS = [[1], [4, 2, 3], [0, 3, 3, 1], [2, 2], [0, 1], [9, 30, 1, 30, 17]]
VOCABULARY = 5


def arguments(
    lengths: list[int], units: int = 3, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """table, words, U, hidden, cell; of a size at which rounding does not grow from step to step"""
    torch.manual_seed(1)
    shapes = [(VOCABULARY, 4 * units), (4 * units, units), *[(len(lengths), units)] * 2]
    table, U, hidden, cell = (
        torch.randn(shape, dtype=dtype).div_(units**0.5).requires_grad_() for shape in shapes
    )
    return table, torch.randint(VOCABULARY, (sum(lengths),)), U, hidden, cell


def outcome(scan: object, lengths: list[int], made: tuple[Tensor, ...]) -> list[Tensor]:
    """Values, and gradients of a sum in which every value counts differently."""
    table, words, U, hidden, cell = made
    hiddens, cells = scan(table, words, U, hidden, cell, pack(torch.tensor(lengths)).active)  # type: ignore[operator]
    weights = torch.arange(hiddens.numel(), dtype=hiddens.dtype).view_as(hiddens).cos()
    total = (hiddens * weights).sum() + (cells * weights.flip(0)).sum()
    inputs = (table, U, hidden, cell)
    return [hiddens, cells, *torch.autograd.grad(total, inputs, materialize_grads=True)]


@pytest.mark.parametrize("units", [1, 7, 16, 50, 65])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_compiled_scan_equals_the_plain_one(
    kernel: str, lengths: list[int], units: int
) -> None:
    made = arguments(lengths, units)
    for fast, plain in zip(
        outcome(lstm_scan, lengths, made),
        outcome(lstm_scan_reference, lengths, made),
        strict=True,
    ):
        torch.testing.assert_close(fast, plain, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("lengths", [[4, 2, 3], [0, 1]])
def test_gradients_of_the_plain_scan_are_right(lengths: list[int]) -> None:
    table, words, U, hidden, cell = arguments(lengths, dtype=torch.float64)
    active = pack(torch.tensor(lengths)).active
    assert torch.autograd.gradcheck(
        lambda table, U, hidden, cell: lstm_scan(table, words, U, hidden, cell, active),
        (table, U, hidden, cell),
    )


def test_double_precision_and_a_missing_kernel_take_the_plain_scan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = arguments([4, 2], dtype=torch.float64)
    assert outcome(lstm_scan, [4, 2], made)[0].dtype == torch.float64
    single = arguments([4, 2])
    compiled = outcome(lstm_scan, [4, 2], single)
    monkeypatch.setattr("entnet.ops.library.library", lambda: None)
    for fast, plain in zip(compiled, outcome(lstm_scan, [4, 2], single), strict=True):
        torch.testing.assert_close(fast, plain)


def test_impossible_layouts_are_refused() -> None:
    table, words, U, hidden, cell = arguments([2, 1])
    with pytest.raises(EntNetError, match="longest first"):
        lstm_scan(table, words, U, hidden, cell, [1, 2])
    with pytest.raises(EntNetError, match="as many as the rows"):
        lstm_scan(table, words, U, hidden, cell, [2, 2])
    with pytest.raises(EntNetError, match="outside the vocabulary"):
        lstm_scan(table, words + VOCABULARY, U, hidden, cell, [2, 1])
