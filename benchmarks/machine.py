"""What the machine can do, and how our time grows with the size of the problem."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

import torch

from entnet import EntNet, EntNetConfig, TrainConfig, Vocab
from entnet.data.story import RaggedBatch
from entnet.ops import kernel_name
from entnet.training.native_engine import NativeEngine
from entnet.training.result import machine

WORDS = 40
LENGTH = 7


def rate(call: Callable[[], object], seconds: float) -> float:
    """Calls a second: the median of five stretches."""
    call()
    found = []
    for _ in range(5):
        count, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds / 5:
            call()
            count += 1
        found.append(count / (time.perf_counter() - began))
    return statistics.median(found)


def sgemm_gflops(n: int, k: int, m: int, seconds: float) -> float:
    """GFLOP/s of (n, k) × (k, m) on one core."""
    torch.set_num_threads(1)
    a, b, out = torch.randn(n, k), torch.randn(k, m), torch.empty(n, m)
    return rate(lambda: torch.mm(a, b, out=out), seconds) * 2 * n * k * m / 1e9


def describe(seconds: float) -> dict[str, object]:
    """The machine, and its sgemm rates on one core."""
    return {
        "cpu": machine(),
        "cores": os.cpu_count(),
        "kernel": kernel_name(),
        "torch": torch.__version__,
        "sgemm_small_gflops": round(sgemm_gflops(640, 100, 100, seconds), 1),
        "sgemm_large_gflops": round(sgemm_gflops(2048, 2048, 2048, seconds), 1),
    }


def network(slots: int, width: int) -> EntNet:
    vocab = Vocab(["<null>", *(str(i) for i in range(1, WORDS))])
    config = EntNetConfig(vocabulary=WORDS, sentence_length=LENGTH, slots=slots, width=width)
    return EntNet(config, vocab)


def microseconds_a_sentence(length: int, slots: int, width: int, seconds: float) -> float:
    """One training step on one core, over its sentences: stories of one length, a question each."""
    torch.set_num_threads(1)
    stories = max(1, 320 // length)
    batch = RaggedBatch(
        torch.randint(1, WORDS, (stories * length, LENGTH)),
        torch.arange(stories + 1) * length,
        torch.randint(1, WORDS, (stories, LENGTH)),
        torch.arange(1, stories + 1) * length - 1,
        torch.randint(1, WORDS, (stories,)),
    )
    engine = NativeEngine(network(slots, width), TrainConfig())
    return 1e6 / rate(lambda: engine.step(batch, 0.001), seconds) / batch.sentences


def growth(seconds: float) -> dict[str, list[dict[str, float]]]:
    """Microseconds a sentence as stories get longer, slots more, and units more."""
    usual = {"length": 20, "slots": 20, "width": 100}
    sizes = {
        "length": (5, 10, 20, 40, 80, 160, 320),
        "slots": (1, 5, 10, 20, 40, 80),
        "width": (20, 50, 100, 128, 200, 400),
    }
    return {
        name: [
            {
                name: value,
                "microseconds": round(
                    microseconds_a_sentence(**{**usual, name: value}, seconds=seconds), 2
                ),
            }
            for value in values
        ]
        for name, values in sizes.items()
    }


def streaming(seconds: float) -> dict[str, float]:
    """Microseconds, from Python on one core, to read a sentence into 20 × 100 and to ask."""
    torch.set_num_threads(1)
    model = network(20, 100).eval()
    words = torch.randint(1, WORDS, (1, LENGTH))
    with torch.inference_mode():
        state = model.initial_state()
        step = 1e6 / rate(lambda: model.step(state, words), seconds)
        ask = 1e6 / rate(lambda: model.read(state, words), seconds)
    return {"read_sentence_microseconds": round(step, 1), "ask_microseconds": round(ask, 1)}
