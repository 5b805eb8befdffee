"""From a network to its compiled form."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from entnet.ops.fused import CompiledNetwork, why_not
from entnet.ops.library import is_plain
from entnet.ops.streaming import Stream

if TYPE_CHECKING:
    from entnet.models.entnet import EntNet


def compile_network(model: EntNet, move: bool = True) -> CompiledNetwork:
    """The compiled form of a network.

    With ``move``, its parameters become views of one buffer, and training works on that; without, the
    compiled form has a copy of the weights as they are now.
    """
    c = model.config
    fixed = {f"memory.{name}" for name in "UVW" if getattr(c, name) == "identity"}
    mask = None if model.encoder.story_mask is not None else model.encoder.mask_for_story()
    return CompiledNetwork(
        c,
        {name: p for name, p in model.named_parameters() if name not in fixed},
        fixed_mask=mask,
        key_words=model.get_buffer("key_ids"),
        allowed=model.get_buffer("allowed"),
        norm_floor=model.memory.norm_floor,
        move=move,
    )


_streams: WeakKeyDictionary[EntNet, tuple[tuple[tuple[int, int], ...], Stream]] = (
    WeakKeyDictionary()
)


def stream_of(model: EntNet, memory: Tensor, words: Tensor) -> Stream | None:
    """The compiled way to read or ask this one memory, or None where it must be done in PyTorch.

    It is built when first wanted, and again when the weights have changed.
    """
    if torch.is_grad_enabled() or memory.shape[0] != 1 or not is_plain(memory, model.embedding):
        return None
    if model.config.encoder != "bow" and words.shape[-1] != model.config.sentence_length:
        return None
    parameters = list(model.parameters())
    if any(p.is_inference() for p in parameters):
        return None  # such tensors do not say whether they were changed
    now = tuple((p.data_ptr(), p._version) for p in parameters)
    known = _streams.get(model)
    if known is None or known[0] != now:
        if why_not(model.config) is not None:
            return None
        known = _streams[model] = (now, Stream(compile_network(model, move=False)))
    return known[1]
