"""What reading leaves behind, and what asking gives: values that go in and come out."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from entnet.data.context import Held


class MemoryState(NamedTuple):
    """Everything that reading has brought about."""

    memory: Tensor
    """(S, m, d) what the slots hold; of a network without slots (S, N, L), the sentences themselves."""
    keys: Tensor
    """(m, d), or (S, m, d) where keys differ per story; without slots (S, c), the candidates' words."""
    named: tuple[int, ...] = ()
    """Where slots are named as the story goes: the word of each, in order."""
    context: Held = Held()
    """What is kept to be read beside later sentences, where the network has such a context."""


class Reading(NamedTuple):
    """An answer, and where it was looked for."""

    scores: Tensor
    """(Q, answers) before the softmax"""
    attention: Tensor
    """(Q, m) p_j of the last hop; m is 0 without slots"""
