"""Random networks and batches, for tests that compare two ways of computing the same."""

from __future__ import annotations

from typing import Any

import torch

from entnet import EntNet, EntNetConfig, Vocab
from entnet.data.story import RaggedBatch

WORDS = 30
LENGTH = 6
TIED = {"keys": "tied", "key_words": ("w1", "w2", "w2", "w5")}

NAMED = {"keys": "named", "gate_bias": False, "key_words": tuple(f"w{i}" for i in range(1, 12))}

# Every option of the network that the compiled code has to know, one or a few at a time.
OPTIONS: dict[str, dict[str, Any]] = {
    "paper": {},
    "bow": {"encoder": "bow"},
    "position": {"encoder": "position"},
    "one-mask": {"separate_masks": False},
    "two-encoders": {"separate_encoders": True},
    "normal-mask": {"mask_init": "normal"},
    "identity-activation": {"activation": "identity"},
    "single-slope": {"slopes": "single"},
    "own-slopes": {"share_slopes": False},
    "own-single-slopes": {"slopes": "single", "share_slopes": False},
    "U-identity": {"U": "identity"},
    "U-zero": {"U": "zero"},
    "V-identity": {"V": "identity"},
    "V-zero": {"V": "zero"},
    "W-identity": {"W": "identity"},
    "W-zero": {"W": "zero"},
    "no-gate-bias": {"gate_bias": False},
    "no-candidate-bias": {"candidate_bias": False},
    "no-forgetting": {"normalise": False},
    "norm-floor": {"zero_norm": "epsilon"},
    "open-on-empty": {"close_on_empty": False},
    "gates-threshold": {"gate": "threshold", "gate_threshold": 0.5, "gate_learns": 0.45},
    "gates-stretched": {"gate": "stretched", "gate_threshold": 0.45, "gate_learns": 0.45},
    "gates-mostly-shut": {"gate": "stretched", "gate_threshold": 0.55, "gate_learns": 0.52},
    "gates-no-forgetting": {
        "gate": "stretched",
        "gate_threshold": 0.5,
        "gate_learns": 0.4,
        "normalise": False,
    },
    "gates-norm-floor": {
        "gate": "threshold",
        "gate_threshold": 0.5,
        "gate_learns": 0.4,
        "zero_norm": "epsilon",
    },
    "tied-keys": TIED,
    "story-keys": {"keys": "story"},
    "named-slots": NAMED,
    "two-hops": {"hops": 2},
    "three-hops-named": {**NAMED, "hops": 3, "separate_encoders": True},
    "named-slots-many": {**NAMED, "slots": 40, "separate_encoders": True},
    "named-slots-few": {**NAMED, "key_words": ("w3",), "dropout": 0.5},
    "named-slots-several": {**NAMED, "key_slots": (1, 3, 2, 1, 4, 1, 1, 2, 1, 1, 1), "slots": 9},
    "named-slots-four-each": {**NAMED, "key_slots": (4,) * 11, "slots": 44, "dropout": 0.5},
    "slots-answer": {"output": "slots"},
    "simple": {
        "output": "slots",
        "keys": "story",
        "separate_encoders": True,
        "dropout": 0.5,
        "U": "zero",
        "V": "zero",
        "W": "identity",
        "activation": "identity",
        "normalise": False,
    },
    "dropout": {"dropout": 0.5},
    "tied-keys-dropout": {"dropout": 0.5, **TIED},
    "memory-noise": {"memory_noise": 0.2},
    "memory-noise-shut-gates": {
        "memory_noise": 0.2,
        "gate": "stretched",
        "gate_threshold": 0.5,
        "gate_learns": 0.4,
    },
    "memory-noise-dropout": {"memory_noise": 0.1, "dropout": 0.5, "normalise": False, **TIED},
    "some-answers": {"answer_set": "answers", "answer_words": tuple(range(3, WORDS))},
    "null-answer": {"zero_null_output": False},
    "full-size": {"width": 100, "slots": 20},
    "odd-size": {"width": 129, "slots": 7},
    "narrow": {"width": 3, "slots": 1},
}


def random_network(options: dict[str, Any], seed: int = 1) -> EntNet:
    """A network with every parameter away from its start, so that each one matters."""
    vocab = Vocab(["<null>", *(f"w{i}" for i in range(1, WORDS))])
    sizes = {"vocabulary": WORDS, "sentence_length": LENGTH, "width": 20, "slots": 4}
    torch.manual_seed(seed)
    model = EntNet(EntNetConfig(**{**sizes, **options}), vocab)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    model.after_update()
    return model


def twin(model: EntNet) -> EntNet:
    """A second network with the same weights."""
    other = EntNet(model.config, model.vocab)
    other.load_state_dict(model.state_dict())
    return other


def random_batch(
    config: EntNetConfig, seed: int, stories: int = 5, questions: int = 9
) -> RaggedBatch:
    """Ragged stories, some sentences empty, questions at random places in random order."""
    dice = torch.Generator().manual_seed(seed)

    def integers(low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=dice)

    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), integers(1, 9, stories).cumsum(0)])
    sentences = int(offsets[-1])
    words = integers(1, WORDS, sentences, LENGTH)
    lengths = integers(0, LENGTH + 1, sentences, 1)
    first_answer = min(config.answer_words, default=0)
    possible = config.slots if config.output == "slots" else WORDS
    return RaggedBatch(
        words.where(torch.arange(LENGTH) < lengths, 0),
        offsets,
        integers(0, WORDS, questions, LENGTH),
        integers(0, sentences, questions),
        integers(first_answer, possible, questions),
        integers(1, WORDS, stories, config.slots) if config.keys == "story" else None,
        integers(0, 2, sentences) == 1,
    )
