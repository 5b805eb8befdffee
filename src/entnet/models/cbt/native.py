"""The simple network on windows, read and trained by compiled code (native/cbt.cpp).

It is the same network as ``EntNet`` with ``simple_config``; here its parameters lie in rows padded to a
multiple of 16, and only the rows that a batch touches are updated. Tests hold the two equal.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from entnet.config import EntNetConfig
from entnet.data.cbt import CANDIDATES
from entnet.data.cbt_windows import WINDOW, WindowedQuestions, known_words
from entnet.errors import EntNetError
from entnet.models.entnet import EntNet
from entnet.ops.library import library
from entnet.text import Vocab

_LANES = 16
Floats = NDArray[np.float32]


def simple_config(vocabulary: int, **changes: object) -> EntNetConfig:
    """The paper's simple model: U = V = 0, W = I, φ the identity, no (5), slots tied to the candidates."""
    values: dict[str, object] = {
        "vocabulary": vocabulary,
        "sentence_length": WINDOW,
        "memory_limit": None,
        "slots": CANDIDATES,
        "separate_encoders": True,
        "activation": "identity",
        "U": "zero",
        "V": "zero",
        "W": "identity",
        "gate_bias": False,
        "candidate_bias": False,
        "bias_init": "zero",
        "normalise": False,
        "keys": "story",
        "output": "slots",
        "embedding_scale": 0.3,
        "dropout": 0.5,
    }
    return EntNetConfig.from_dict({**values, **changes})


class EpochResult(NamedTuple):
    """Mean loss over an epoch's questions, and the share of them answered wrongly, in percent."""

    loss: float
    error: float


class _Network(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("width", "window", "query", "known", "fresh")),
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("embedding", "story_mask", "gate_mask", "question_mask", "gate_bias"),
                *("embedding_squares", "story_squares", "gate_squares", "question_squares"),
                "bias_squares",
            )
        ),
    )


class _Questions(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_int64),
        *(
            (name, ctypes.c_void_p)
            for name in ("offsets", "windows", "candidates", "queries", "answers")
        ),
    )


class _Training(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_int64),
        ("batch", ctypes.c_int64),
        ("order", ctypes.c_void_p),
        *((name, ctypes.c_double) for name in ("rate", "clip", "dropout", "disguise")),
        ("seed", ctypes.c_uint64),
        ("keep", ctypes.c_void_p),
        ("loss", ctypes.c_double),
        ("errors", ctypes.c_int64),
    )


_VERSION = 3
"""Of the structures above, as native/cbt.cpp has them."""


def is_built() -> bool:
    """Whether the compiled code is at hand, and of this version."""
    loaded = library()
    version = getattr(loaded, "entnet_cbt_version", None)
    return version is not None and version() == _VERSION


def _library() -> ctypes.CDLL:
    loaded = library()
    if loaded is None or not is_built():
        raise EntNetError(
            "this needs the compiled kernel; install entnet again with a C++ compiler at hand"
        )
    pointer = ctypes.c_void_p
    loaded.entnet_cbt_train.argtypes = [pointer] * 3
    loaded.entnet_cbt_score.argtypes = [pointer, pointer, ctypes.c_int64, ctypes.c_int64, pointer]
    loaded.entnet_cbt_train.restype = loaded.entnet_cbt_score.restype = None
    return loaded


def is_simple(config: EntNetConfig) -> bool:
    """Whether this is the network that the compiled code knows."""
    return (
        (config.U, config.V, config.W) == ("zero", "zero", "identity")
        and (config.activation, config.keys, config.output) == ("identity", "story", "slots")
        and (config.encoder, config.separate_masks, config.separate_encoders)
        == ("mask", True, True)
        and config.slots == CANDIDATES
        and not (config.normalise or config.candidate_bias)
    )


