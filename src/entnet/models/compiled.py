"""From a network to its compiled form."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from entnet.models.base import StoryModel
from entnet.models.own_code import Watch, own_code
from entnet.ops.fused import CompiledNetwork, why_not
from entnet.ops.library import can_run
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
        entities=model.entities,
        norm_floor=model.memory.norm_floor,
        gate_shape=model.memory.gate_shape,
        move=move,
    )


class _Known:
    """The compiled form of a network, and of which weights."""

    def __init__(self, model: StoryModel) -> None:
        # Walking the modules takes longer than reading a sentence, so where the parameters are is
        # kept; which they are is looked up every time.
        self.places = [
            (module._parameters, name)
            for module in model.modules()
            for name, parameter in module._parameters.items()
            if parameter is not None
        ]
        self.watch = Watch(model)
        # One value, so that a thread never sees the stream of other weights.
        self.compiled: tuple[list[tuple[int, int]], Stream] | None = None
        self.own_code = why_not_compiled(model)

    def weights(self) -> list[tuple[int, int]] | None:
        """Where each parameter's numbers are, and how often they were changed, if that is known."""
        try:
            places = [o[name] for o, name in self.places]
            return [(p.data_ptr(), p._version) for p in places if p is not None]
        except RuntimeError:
            return None  # inference tensors do not say whether they were changed


def has_compiled_form(model: StoryModel) -> bool:
    """Whether compiled code stands for networks of this class, or of one that it extends."""
    from entnet.models.entnet import EntNet

    return isinstance(model, EntNet)


def why_not_compiled(model: StoryModel) -> str | None:
    """What keeps compiled code from standing for this network; None if nothing does."""
    from entnet.models.entnet import EntNet

    reason = own_code(model, EntNet)
    if reason is None and isinstance(model, EntNet):
        reason = why_not(model.config)
    return reason


_known: WeakKeyDictionary[StoryModel, _Known] = WeakKeyDictionary()


def stream_of(model: EntNet, memory: Tensor, words: Tensor) -> Stream | None:
    """The compiled way to read or ask this one memory, or None where it must be done in PyTorch.

    It is built when first wanted, and again when the weights have changed.
    """
    if torch.is_grad_enabled() or len(memory) != 1 or not can_run(memory):
        return None
    if words.dim() != 2 or words.shape[0] != 1:
        return None
    if model.config.encoder != "bow" and words.shape[-1] != model.config.sentence_length:
        return None
    return stream_for(model)


def stream_for(model: StoryModel) -> Stream | None:
    """The same for whoever knows that memory and words fit: only the network is looked at."""
    embedding = model._parameters.get("embedding")
    if embedding is None or not can_run(embedding):
        return None
    known = _known_of(model)
    if known.own_code is not None:
        return None
    network = cast("EntNet", model)  # or else the reason would be that it is none
    weights = known.weights()
    if weights is None:
        return None
    compiled = known.compiled
    if compiled is None or compiled[0] != weights:
        compiled = known.compiled = (weights, Stream(compile_network(network, move=False)))
    return compiled[1]


def weights_of(model: StoryModel) -> list[tuple[int, int]] | None:
    """A value that changes when the weights do, if that can be known."""
    return _known_of(model).weights()


def _known_of(model: StoryModel) -> _Known:
    known = _known.get(model)
    if known is None or known.watch.changed():
        known = _known[model] = _Known(model)
    return known
