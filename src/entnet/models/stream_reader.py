"""Reading running text of any length into one memory: block by block, with no more than a block held at
a time.

Cutting a block into sentences and reading the one before it take turns in two threads, as neither needs
the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from entnet.errors import EntNetError
from entnet.models.compiled import compile_network
from entnet.models.entnet import EntNet
from entnet.models.memory import MemoryState
from entnet.ops.fused import why_not
from entnet.ops.running import Pieces, RunningText
from entnet.ops.streaming import Stream

BLOCK = 1 << 18
"""Bytes that are cut at once."""


class Needle(NamedTuple):
    """A sentence that opened a gate, and where it stands."""

    sentence: str
    line: int
    """Counted from 1."""
    start: int
    end: int
    """In bytes, from the beginning of the text."""
    gate: float
    """How far the widest gate opened."""
    slot: int
    """Which it was, counted from 0."""


@dataclass(frozen=True)
class Position:
    """How far a text has been read: a place between two sentences."""

    bytes: int = 0
    lines: int = 0
    """Line breaks before it."""
    words: int = 0
    sentences: int = 0
    opened: int = 0
    """Sentences that opened a gate."""


Watch = Callable[[Position], None]


def joined(lines: Iterable[str | bytes], size: int = BLOCK) -> Iterator[bytes]:
    """Lines put together to blocks of at least this size."""
    held: list[bytes] = []
    length = 0
    for line in lines:
        held.append(line.encode() if isinstance(line, str) else line)
        length += len(held[-1])
        if length >= size:
            yield b"".join(held)
            held, length = [], 0
    if held:
        yield b"".join(held)


class StreamReader:
    """One network, one memory, and how far the text has been read."""

    def __init__(
        self, network: EntNet, state: MemoryState | None = None, position: Position | None = None
    ) -> None:
        if not network.vocab.reads_running_text:
            raise EntNetError(
                "this network reads stories, not running text: it has no word for those that it lacks; "
                "`entnet models` lists one that does (long)"
            )
        self.network = network
        with torch.inference_mode():
            state = state or network.initial_state()
        self.memory = state.memory[0].clone()
        self.keys = (state.keys[0] if state.keys.dim() == 3 else state.keys).detach().clone()
        self.position = position or Position()
        self.cutter = RunningText(network.vocab.words, network.config.sentence_length)
        compiled = why_not(network.config) is None
        self.stream = Stream(compile_network(network, move=False)) if compiled else None

    def read(self, blocks: Iterable[bytes], watch: Watch | None = None) -> Iterator[Needle]:
        """Read a text from where this stands, and give the sentences that open a gate as they are found.

        After each block, ``watch`` is told the position, at which ``memory`` may be kept.
        """
        with ThreadPoolExecutor(1) as ahead:
            parts = self._cut(blocks)
            coming = ahead.submit(next, parts, None)
            while (part := coming.result()) is not None:
                coming = ahead.submit(next, parts, None)
                found = self._take(*part)
                if watch is not None:
                    watch(self.position)
                yield from found

    def _cut(self, blocks: Iterable[bytes]) -> Iterator[tuple[bytes, Pieces]]:
        """The text's sentences, block by block; what a block ends in goes to the next."""
        held = b""
        for block in blocks:
            held += block
            if len(held) < BLOCK:
                continue
            at = 0
            while True:
                pieces = self.cutter.split(held, final=False, at=at)
                yield held[at : at + pieces.consumed], pieces
                at += pieces.consumed
                if not pieces.consumed or len(held) - at < BLOCK:
                    break
            held = held[at:]
        at = 0
        while at < len(held):
            pieces = self.cutter.split(held, at=at)
            yield held[at : at + pieces.consumed], pieces
            at += pieces.consumed

    def _take(self, text: bytes, pieces: Pieces) -> list[Needle]:
        widest, slots = self.scan(pieces.words)
        before = self.position
        found = []
        for i in np.flatnonzero(widest > 0).tolist():
            start, end = int(pieces.starts[i]), int(pieces.ends[i])
            sentence = " ".join(text[start:end].decode("utf-8", "replace").split())
            line = before.lines + int(pieces.lines[i]) + 1
            place = (before.bytes + start, before.bytes + end)
            found.append(Needle(sentence, line, *place, float(widest[i]), int(slots[i])))
        self.position = replace(
            before,
            bytes=before.bytes + pieces.consumed,
            lines=before.lines + pieces.breaks,
            words=before.words + pieces.runs,
            sentences=before.sentences + len(pieces.words),
            opened=before.opened + len(found),
        )
        return found

    def scan(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Read sentences, (N, L), into the memory: how far the widest gate opened (N), and which it was."""
        if self.stream is not None:
            self.memory, widest, slots = self.stream.scan(self.memory, self.keys, words)
            return widest, slots
        return self._scan_in_pytorch(words)

    @torch.inference_mode()
    def _scan_in_pytorch(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        state = MemoryState(self.memory.unsqueeze(0), self.keys)
        widest, slots = np.zeros(len(words), np.float32), np.zeros(len(words), np.int32)
        for i, row in enumerate(torch.from_numpy(words.astype(np.int64))):
            state, gates = self.network.step(state, row.unsqueeze(0))
            widest[i], slots[i] = float(gates.max()), int(gates.argmax())
        self.memory = state.memory[0]
        return widest, slots

    def ask(self, question: str) -> tuple[str, float]:
        """The answer from the memory as it is now, and its probability."""
        words = self.cutter.split(question.encode()).words
        if len(words) != 1:
            raise EntNetError(f"not one short question: {question!r}")
        with torch.inference_mode():
            state = MemoryState(self.memory.unsqueeze(0), self.keys)
            reading = self.network.read(state, torch.from_numpy(words.astype(np.int64)))
        chances: Tensor = reading.scores[0].softmax(-1)
        best = int(chances[1:].argmax()) + 1
        return self.network.vocab.words[best], float(chances[best])
