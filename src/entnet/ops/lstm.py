"""An LSTM over many sequences at once, in plain PyTorch and on the compiled kernel.

Sequences are laid out by time: all first words, all second words, …. Longer sequences come first, so those
still being read are always the first few; ``active`` says how many, step by step.

    code            shape           meaning
    table           (|V|, 4H)       a word's share of the gates: output, input, forget, candidate
    words           (N)             the words as they are laid out
    U               (4H, H)         brings the hidden state's share
    hidden, cell    (S, H), (N, H)  where sequences start; states after every word
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

from entnet.ops.checks import check_shape, check_whole
from entnet.ops.library import (
    LstmGradientsStruct,
    LstmStruct,
    address,
    can_run,
    check,
    library,
)

ALIGN = 16
"""The kernel's rows are padded to multiples of this."""


def lstm_step(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """c ← f ⊙ c + i ⊙ tanh(z),  h = o ⊙ tanh(c), from the arguments of the gates."""
    o, i, f, z = gates.chunk(4, dim=-1)
    cell = f.sigmoid() * cell + i.sigmoid() * z.tanh()
    return o.sigmoid() * cell.tanh(), cell


def lstm_scan_reference(
    table: Tensor, words: Tensor, U: Tensor, hidden: Tensor, cell: Tensor, active: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Hidden states and cells (N, H) after every word: the specification."""
    hiddens, cells = [hidden[:0]], [cell[:0]]
    first = 0
    for count in active:
        gates = table[words[first : first + count]] + hidden[:count] @ U.T
        hidden, cell = lstm_step(gates, cell[:count])
        hiddens.append(hidden)
        cells.append(cell)
        first += count
    return torch.cat(hiddens), torch.cat(cells)


def lstm_scan(
    table: Tensor, words: Tensor, U: Tensor, hidden: Tensor, cell: Tensor, active: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """As ``lstm_scan_reference``; compiled for float32 tensors in main memory, where that was built."""
    check_shape("hidden", hidden, (None, None))
    sequences, units = hidden.shape
    check_shape("cell", cell, (sequences, units))
    check_shape("table", table, (None, 4 * units))
    check_shape("U", U, (4 * units, units))
    check_whole("words", words, (None,))
    if not can_run(table, U, hidden, cell):
        return lstm_scan_reference(table, words, U, hidden, cell, active)
    steps = torch.tensor(active, dtype=torch.int64)
    hiddens, cells = cast(
        "tuple[Tensor, Tensor]",
        _CompiledScan.apply(table, words.long(), U, hidden, cell, steps),  # type: ignore[no-untyped-call]
    )
    return hiddens[:, :units], cells[:, :units]


class _CompiledScan(torch.autograd.Function):
    """The scan on the kernel. Its results are padded with columns of zeros."""

    @staticmethod
    def forward(
        ctx: Any,
        table: Tensor,
        words: Tensor,
        U: Tensor,
        hidden: Tensor,
        cell: Tensor,
        steps: Tensor,
    ) -> tuple[Tensor, Tensor]:
        loaded = library()
        assert loaded is not None
        rows, width = words.numel(), -(-hidden.shape[1] // ALIGN) * ALIGN
        inputs = [tensor.contiguous() for tensor in (words, table, U, hidden, cell, steps)]
        gates = table.new_empty((rows, 4 * width))
        hiddens, cells = table.new_empty((rows, width)), table.new_empty((rows, width))
        struct = _describe([*inputs, gates, hiddens, cells])
        check(loaded.entnet_lstm_forward(ctypes.byref(struct)))
        ctx.save_for_backward(*inputs, gates, hiddens, cells)
        return hiddens, cells

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        loaded = library()
        assert loaded is not None
        saved = ctx.saved_tensors
        struct = _describe(saved)
        given = [gradient.contiguous() for gradient in gradients]
        out = [torch.empty_like(tensor) for tensor in saved[1:5]]
        places = LstmGradientsStruct(*(address(tensor) for tensor in (*given, *out)))
        check(loaded.entnet_lstm_backward(ctypes.byref(struct), ctypes.byref(places)))
        return out[0], None, out[1], out[2], out[3], None


def _describe(tensors: Sequence[Tensor]) -> ctypes.Structure:
    words, table, U, hidden, cell, steps, gates, hiddens, cells = tensors
    return LstmStruct(
        units=hidden.shape[1],
        vocabulary=table.shape[0],
        rows=words.numel(),
        sequences=hidden.shape[0],
        steps=steps.numel(),
        active=address(steps),
        words=address(words),
        table=address(table),
        U=address(U),
        hidden=address(hidden),
        cell=address(cell),
        gates=address(gates),
        hiddens=address(hiddens),
        cells=address(cells),
    )
