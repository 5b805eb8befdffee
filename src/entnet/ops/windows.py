"""The simple network on windows of words, trained and scored by compiled code (native/windows.h).

Rows of all parameters are padded with zeros to a multiple of 16. What is wrong with an array's shape or
type is said here; offsets, answers and words are looked through in the library, before the kernel runs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from entnet.errors import EntNetError
from entnet.ops.library import (
    WindowsNetworkStruct,
    WindowsStruct,
    WindowsTrainingStruct,
    check,
    library,
)

ALIGN = 16
CANDIDATES = 10
"""Slots of the network; the compiled loops are made for so many."""

Floats = NDArray[np.float32]
Shape = tuple[int | None, ...]


@dataclass
class WindowParameters:
    """The network's parameters, which change in place in training."""

    known: int
    """Words with a row of their own; the rows behind them are for words not known."""
    embedding: Floats
    """(rows, width)"""
    story_mask: Floats
    """(at least window, width)"""
    gate_mask: Floats
    """as story_mask"""
    question_mask: Floats
    """(query, width)"""
    gate_bias: Floats | None = None
    """(10)"""
    squares: Mapping[str, Floats] = field(default_factory=dict)
    """AdaGrad's sums of squared gradients, by the names above; empty for plain gradient descent."""

    def parts(self) -> dict[str, Floats]:
        """Parameters by name."""
        found = {
            "embedding": self.embedding,
            "story_mask": self.story_mask,
            "gate_mask": self.gate_mask,
            "question_mask": self.question_mask,
        }
        return found if self.gate_bias is None else {**found, "gate_bias": self.gate_bias}


class WindowQuestions(NamedTuple):
    """Questions in numbers, laid end to end."""

    offsets: NDArray[np.int64]
    """(Q + 1) where each question's windows start; the last is N."""
    windows: NDArray[np.int32]
    """(N, window)"""
    candidates: NDArray[np.int32]
    """(Q, 10)"""
    queries: NDArray[np.int32]
    """(Q, query)"""
    answers: NDArray[np.int32]
    """(Q) the answer's place among the candidates."""


class WindowTraining(NamedTuple):
    """How a pass over the questions trains."""

    rate: float
    batch: int = 32
    clip: float = 40.0
    dropout: float = 0.0
    oov_probability: float = 0.0
    """How often a candidate is read as a word never seen before."""
    seed: int = 0


def is_built() -> bool:
    """Whether the compiled code is at hand."""
    return library() is not None


def train_on_windows(
    parameters: WindowParameters,
    questions: WindowQuestions,
    order: NDArray[np.int64],
    training: WindowTraining,
    keep: Floats | None = None,
) -> tuple[float, int]:
    """Read questions in this order, with an update after every batch: summed loss, and wrong answers.

    ``keep`` (order, width) gives dropout's factors, which are drawn otherwise.
    """
    network, data = _network(parameters), _questions(parameters, questions)
    network.window = questions.windows.shape[1]
    _check_array("order", order, np.int64, (None,))
    if keep is not None:
        _check_array("keep", keep, np.float32, (len(order), parameters.embedding.shape[1]))
    _check_training(training)
    struct = WindowsTrainingStruct(
        len(order),
        training.batch,
        order.ctypes.data,
        training.rate,
        training.clip,
        training.dropout,
        training.oov_probability,
        training.seed,
        None if keep is None else keep.ctypes.data,
    )
    check(_library().entnet_windows_train(*map(ctypes.byref, (network, data, struct))))
    return struct.loss, struct.errors


def score_windows(parameters: WindowParameters, questions: WindowQuestions) -> Floats:
    """(Q, 10) scores of the candidates."""
    network, data = _network(parameters), _questions(parameters, questions)
    network.window = questions.windows.shape[1]
    out = np.empty((len(questions.answers), CANDIDATES), dtype=np.float32)
    check(
        _library().entnet_windows_score(ctypes.byref(network), ctypes.byref(data), out.ctypes.data)
    )
    return out


def _library() -> ctypes.CDLL:
    loaded = library()
    if loaded is None:
        raise EntNetError(
            "this needs the compiled kernel; install entnet again with a C++ compiler at hand"
        )
    return loaded


def _check_array(name: str, array: NDArray[Any], dtype: type[np.generic], shape: Shape) -> None:
    """An array of this type and shape, dense; None stands for any size."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        given = getattr(array, "dtype", type(array).__name__)
        raise EntNetError(f"{name} is {given}, but must be {np.dtype(dtype)}")
    sizes = zip(array.shape, shape, strict=False)
    if array.ndim != len(shape) or any(want is not None and have != want for have, want in sizes):
        wanted = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
        raise EntNetError(f"{name} is {array.shape}, but must be {wanted}")
    if not array.flags.c_contiguous:
        raise EntNetError(f"{name} is not laid out row by row")


def _network(p: WindowParameters) -> Any:
    """The structure, but for the window, which the questions say."""
    _check_array("embedding", p.embedding, np.float32, (None, None))
    rows, width = p.embedding.shape
    if not width or width % ALIGN:
        raise EntNetError(f"rows of {width} numbers are not padded to a multiple of {ALIGN}")
    if not 1 <= p.known <= rows:
        raise EntNetError(f"{p.known} known words, but the embedding has {rows} rows")
    _check_array("story_mask", p.story_mask, np.float32, (None, width))
    _check_array("gate_mask", p.gate_mask, np.float32, p.story_mask.shape)
    _check_array("question_mask", p.question_mask, np.float32, (None, width))
    if p.gate_bias is not None:
        _check_array("gate_bias", p.gate_bias, np.float32, (CANDIDATES,))
    parts = p.parts()
    if p.squares:
        if p.squares.keys() != parts.keys():
            raise EntNetError("the sums of squares are not those of the parameters")
        for name, part in parts.items():
            _check_array(f"squares of {name}", p.squares[name], np.float32, part.shape)
    for name, array in [*parts.items(), *p.squares.items()]:
        if not array.flags.writeable:
            raise EntNetError(f"{name} cannot be written to")
    names = ("embedding", "story_mask", "gate_mask", "question_mask", "gate_bias")
    sizes = (width, 0, len(p.question_mask), p.known, rows - p.known)
    places = [
        held[name].ctypes.data if name in held else None
        for held in (parts, p.squares)
        for name in names
    ]
    return WindowsNetworkStruct(*sizes, *places)


def _questions(p: WindowParameters, q: WindowQuestions) -> Any:
    _check_array("answers", q.answers, np.int32, (None,))
    count = len(q.answers)
    _check_array("offsets", q.offsets, np.int64, (count + 1,))
    _check_array("windows", q.windows, np.int32, (None, None))
    window, most = q.windows.shape[1], len(p.story_mask)
    if not 1 <= window <= most:
        raise EntNetError(f"windows of {window} words, but the masks are for 1 to {most}")
    _check_array("candidates", q.candidates, np.int32, (count, CANDIDATES))
    _check_array("queries", q.queries, np.int32, (count, len(p.question_mask)))
    return WindowsStruct(count, len(q.windows), *(array.ctypes.data for array in q))


def _check_training(training: WindowTraining) -> None:
    if training.batch < 1:
        raise EntNetError(f"a batch of {training.batch} questions, but it must have at least 1")
    if not 0 <= training.dropout < 1:
        raise EntNetError(f"dropout is {training.dropout}, but must be in [0, 1)")