class NativeSimple:
    """Parameters of the simple network, for training and scoring in compiled code."""

    def __init__(self, model: EntNet, adaptive: bool = False) -> None:
        """``adaptive`` training is AdaGrad's: each parameter's rate falls with the steps it has made."""
        config = model.config
        if not is_simple(config):
            raise EntNetError("the compiled code is for the simple network; see simple_config")
        self.config = config
        self.vocab: Vocab = model.vocab
        self.known = known_words(model.vocab)
        self.fresh = config.vocabulary - self.known
        self.query_width = config.sentence_length
        encoder = model.encoder
        self.embedding = self._padded(model.embedding)
        self.story_mask = self._padded(encoder.story_mask)
        self.gate_mask = self._padded(encoder.gate_mask)
        self.question_mask = self._padded(encoder.question_mask)
        bias = model.memory.gate_bias
        self.gate_bias = None if bias is None else bias.detach().numpy().copy()
        self.squares = (
            {name: np.zeros_like(values) for name, values in self.parameters().items()}
            if adaptive
            else {}
        )

    def _padded(self, tensor: torch.Tensor | None) -> Floats:
        assert tensor is not None
        width = tensor.shape[1]
        return np.pad(tensor.detach().numpy(), ((0, 0), (0, -width % _LANES)))

    def parameters(self) -> dict[str, Floats]:
        """All parameters by name; they change in place in training."""
        found = {
            "embedding": self.embedding,
            "story_mask": self.story_mask,
            "gate_mask": self.gate_mask,
            "question_mask": self.question_mask,
        }
        return found if self.gate_bias is None else {**found, "gate_bias": self.gate_bias}

    def to_model(self) -> EntNet:
        """The same network in PyTorch."""
        model = EntNet(self.config, self.vocab)
        width = self.config.width
        with torch.no_grad():
            model.embedding.copy_(torch.from_numpy(self.embedding[:, :width]))
            for name in ("story_mask", "gate_mask", "question_mask"):
                values = torch.from_numpy(getattr(self, name)[:, :width])
                getattr(model.encoder, name).copy_(values)
            if model.memory.gate_bias is not None and self.gate_bias is not None:
                model.memory.gate_bias.copy_(torch.from_numpy(self.gate_bias))
        return model.eval()

    def train_epoch(
        self,
        data: WindowedQuestions,
        order: NDArray[np.int64],
        rate: float,
        *,
        batch: int = 32,
        clip: float = 40.0,
        disguise: float = 0.0,
        seed: int = 0,
        keep: Floats | None = None,
    ) -> EpochResult:
        """Read questions in this order, with an update after every batch, on the summed loss.

        ``disguise`` is how often a candidate is read as a word never seen before. ``keep`` (questions,
        width) gives dropout's factors, which are drawn otherwise.
        """
        order = np.ascontiguousarray(order, dtype=np.int64)
        if keep is not None:
            padding = self.embedding.shape[1] - keep.shape[1]
            keep = np.ascontiguousarray(np.pad(keep, ((0, 0), (0, padding))), dtype=np.float32)
        training = _Training(
            len(order),
            batch,
            order.ctypes.data,
            rate,
            clip,
            self.config.dropout,
            disguise,
            seed,
            None if keep is None else keep.ctypes.data,
        )
        questions, held = self._questions(data)
        network = self._network()
        _library().entnet_cbt_train(
            ctypes.byref(network), ctypes.byref(questions), ctypes.byref(training)
        )
        del held
        count = max(len(order), 1)
        return EpochResult(training.loss / count, 100 * training.errors / count)

    def scores(self, data: WindowedQuestions) -> Floats:
        """(Q, 10) scores of the candidates."""
        out = np.empty((len(data), self.config.slots), dtype=np.float32)
        questions, held = self._questions(data)
        network = self._network()
        _library().entnet_cbt_score(
            ctypes.byref(network), ctypes.byref(questions), 0, len(data), out.ctypes.data
        )
        del held
        return out

    def _network(self) -> _Network:
        return _Network(
            self.embedding.shape[1],
            WINDOW,
            self.query_width,
            self.known,
            self.fresh,
            self.embedding.ctypes.data,
            self.story_mask.ctypes.data,
            self.gate_mask.ctypes.data,
            self.question_mask.ctypes.data,
            None if self.gate_bias is None else self.gate_bias.ctypes.data,
            *(
                self.squares[name].ctypes.data if name in self.squares else None
                for name in ("embedding", "story_mask", "gate_mask", "question_mask", "gate_bias")
            ),
        )

    def _questions(self, data: WindowedQuestions) -> tuple[_Questions, tuple[object, ...]]:
        """The structure, and the arrays that must stay alive while it is used."""
        if data.known != self.known:
            raise EntNetError(
                f"questions numbered for {data.known} known words, the network knows {self.known}"
            )
        queries = data.query_windows(self.query_width)
        windows, candidates, answers = data.windows, data.candidates, data.answers
        if not self.fresh:
            windows, candidates, queries = (
                np.where(words < self.known, words, 0).astype(np.int32)
                for words in (windows, candidates, queries)
            )
        arrays = tuple(
            np.ascontiguousarray(array)
            for array in (data.offsets, windows, candidates, queries, answers)
        )
        return _Questions(len(data), *(array.ctypes.data for array in arrays)), arrays


def accuracy(scores: Floats, answers: NDArray[np.integer]) -> float:
    """Share of questions whose answer scores highest; of equal scores the first counts."""
    return float((scores.argmax(1) == answers).mean()) if len(answers) else 0.0
