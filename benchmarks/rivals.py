"""The systems that the paper compares with: an update on the kernel, beside one in plain PyTorch."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from entnet import Corpus, TrainConfig, Vocab
from entnet.data.babi_tasks import generate
from entnet.data.story import RaggedBatch, longest_sentence, story_words
from entnet.models import StoryModel, model_class
from entnet.ops.library import plain_pytorch
from entnet.training.engine import TorchEngine

GOALS = {"dnc": 8.0, "dnc-md": 0.0, "adnc": 0.0, "ntm": 5.0, "dmn": 5.0, "memn2n": 0.0}
"""How many times plain PyTorch, where this project set itself a goal."""

ADNC = {"links": False, "layer_norm": True, "slots": 192, "units": 172, "backward_units": 172}
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "dnc": ("dnc", {}),
    "dnc-md": ("dnc", {"masking": True, "deallocation": True}),
    "adnc": ("dnc", ADNC),
    "ntm": ("ntm", {}),
    "dmn": ("dmn", {}),
    "memn2n": ("memn2n", {"width": 100, "tying": "layer-wise", "activation": "relu"}),
}
STORIES = 16


def measure(seconds: float, count: int = STORIES) -> list[dict[str, Any]]:
    """Updates on so many stories of task 1, by the sizes of their papers' joint runs, on one core."""
    stories = generate(1, 5 * count, seed=1)[:count]
    vocab, length = Vocab.build(story_words(stories)), longest_sentence(stories)
    entries = Corpus.encode(stories, vocab, length).entries("story")
    batch = entries.batch(np.arange(len(entries)))
    torch.set_num_threads(1)
    found = []
    for name, (kind, options) in SYSTEMS.items():
        network = model_class(kind)
        torch.manual_seed(1)
        sizes = {"vocabulary": len(vocab), "sentence_length": length}
        model = network(network.config_class.from_dict({**sizes, **options}), vocab)
        ours = _milliseconds(model, batch, seconds)
        with plain_pytorch():
            plain = _milliseconds(model, batch, seconds)
        found.append(
            {
                "system": name,
                "milliseconds": round(ours, 2),
                "plain_milliseconds": round(plain, 2),
                "ratio": round(plain / ours, 1),
                "wanted": GOALS[name],
            }
        )
    return found


def _milliseconds(model: StoryModel, batch: RaggedBatch, seconds: float) -> float:
    """Of an update: the fastest of those that fit in the time, two at the least."""
    engine = TorchEngine(model, TrainConfig(learning_rate=1e-4))
    engine.step(batch, 1e-4)
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 2 or time.perf_counter() - began < seconds:
        started = time.perf_counter()
        engine.step(batch, 1e-4)
        times.append(time.perf_counter() - started)
    return 1000 * min(times)
