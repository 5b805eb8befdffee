"""The simple network on windows, read and trained by compiled code (entnet.ops.windows).

It is the same network as ``EntNet`` with ``simple_config``; here only the embeddings that a batch touches
are updated. Tests hold the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from entnet.config import EntNetConfig
from entnet.data.cbt.format import CANDIDATES
from entnet.data.cbt.windows import WINDOW, WindowedQuestions, known_words
from entnet.errors import EntNetError
from entnet.models.entnet import EntNet
from entnet.ops.windows import (
    ALIGN,
    Floats,
    WindowParameters,
    WindowQuestions,
    WindowTraining,
    score_windows,
    train_on_windows,
)
from entnet.text import Vocab


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
        self.oov_rows = config.vocabulary - self.known
        self.query_width = config.sentence_length
        bias = model.memory.gate_bias
        self._parameters = WindowParameters(
            known=self.known,
            embedding=_padded(model.embedding),
            story_mask=_padded(model.encoder.story_mask),
            gate_mask=_padded(model.encoder.gate_mask),
            question_mask=_padded(model.encoder.question_mask),
            gate_bias=None if bias is None else bias.detach().numpy().copy(),
        )
        if adaptive:
            self._parameters.squares = {
                name: np.zeros_like(values) for name, values in self.parameters().items()
            }

    @property
    def embedding(self) -> Floats:
        return self._parameters.embedding

    @property
    def squares(self) -> Mapping[str, Floats]:
        """AdaGrad's sums of squared gradients by parameter; empty without."""
        return self._parameters.squares

    def parameters(self) -> dict[str, Floats]:
        """All parameters by name, padded; they change in place in training."""
        return self._parameters.parts()

    def take(self, model: EntNet) -> None:
        """Take over the weights of the same network in PyTorch."""
        for name, part in self.parameters().items():
            tensor = _tensor(model, name).detach()
            part[..., : tensor.shape[-1]] = tensor.numpy()

    def give(self, model: EntNet) -> None:
        """Hand the weights over to the same network in PyTorch."""
        with torch.no_grad():
            for name, part in self.parameters().items():
                tensor = _tensor(model, name)
                tensor.copy_(torch.from_numpy(part)[..., : tensor.shape[-1]])

    def to_model(self) -> EntNet:
        """The same network in PyTorch."""
        model = EntNet(self.config, self.vocab)
        self.give(model)
        return model.eval()

    def train_epoch(
        self,
        data: WindowedQuestions,
        order: NDArray[np.int64],
        rate: float,
        *,
        batch: int = 32,
        clip: float = 40.0,
        oov_probability: float = 0.0,
        seed: int = 0,
        keep: Floats | None = None,
    ) -> EpochResult:
        """Read questions in this order, with an update after every batch, on the summed loss.

        ``oov_probability`` is how often a candidate is read as a word never seen before. ``keep``
        (questions, width) gives dropout's factors, which are drawn otherwise.
        """
        order = np.ascontiguousarray(order, dtype=np.int64)
        if keep is not None:
            padding = self.embedding.shape[1] - keep.shape[1]
            keep = np.ascontiguousarray(np.pad(keep, ((0, 0), (0, padding))), dtype=np.float32)
        training = WindowTraining(rate, batch, clip, self.config.dropout, oov_probability, seed)
        loss, errors = train_on_windows(
            self._parameters, self._questions(data), order, training, keep
        )
        count = max(len(order), 1)
        return EpochResult(loss / count, 100 * errors / count)

    def scores(self, data: WindowedQuestions) -> Floats:
        """(Q, 10) scores of the candidates."""
        return score_windows(self._parameters, self._questions(data))

    def _questions(self, data: WindowedQuestions) -> WindowQuestions:
        if data.known != self.known:
            raise EntNetError(
                f"questions numbered for {data.known} known words, the network knows {self.known}"
            )
        windows, candidates, queries = (
            np.ascontiguousarray(
                part if self.oov_rows else np.where(part < self.known, part, 0), np.int32
            )
            for part in (data.windows, data.candidates, data.query_windows(self.query_width))
        )
        return WindowQuestions(
            np.ascontiguousarray(data.offsets, np.int64),
            windows,
            candidates,
            queries,
            np.ascontiguousarray(data.answers, np.int32),
        )


def _tensor(model: EntNet, name: str) -> torch.Tensor:
    """A parameter of the network by its name in compiled code."""
    owner = {"embedding": model, "gate_bias": model.memory}.get(name, model.encoder)
    tensor: torch.Tensor = getattr(owner, name)
    return tensor


def _padded(tensor: torch.Tensor | None) -> Floats:
    assert tensor is not None
    width = tensor.shape[1]
    return np.pad(tensor.detach().numpy(), ((0, 0), (0, -width % ALIGN)))
