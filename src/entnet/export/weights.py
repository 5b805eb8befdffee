"""A network as plain arrays: everything that equations (1) to (6) need, options already applied.

Another implementation of the equations then needs no options: a matrix is there or is null, and whatever
is computed once per network (V w_j with its bias, the masks, the slopes) is computed here.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import torch
from torch import Tensor

from entnet.data.context import Context
from entnet.errors import EntNetError
from entnet.models.entnet import EntNet


@torch.no_grad()
def network_arrays(model: EntNet) -> dict[str, np.ndarray | None]:
    """The network's arrays in single precision; one that is not there is None.

    Where a story names its own slots, ``keys`` and ``keyInput`` have a row for every slot of every word.
    """
    config = model.config
    if config.keys == "story":
        raise EntNetError(
            "this network takes its keys from the story; "
            "only networks with keys of their own can be exported"
        )
    named = config.keys == "named"
    keys = model.keys_of(named_rows(model))[0] if named else model.keys()
    parameters = model.memory.scan_parameters(keys)
    readout = model.readout
    slope = None if model.memory.slope is None else model.memory.slope.expand(config.width)
    arrays = {
        "embedding": model.embedding,
        "storyMask": model.encoder.mask_for_story(),
        "gateMask": model.encoder.mask_for_gate(),
        "questionMask": model.encoder.mask_for_question(),
        "keys": keys,
        "keyInput": parameters.key_input,
        "U": parameters.U,
        "W": model.memory.W,
        "slope": parameters.slope,
        "gateBias": parameters.gate_bias,
        "H": readout.H,
        "R": readout.R,
        "readoutSlope": readout.slopes(slope),
    }
    return {name: None if array is None else _plain(array) for name, array in arrays.items()}


def plain_network(model: EntNet) -> dict[str, Any]:
    """The network as JSON values; arrays are float32, little-endian, in base64."""
    arrays = network_arrays(model)
    mask = arrays["questionMask"]
    if mask is not None:  # questions have nothing beside them
        arrays["questionMask"] = mask[: model.config.longest_sentence]
    if model.config.keys == "named" and not model.config.key_slots:
        # Rows of the embedding, which are there.
        arrays["keys"] = None
    config, memory, shape = model.config, model.memory, model.memory.gate_shape
    words = model.vocab.words
    entities = named_rows(model) if config.keys == "named" else None
    allowed = model.get_buffer("allowed") if config.output == "words" else None
    return {
        "width": config.width,
        "slots": config.slots,
        "sentenceLength": config.longest_sentence,
        "places": config.sentence_length,
        "context": None if model.context is None else _context(model.context),
        "lowercase": config.lowercase,
        "bagOfWords": config.encoder == "bow",
        "hops": config.hops,
        "normalise": memory.normalise,
        "normFloor": memory.norm_floor,
        "closeOnEmpty": config.close_on_empty,
        "gateShape": None if shape is None else shape._asdict(),
        "keyWords": list(
            config.key_words if entities is None else map(words.__getitem__, entities)
        ),
        "entities": entities,
        "words": list(words),
        "other": model.vocab.other,
        "runningText": model.vocab.reads_running_text,
        "allowed": None if allowed is None else allowed.nonzero().flatten().tolist(),
        "arrays": {name: None if a is None else _encoded(a) for name, a in arrays.items()},
    }


def named_rows(model: EntNet) -> list[int]:
    """The word of each slot that a story may name: as often as the word has slots."""
    return [word for word, count in model.entities.items() for _ in range(count)]


def _context(context: Context) -> dict[str, Any]:
    return {
        "length": context.length,
        "people": sorted(context.people),
        "places": sorted(context.places),
        "things": sorted(context.things),
    }


def _plain(array: Tensor) -> np.ndarray:
    return array.detach().cpu().contiguous().to(torch.float32).numpy().astype("<f4")


def _encoded(array: np.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")
