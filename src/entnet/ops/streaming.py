"""One sentence or question at a time in compiled code, on weights that are packed once."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from entnet.errors import EntNetError
from entnet.ops.checks import check_floats, check_whole
from entnet.ops.fused import CompiledNetwork
from entnet.ops.library import check


class Stream:
    """Reads into one memory and asks it. Safe to use from several threads; calls take turns."""

    def __init__(self, network: CompiledNetwork) -> None:
        """``network`` holds a copy of the weights: what changes them later is not seen here."""
        self.network = network
        self._library = network.library
        self._handle = network.handle
        self._slots = network.config.slots
        # A network whose slots are named as a story goes takes memories of any size.
        slots = None if network.config.keys == "named" else self._slots
        self._shape = (slots, network.config.width)
        self._answers = (
            self._slots if network.config.output == "slots" else network.config.vocabulary
        )
        self._library.entnet_stream_pack(self._handle)

    def step(self, memory: Tensor, keys: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """Read words (L) into memory (m, d) with keys (m, d): the memory after it, and gates (m)."""
        check_floats("memory", memory, self._shape)
        check_floats("keys", keys, tuple(memory.shape))
        memory, keys, words = memory.contiguous(), keys.contiguous(), _numbers(words)
        after = torch.empty_like(memory)
        gates = torch.empty(len(memory))
        check(
            self._library.entnet_stream_step(
                self._handle,
                words.data_ptr(),
                words.numel(),
                len(memory),
                keys.data_ptr(),
                memory.data_ptr(),
                after.data_ptr(),
                gates.data_ptr(),
                None,
            )
        )
        return after, gates

    def scan(
        self, memory: Tensor, keys: Tensor, words: NDArray[np.int32]
    ) -> tuple[Tensor, NDArray[np.float32], NDArray[np.int32]]:
        """Read many sentences, words (N, L): the memory after them, how far the widest gate opened (N), and
        which it was (N)."""
        shape = self._slots, self._shape[1]
        check_floats("memory", memory, shape)
        check_floats("keys", keys, shape)
        if words.ndim != 2 or words.dtype.kind not in "iu":
            raise EntNetError(
                f"words is {words.shape} {words.dtype}, but must be (any, any) numbers"
            )
        after, keys = memory.clone(memory_format=torch.contiguous_format), keys.contiguous()
        words = np.ascontiguousarray(words, dtype=np.int32)
        count, length = words.shape
        widest, slots = np.empty(count, np.float32), np.empty(count, np.int32)
        check(
            self._library.entnet_stream_scan(
                self._handle,
                words.ctypes.data,
                count,
                length,
                keys.data_ptr(),
                after.data_ptr(),
                widest.ctypes.data,
                slots.ctypes.data,
            )
        )
        return after, widest, slots

    def read(self, memory: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """Ask words (L) of memory (m, d): scores of the answers before the softmax, attention (m)."""
        check_floats("memory", memory, self._shape)
        memory, words = memory.contiguous(), _numbers(words)
        scores = torch.empty(self._answers)
        attention = torch.empty(len(memory))
        check(
            self._library.entnet_stream_read(
                self._handle,
                words.data_ptr(),
                words.numel(),
                len(memory),
                memory.data_ptr(),
                scores.data_ptr(),
                attention.data_ptr(),
            )
        )
        return scores, attention

    def step_numbers(
        self, memory: Tensor, keys: Tensor, words: Sequence[int]
    ) -> tuple[Tensor, list[float], list[float]]:
        """``step`` without a tensor in between: the numbers of the words go in, gates come out, and how far
        each slot moved."""
        self._check_plain("memory", memory)
        self._check_plain("keys", keys)
        if keys.shape[-2] != memory.shape[-2]:
            raise EntNetError(f"{keys.shape[-2]} keys for a memory of {memory.shape[-2]} slots")
        after, slots = torch.empty_like(memory), memory.shape[-2]
        gates, moved = (ctypes.c_float * slots)(), (ctypes.c_float * slots)()
        check(
            self._library.entnet_stream_step(
                self._handle,
                (ctypes.c_int64 * len(words))(*words),
                len(words),
                slots,
                keys.data_ptr(),
                memory.data_ptr(),
                after.data_ptr(),
                gates,
                moved,
            )
        )
        return after, gates[:], moved[:]

    def read_numbers(self, memory: Tensor, words: Sequence[int]) -> tuple[Tensor, list[float]]:
        """``read`` in the same way: scores (answers) and attention."""
        self._check_plain("memory", memory)
        scores, slots = torch.empty(self._answers), memory.shape[-2]
        attention = (ctypes.c_float * slots)()
        check(
            self._library.entnet_stream_read(
                self._handle,
                (ctypes.c_int64 * len(words))(*words),
                len(words),
                slots,
                memory.data_ptr(),
                scores.data_ptr(),
                attention,
            )
        )
        return scores, attention[:]

    def _check_plain(self, name: str, tensor: Tensor) -> None:
        """(m, d), or the same with one dimension before it, without gaps."""
        slots, width = self._shape
        *_, rows, columns = (0, 0, *tensor.shape)
        fits = columns == width and (slots is None or rows == slots)
        if not fits or tensor.numel() != rows * width:
            check_floats(name, tensor, self._shape)
        if not tensor.is_contiguous() or tensor.dtype != torch.float32 or not tensor.is_cpu:
            raise EntNetError(f"{name} must be float32 in main memory, without gaps")


def _numbers(words: Tensor) -> Tensor:
    check_whole("words", words, (None,))
    return words.to("cpu", torch.int64).contiguous()
