"""The systems that the paper compares with: an update on the kernel, beside one in plain PyTorch.

Plain is the same network with its operators in plain PyTorch. Of DMN+ they are mostly matrix products,
which PyTorch does well; it is also timed beside ``plain_dmn``, as the entity network is: questions padded
to the longest in their batch, as in every public implementation.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.plain import PaddedBatch
from benchmarks.plain_dmn import PlainDMN, PlainDMNTrainer
from entnet import Corpus, TrainConfig, Vocab
from entnet.data.babi_tasks import generate
from entnet.data.story import longest_sentence, story_words
from entnet.models import model_class
from entnet.ops.library import plain_pytorch
from entnet.training.engine import TorchEngine

GOALS = {"dnc": 8.0, "ntm": 5.0, "dmn": 5.0}
"""How many times plain PyTorch, where this project set itself a goal."""

ADNC = {"links": False, "layer_norm": True, "slots": 192, "units": 172, "backward_units": 172}
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "dnc": ("dnc", {}),
    "dnc-md": ("dnc", {"masking": True, "deallocation": True}),
    "adnc": ("dnc", ADNC),
    "ntm": ("ntm", {}),
    "dmn": ("dmn", {}),
    "memn2n": ("memn2n", {"width": 100, "tying": "layer-wise", "activation": "relu"}),
    "qrn": ("qrn", {}),
}
STORIES = 16

DMN_TASKS = {1: 70, 2: 70, 3: 130}
"""Tasks that DMN+ is timed on, and how many sentences it looks back on."""


def measure(seconds: float, count: int = STORIES) -> list[dict[str, Any]]:
    """Updates on so many stories of task 1, by the sizes of their papers' joint runs, on one core."""
    torch.set_num_threads(1)
    vocab, corpus = _encoded(1, 5 * count)
    entries = corpus.entries("story")
    batch = entries.batch(np.arange(len(entries)))
    found = []
    for name, (kind, options) in SYSTEMS.items():
        engine = _engine(kind, vocab, corpus, options)
        step = functools.partial(engine.step, batch, 1e-4)
        ours = _milliseconds(step, seconds)
        with plain_pytorch():
            plain = _milliseconds(step, seconds)
        found.append(_row(name, ours, plain, GOALS.get(name, 0.0)))
    padded = [_dmn(task, limit, 8 * count, seconds) for task, limit in DMN_TASKS.items()]
    return found + padded


def _dmn(task: int, limit: int, questions: int, seconds: float) -> dict[str, Any]:
    """An update on so many questions, drawn as training draws them."""
    vocab, corpus = _encoded(task, 10 * questions)
    entries = corpus.entries("question", limit)
    chosen = np.random.default_rng(1).permutation(len(entries))[:questions]
    batch, padded = entries.batch(chosen), PaddedBatch.gather(entries, chosen)
    engine = _engine("dmn", vocab, corpus, {"memory_limit": limit})
    plain = PlainDMNTrainer(PlainDMN(len(vocab), corpus.words.shape[1], 80))
    ours = _milliseconds(lambda: engine.step(batch, 1e-4), seconds)
    theirs = _milliseconds(lambda: plain.step(padded), seconds)
    return _row(f"dmn, task {task}, padded", ours, theirs, GOALS["dmn"])


def _encoded(task: int, questions: int) -> tuple[Vocab, Corpus]:
    stories = generate(task, questions, seed=1)
    vocab = Vocab.build(story_words(stories))
    return vocab, Corpus.encode(stories, vocab, longest_sentence(stories))


def _engine(kind: str, vocab: Vocab, corpus: Corpus, options: dict[str, Any]) -> TorchEngine:
    network = model_class(kind)
    torch.manual_seed(1)
    sizes = {"vocabulary": len(vocab), "sentence_length": corpus.words.shape[1]}
    model = network(network.config_class.from_dict({**sizes, **options}), vocab)
    return TorchEngine(model, TrainConfig(learning_rate=1e-4))


def _row(system: str, ours: float, plain: float, wanted: float) -> dict[str, Any]:
    return {
        "system": system,
        "milliseconds": round(ours, 2),
        "plain_milliseconds": round(plain, 2),
        "ratio": round(plain / ours, 1),
        "wanted": wanted,
    }


def _milliseconds(step: Callable[[], object], seconds: float) -> float:
    """Processor time of an update: the least of those that fit in the time, two at the least.

    Everything here has one thread, and other work on the machine does not count.
    """
    step()
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 2 or time.perf_counter() - began < seconds:
        started = time.process_time()
        step()
        times.append(time.process_time() - started)
    return 1000 * min(times)
