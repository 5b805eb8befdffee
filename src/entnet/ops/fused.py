"""A whole network in compiled code: training steps and answers.

The network's trained parameters move into one flat buffer and become views of it, so that the compiled
code and PyTorch see the same numbers, and one update runs over all of them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from entnet.config import EntNetConfig
from entnet.data.story import RaggedBatch
from entnet.ops.checks import check_floats, check_offsets, check_shape, check_whole
from entnet.ops.library import (
    BatchStruct,
    ModelStruct,
    ResultStruct,
    UpdateStruct,
    address,
    check,
    gate_fields,
    is_plain,
    library,
)

PHASES = ("pack", "encode", "scan", "read", "update")
_MATRIX = {"zero": 0, "identity": 1, "trained": 2}

# Offsets in the C structure, and the names of the parameters that they are for.
_PARTS = {
    "embedding": "embedding",
    "keys": "memory.keys",
    "U": "memory.U",
    "V": "memory.V",
    "W": "memory.W",
    "H": "readout.H",
    "R": "readout.R",
    "slope": "memory.slope",
    "read_slope": "readout.slope",
    "gate_bias": "memory.gate_bias",
    "candidate_bias": "memory.candidate_bias",
    "story_mask": "encoder.story_mask",
    "question_mask": "encoder.question_mask",
    "gate_mask": "encoder.gate_mask",
    "ordinals": "memory.ordinals",
}


class Outcome(NamedTuple):
    """What a call saw, before any update."""

    loss: float
    errors: int
    gradient_norm: float
    seconds: dict[str, float]
    """Where the time went, summed over threads: pack, encode, scan, read, update."""


class Beside(NamedTuple):
    """What training brings beside a batch."""

    keep: Tensor | None = None
    """(S, d) which dimensions dropout keeps, scaled."""
    noise: Tensor | None = None
    """(N, m, d) what is added to slots as they are written."""
    ends: Tensor | None = None
    """(S, m, d) the memory that each story should end with."""


def why_not(config: EntNetConfig) -> str | None:
    """What keeps the compiled code from running this network; None if nothing does."""
    if library() is None:
        return "the compiled kernel is not there"
    return None


def flatten(
    parameters: Mapping[str, nn.Parameter], move: bool = True
) -> tuple[Tensor, dict[str, int]]:
    """Parameters in one buffer, and where each starts; moved there as views of it, or copied."""
    starts: dict[str, int] = {}
    total = 0
    for name, parameter in parameters.items():
        starts[name] = total
        total += parameter.numel()
    flat = torch.empty(total)
    for name, parameter in parameters.items():
        view = flat[starts[name] : starts[name] + parameter.numel()].view(parameter.shape)
        view.copy_(parameter.detach())
        if move:
            parameter.data = view
    return flat, starts


class CompiledNetwork:
    """A network's description for the compiled code, and the calls on it."""

    def __init__(
        self,
        config: EntNetConfig,
        parameters: Mapping[str, nn.Parameter],
        fixed_mask: Tensor | None = None,
        key_words: Tensor | None = None,
        allowed: Tensor | None = None,
        entities: Mapping[int, int] | None = None,
        norm_floor: float = 0.0,
        gate_shape: tuple[float, float, float, float] | None = None,
        move: bool = True,
    ) -> None:
        """``parameters`` are those that are not fixed, by their names in EntNet.

        With ``move`` they become views of one buffer and follow what training does; else they are
        copied as they are now.
        """
        loaded = library()
        if loaded is None or why_not(config) is not None:
            raise ValueError(why_not(config))
        if not is_plain(*parameters.values()):
            raise ValueError("the compiled code takes float32 parameters in main memory")
        self.config = config
        self.parameters = dict(parameters)
        self.flat, self.starts = flatten(self.parameters, move)
        moved = self.parameters if move else {}
        self._views = {name: p.data_ptr() for name, p in moved.items()}
        self._fixed_mask = None if fixed_mask is None else fixed_mask.contiguous()
        self._key_words = key_words if config.keys == "tied" else None
        self._allowed = allowed if config.answer_set == "answers" else None
        self._entities: Tensor | None = None
        if config.keys == "named":
            self._entities = torch.zeros(config.vocabulary, dtype=torch.uint8)
            for word, count in (entities or {}).items():
                self._entities[word] = count
        self.library = loaded
        struct = ModelStruct(**self._description(norm_floor), **gate_fields(gate_shape))
        self.handle: int | None = loaded.entnet_engine_new(ctypes.byref(struct))
        self._result = ResultStruct()

    def _description(self, norm_floor: float) -> dict[str, Any]:
        c = self.config
        units = (
            self.parameters["memory.slope"].numel()
            if "memory.slope" in self.parameters
            else c.width
        )
        return {
            "slots": c.slots,
            "width": c.width,
            "vocabulary": c.vocabulary,
            "sentence_length": c.sentence_length,
            "over_slots": c.output == "slots",
            "normalise": c.normalise,
            "close_on_empty": c.close_on_empty,
            "slope_units": units,
            "hops": c.hops,
            "matrix_U": _MATRIX[c.U],
            "matrix_V": _MATRIX[c.V],
            "matrix_W": _MATRIX[c.W],
            "norm_floor": norm_floor,
            "fixed_mask": address(self._fixed_mask),
            "key_words": address(self._key_words),
            "allowed": address(self._allowed),
            "entity": address(self._entities),
            "parameters": self.flat.data_ptr(),
            "parameter_count": self.flat.numel(),
            "ordinal_count": max(c.key_slots, default=1) - 1,
            **{field: self.starts.get(name, -1) for field, name in _PARTS.items()},
        }

    def __del__(self) -> None:
        handle = getattr(self, "handle", None)
        if handle is not None:
            self.library.entnet_engine_free(handle)
            self.handle = None

    def __getstate__(self) -> None:
        raise TypeError(
            "a compiled network cannot be copied or pickled: build it again from the model"
        )

    def train(
        self,
        batch: RaggedBatch,
        update: ctypes.Structure,
        beside: Beside | None = None,
    ) -> Outcome:
        """One whole step: forward, backward, clipping and update."""
        self._check_views()
        held, struct = self._batch(batch, beside or Beside())
        check(self.library.entnet_train(self.handle, struct, ctypes.byref(update), self._out))
        del held
        r = self._result
        seconds = {name: getattr(r, name) for name in PHASES}
        return Outcome(r.loss, r.errors, r.gradient_norm, seconds)

    def evaluate(self, batch: RaggedBatch) -> tuple[Tensor, float]:
        """Answers (Q) and the summed loss."""
        self._check_views()
        held, struct = self._batch(batch, Beside())
        answers = torch.empty(batch.questions, dtype=torch.int64)
        check(self.library.entnet_evaluate(self.handle, struct, answers.data_ptr(), self._out))
        del held
        return answers, self._result.loss

    @property
    def _out(self) -> Any:
        return ctypes.byref(self._result)

    def _check_views(self) -> None:
        for name, place in self._views.items():
            if self.parameters[name].data_ptr() != place:
                raise RuntimeError(
                    f"{name} was moved after the compiled network was built: build it again"
                )

    def _check_batch(self, batch: RaggedBatch, beside: Beside) -> None:
        stories = check_offsets("story_offsets", batch.story_offsets)
        check_whole("answers", batch.answers, (None,))
        check_whole("words", batch.words, (None, None))
        check_whole("question_words", batch.question_words, (batch.questions, None))
        check_whole("question_step", batch.question_step, (batch.questions,))
        if self.config.keys == "story":
            check_whole("story_keys", batch.story_keys, (stories, self.config.slots))
        memory = (self.config.slots, self.config.width)
        check_floats("keep", beside.keep, (stories, self.config.width))
        check_floats("noise", beside.noise, (batch.sentences, *memory))
        check_floats("ends", beside.ends, (stories, *memory))
        if batch.quiet is not None:
            check_shape("quiet", batch.quiet, (batch.sentences,))

    def _batch(self, batch: RaggedBatch, beside: Beside) -> tuple[list[Tensor], Any]:
        """A batch as the library takes it, and the tensors that must outlive the call."""
        self._check_batch(batch, beside)
        tensors = (
            batch.words,
            batch.story_offsets,
            batch.question_words,
            batch.question_step,
            batch.answers,
            batch.story_keys if self.config.keys == "story" else None,
        )
        dense = [None if t is None else t.to("cpu", torch.int64).contiguous() for t in tensors]
        floats = [None if t is None else t.contiguous() for t in beside]
        quiet = None if batch.quiet is None else batch.quiet.to(torch.bool).contiguous()
        dense += [floats[0], quiet, *floats[1:]]
        struct = BatchStruct(
            batch.sentences,
            batch.story_offsets.numel() - 1,
            batch.questions,
            torch.get_num_threads(),
            batch.words.shape[-1],
            batch.question_words.shape[-1],
            *[address(t) for t in dense],
        )
        return [t for t in dense if t is not None], ctypes.byref(struct)


def update_struct(
    gradients: Tensor, first: Tensor | None, second: Tensor | None, **settings: float
) -> ctypes.Structure:
    """What an update needs, with Adam's usual constants."""
    defaults = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
    return UpdateStruct(
        gradients=address(gradients),
        first=address(first),
        second=address(second),
        **{**defaults, **settings},
    )
