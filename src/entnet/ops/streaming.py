"""One sentence or question at a time in compiled code, on weights that are packed once."""

from __future__ import annotations

import torch
from torch import Tensor

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
        self._answers = (
            self._slots if network.config.output == "slots" else network.config.vocabulary
        )
        self._library.entnet_stream_pack(self._handle)

    def step(self, memory: Tensor, keys: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """Read words (L) into memory (m, d) with keys (m, d): the memory after it, and gates (m)."""
        memory, keys, words = memory.contiguous(), keys.contiguous(), _numbers(words)
        after = torch.empty_like(memory)
        gates = torch.empty(self._slots)
        check(
            self._library.entnet_stream_step(
                self._handle,
                words.data_ptr(),
                words.numel(),
                keys.data_ptr(),
                memory.data_ptr(),
                after.data_ptr(),
                gates.data_ptr(),
            )
        )
        return after, gates

    def read(self, memory: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """Ask words (L) of memory (m, d): scores of the answers before the softmax, attention (m)."""
        memory, words = memory.contiguous(), _numbers(words)
        scores = torch.empty(self._answers)
        attention = torch.empty(self._slots)
        check(
            self._library.entnet_stream_read(
                self._handle,
                words.data_ptr(),
                words.numel(),
                memory.data_ptr(),
                scores.data_ptr(),
                attention.data_ptr(),
            )
        )
        return scores, attention


def _numbers(words: Tensor) -> Tensor:
    return words.to("cpu", torch.int64).contiguous()
