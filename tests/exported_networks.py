"""Networks with every option of the model, that their exported forms are compared on."""

from __future__ import annotations

from typing import Any

import torch

from entnet import EntNet, EntNetConfig, Story, Vocab
from entnet.data.babi_tasks import generate
from entnet.text import tokenise

OPTIONS: list[dict[str, Any]] = [
    {"encoder": "bow"},
    {"encoder": "position"},
    {"activation": "identity"},
    {"share_slopes": False, "slopes": "single"},
    {"normalise": False},
    {"hops": 3},
    {"U": "zero", "V": "identity", "W": "identity"},
    {"W": "zero", "gate_bias": False, "candidate_bias": False},
    {"separate_masks": False, "separate_encoders": True, "mask_init": "normal"},
    {"close_on_empty": False},
    {"answer_set": "answers", "answer_words": (2, 3, 5)},
    {"output": "slots", "keys": "tied", "key_words": ("mary", "john", "to")},
    {"keys": "named", "key_words": ("mary", "john", "office", "to"), "gate_bias": False},
    {
        "keys": "named",
        "key_words": ("mary", "john", "office"),
        "gate_bias": False,
        "sentence_length": 8 + 2 + 4 * 4,
        "context_length": 4,
        "context_people": ("mary", "john", "sandra", "daniel"),
        "context_places": ("office", "kitchen", "hallway", "bedroom"),
    },
    {
        "keys": "named",
        "key_words": ("mary", "john", "office"),
        "key_slots": (1, 3, 2),
        "slots": 5,
        "gate_bias": False,
        "separate_encoders": True,
        "sentence_length": 8 + 2 + 10 * 4,
        "context_length": 4,
        "context_people": ("mary", "john", "sandra", "daniel"),
        "context_places": ("office", "kitchen", "hallway"),
        "context_things": ("bedroom", "bathroom"),
    },
    {"gate": "stretched", "gate_threshold": 0.4},
    {"gate": "threshold", "gate_threshold": 0.4},
]


def network_and_stories(options: dict[str, Any]) -> tuple[EntNet, list[Story]]:
    """An untrained network, and stories with words that it lacks."""
    torch.manual_seed(1)
    stories = generate(1, questions=20, seed=5, split="train")
    texts = [t for s in stories for t in (*s.sentences, *(q.text for q in s.questions))]
    words = (word for text in texts for word in tokenise(text))
    vocab = Vocab.build(word for word in words if word not in {"went", "garden"})
    sizes = {"vocabulary": len(vocab), "sentence_length": 8, "width": 7, "slots": 3}
    model = EntNet(EntNetConfig(**{**sizes, "embedding_scale": 0.2, **options}), vocab).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:  # an identity stays one
                parameter += 0.1 * parameter.sign()
    model.after_update()
    nothing_known = Story(("Xyzzy plugh.", "Mary went to the office."), stories[0].questions[:1])
    return model, [*stories, nothing_known]
