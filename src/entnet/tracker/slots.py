"""What slots say and follow, in words."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from entnet.models.base import StoryModel
from entnet.models.entnet import EntNet
from entnet.models.memory import MemoryState
from entnet.tracker.answers import UNKNOWN
from entnet.tracker.said import NearWord, NoSlotsError


def load_entity_network(source: Path | str) -> EntNet:
    """The entity network in a directory, or one that comes with the package."""
    try:
        return with_slots(StoryModel.from_pretrained(source))
    except NoSlotsError as error:
        raise NoSlotsError(f"{source}: {error}") from error


def with_slots(model: StoryModel) -> EntNet:
    """The network, which must have slots."""
    if not isinstance(model, EntNet) or not model.slot_count:
        raise NoSlotsError(f"a {model.config.kind} network, which has no slots to look into")
    return model


@torch.no_grad()
def nearest_words(model: StoryModel, state: MemoryState, count: int) -> list[list[list[NearWord]]]:
    """For every memory (S) and slot (m): the ``count`` words nearest to what the slot says.

    "unknown" is none of them: it is near to most slots of a network that has it, and says nothing of any.
    """
    similarities = with_slots(model).slot_words(state)
    if UNKNOWN in model.vocab.index:
        similarities[..., model.vocab.index[UNKNOWN]] = -1.0
    return [_top_words(model, similarity, count) for similarity in similarities]


@torch.no_grad()
def followed_words(model: StoryModel, state: MemoryState, count: int) -> list[list[NearWord]]:
    """For every slot: the words whose embeddings are nearest to its key, by cosine similarity."""
    keys = state.keys[0] if state.keys.dim() == 3 else state.keys
    normal = torch.nn.functional.normalize
    return _top_words(
        model, normal(keys, dim=-1) @ normal(with_slots(model).embedding, dim=-1).T, count
    )


def _top_words(model: StoryModel, similarity: Tensor, count: int) -> list[list[NearWord]]:
    """Of similarities (m, |V|), the best words of every slot; the null word is not one of them."""
    best = similarity[:, 1:].topk(min(count, len(model.vocab) - 1), dim=-1)
    words = model.vocab.words
    return [
        [NearWord(words[i + 1], value) for i, value in zip(ids, values, strict=True)]
        for ids, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]
