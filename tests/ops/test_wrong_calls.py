"""Operators × arguments × ways of being wrong: each is an EntNetError, and right calls still work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from entnet.config import EntNetConfig
from entnet.data.story import RaggedBatch
from entnet.errors import EntNetError
from entnet.models.compiled import compile_network
from entnet.models.entnet import EntNet
from entnet.ops import ScanParameters, memory_scan
from entnet.ops.gru import gru_scan
from entnet.ops.hops import memory_hops
from entnet.ops.lstm import lstm_scan
from entnet.ops.machine import Machine, Start
from entnet.ops.machine_native import machine_scan
from entnet.ops.streaming import Stream
from entnet.ops.windows import (
    WindowParameters,
    WindowQuestions,
    WindowTraining,
    score_windows,
    train_on_windows,
)
from entnet.text import Vocab

Arguments = dict[str, Any]
SLOTS, WIDTH, WORDS, LENGTH = 3, 5, 9, 4


def network(**options: Any) -> EntNet:
    torch.manual_seed(1)
    vocab = Vocab.build(f"w{n}" for n in range(WORDS - 1))
    sizes = {"vocabulary": WORDS, "sentence_length": LENGTH, "width": WIDTH, "slots": SLOTS}
    return EntNet(EntNetConfig(**sizes, **options), vocab)


def batch() -> Arguments:
    return {
        "words": torch.randint(0, WORDS, (6, LENGTH)),
        "story_offsets": torch.tensor([0, 2, 6]),
        "question_words": torch.randint(0, WORDS, (3, LENGTH)),
        "question_step": torch.tensor([1, 3, 5]),
        "answers": torch.tensor([1, 2, 0]),
        "story_keys": torch.randint(1, WORDS, (2, SLOTS)),
    }


def evaluate(**given: Any) -> object:
    return compile_network(network(keys="story"), move=False).evaluate(RaggedBatch(**given))


def scan() -> Arguments:
    return {
        "candidate_input": torch.randn(6, WIDTH),
        "gate_input": torch.randn(6, WIDTH),
        "keys": torch.randn(SLOTS, WIDTH),
        "U": torch.randn(WIDTH, WIDTH),
        "key_input": torch.randn(SLOTS, WIDTH),
        "slope": torch.randn(WIDTH),
        "gate_bias": torch.randn(SLOTS),
        "offsets": torch.tensor([0, 2, 6]),
        "read_at": torch.tensor([1, 5]),
        "closed": torch.zeros(6, dtype=torch.bool),
    }


def run_scan(**given: Any) -> object:
    weights = {name: given.pop(name) for name in ("U", "key_input", "slope", "gate_bias")}
    return memory_scan(parameters=ScanParameters(**weights), **given)


def step() -> Arguments:
    memory, keys = torch.randn(SLOTS, WIDTH), torch.randn(SLOTS, WIDTH)
    return {"memory": memory, "keys": keys, "words": torch.randint(0, WORDS, (LENGTH,))}


def run_step(**given: Any) -> object:
    return Stream(compile_network(network(), move=False)).step(**given)


def read() -> Arguments:
    return {name: value for name, value in step().items() if name != "keys"}


def run_read(**given: Any) -> object:
    return Stream(compile_network(network(), move=False)).read(**given)


NAMED = {"keys": "named", "key_words": ("w1", "w2", "w3", "w4"), "gate_bias": False}


def run_named_step(**given: Any) -> object:
    """Slots that a story names: there may be any number of them, but as many as keys."""
    return Stream(compile_network(network(**NAMED), move=False)).step(**given)


def sentences() -> Arguments:
    words = np.random.default_rng(1).integers(0, WORDS, (6, LENGTH), dtype=np.int32)
    return {**step(), "words": words}


def run_sentences(**given: Any) -> object:
    return Stream(compile_network(network(), move=False)).scan(**given)


def run_named_sentences(**given: Any) -> object:
    return Stream(compile_network(network(**NAMED), move=False)).scan(**given)


def step_numbers() -> Arguments:
    return {**step(), "words": [1, 0, 2, WORDS - 1]}


def run_step_numbers(**given: Any) -> object:
    return Stream(compile_network(network(), move=False)).step_numbers(**given)


def run_named_numbers(**given: Any) -> object:
    return Stream(compile_network(network(**NAMED), move=False)).step_numbers(**given)


def read_numbers() -> Arguments:
    return {name: value for name, value in step_numbers().items() if name != "keys"}


def run_read_numbers(**given: Any) -> object:
    return Stream(compile_network(network(), move=False)).read_numbers(**given)


MACHINE = Machine("dnc", SLOTS, WIDTH, heads=2)


def machine() -> Arguments:
    H, heads = 4, MACHINE.heads * WIDTH
    return {
        "inputs": torch.randn(5, 4 * H),
        "U": torch.randn(4 * H, H + heads),
        "B": torch.randn(MACHINE.interface, H),
        "interface": torch.randn(5, MACHINE.interface),
        "hidden": torch.randn(3, H),
        "cell": torch.randn(3, H),
        "reads": torch.randn(3, heads),
        "weights": torch.rand(3, MACHINE.weightings, SLOTS),
        "active": [3, 2],
    }


def run_machine(**given: Any) -> object:
    start = Start(*(given.pop(name) for name in Start._fields))
    return machine_scan(MACHINE, start=start, **given)


def lstm() -> Arguments:
    return {
        "table": torch.randn(WORDS, 4 * WIDTH),
        "words": torch.randint(0, WORDS, (5,)),
        "U": torch.randn(4 * WIDTH, WIDTH),
        "hidden": torch.randn(3, WIDTH),
        "cell": torch.randn(3, WIDTH),
        "active": [3, 2],
    }


def gru() -> Arguments:
    return {
        "inputs": torch.randn(5, 3 * WIDTH),
        "U": torch.randn(3 * WIDTH, WIDTH),
        "hidden": torch.randn(3, WIDTH),
        "active": [3, 2],
    }


def attention_gru() -> Arguments:
    return {
        **gru(),
        "inputs": torch.randn(5, 2 * WIDTH),
        "U": torch.randn(2 * WIDTH, WIDTH),
        "attention": torch.rand(5),
    }


def hops() -> Arguments:
    return {
        "memories": torch.randn(2, 4, 3, WIDTH),
        "state": torch.randn(2, WIDTH),
        "heard": torch.tensor([4, 1]),
        "H": None,
        "hops": 2,
        "linear": False,
    }


def windows() -> Arguments:
    draw = np.random.default_rng(1)
    return {
        "known": 20,
        "embedding": draw.normal(size=(24, 16)).astype(np.float32),
        "story_mask": np.ones((5, 16), np.float32),
        "gate_mask": np.ones((5, 16), np.float32),
        "question_mask": np.ones((5, 16), np.float32),
        "gate_bias": np.zeros(10, np.float32),
        "offsets": np.array([0, 2, 6]),
        "windows": draw.integers(0, 22, (6, 5), dtype=np.int32),
        "candidates": draw.integers(1, 22, (2, 10), dtype=np.int32),
        "queries": draw.integers(0, 22, (2, 5), dtype=np.int32),
        "answers": np.array([0, 9], np.int32),
    }


def parts_of_windows(given: Arguments) -> tuple[WindowParameters, WindowQuestions]:
    questions = WindowQuestions(*(given.pop(name) for name in WindowQuestions._fields))
    return WindowParameters(**given), questions


def run_score(**given: Any) -> object:
    return score_windows(*parts_of_windows(given))


def training() -> Arguments:
    keep = np.ones((2, 16), np.float32)
    return {**windows(), "order": np.array([1, 0]), "batch": 1, "dropout": 0.0, "keep": keep}


def run_training(**given: Any) -> object:
    order, keep = given.pop("order"), given.pop("keep")
    how = WindowTraining(0.01, batch=given.pop("batch"), dropout=given.pop("dropout"))
    return train_on_windows(*parts_of_windows(given), order, how, keep)


OPERATORS: dict[str, tuple[Callable[[], Arguments], Callable[..., object]]] = {
    "evaluate": (batch, evaluate),
    "memory_scan": (scan, run_scan),
    "step": (step, run_step),
    "read": (read, run_read),
    "named_step": (step, run_named_step),
    "stream_scan": (sentences, run_sentences),
    "named_stream_scan": (sentences, run_named_sentences),
    "step_numbers": (step_numbers, run_step_numbers),
    "named_step_numbers": (step_numbers, run_named_numbers),
    "read_numbers": (read_numbers, run_read_numbers),
    "machine_scan": (machine, run_machine),
    "lstm_scan": (lstm, lambda **given: lstm_scan(**given)),
    "gru_scan": (gru, lambda **given: gru_scan(**given)),
    "attention_gru_scan": (attention_gru, lambda **given: gru_scan(**given)),
    "memory_hops": (hops, lambda **given: memory_hops(**given)),
    "score_windows": (windows, run_score),
    "train_on_windows": (training, run_training),
}


def wrong_numbers(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Whole numbers out of range, each in the last place; offsets that go wrong."""
    low, high = value.copy(), value.copy()
    low[(-1,) * low.ndim], high[(-1,) * high.ndim] = -1, np.iinfo(value.dtype).max // 2
    yield "negative", low
    if not name.startswith(("windows", "candidates", "queries")):  # any word may be a new one
        yield "too high", high
    if "offsets" in name:
        yield "empty", value[:0]
        yield "backwards", value[::-1].copy()
        yield "not from 0", value + 1
        yield "not monotone", np.array([0, value[-1] + 1, value[-1]], value.dtype)


def wrong_arrays(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What can be wrong with an array that has the right type for Python."""
    yield "one row less", value[:-1]
    yield "a dimension more", value[None, None]
    yield "no dimension", value.reshape(-1)[0].reshape(())
    if value.ndim > 1:
        yield "flat", value.reshape(-1)
        yield "one column more", np.concatenate([value, value[..., -1:]], axis=-1)
    if value.dtype.kind == "i":
        yield "real numbers", value.astype(np.float64)
        yield from wrong_numbers(name, value)


# Where one row less, or one column more, is a right call: the size is that argument's own to say.
FREE = {
    ("stream_scan", "words", "one row less"),
    ("named_stream_scan", "words", "one row less"),
    *((f"{way}_numbers", "memory", "a dimension more") for way in ("step", "named_step", "read")),
    *((f"{way}_numbers", "keys", "a dimension more") for way in ("step", "named_step")),
    ("memory_scan", "read_at", "one row less"),
    ("evaluate", "words", "one column more"),
    ("lstm_scan", "table", "one row less"),
    ("score_windows", "embedding", "one row less"),
    ("train_on_windows", "embedding", "one row less"),
}


def wrong_calls() -> Iterator[Any]:
    for operator, (make, _) in OPERATORS.items():
        torch.manual_seed(0)
        for name, value in make().items():
            if not isinstance(value, Tensor | np.ndarray):
                continue
            is_tensor = isinstance(value, Tensor)
            array = value.numpy() if isinstance(value, Tensor) else value
            for way, wrong in wrong_arrays(name, array):
                if (operator, name, way) in FREE:
                    continue
                given = torch.from_numpy(np.ascontiguousarray(wrong)) if is_tensor else wrong
                given = given.reshape(wrong.shape) if is_tensor else given
                yield pytest.param(operator, name, given, id=f"{operator}-{name}-{way}")
    single = [
        ("lstm_scan", "active", [3, 3]),
        ("lstm_scan", "active", [2, 3]),
        ("lstm_scan", "active", [4, 1]),
        ("gru_scan", "active", [3, 3]),
        ("attention_gru_scan", "active", [2, 3]),
        *(
            (f"{way}_numbers", "words", words)
            for way in ("step", "named_step", "read")
            for words in ([], [1] * 5, [1, 2, 3, WORDS], [1, 2, 3, -1], [1, 2, 3, 10**12])
        ),
        ("machine_scan", "active", [3, 3]),
        ("machine_scan", "active", [2, 3]),
        ("machine_scan", "active", [4, 1]),
        ("machine_scan", "active", []),
        ("memory_hops", "hops", 3),
        ("memory_hops", "hops", 10**9),
        ("memory_hops", "hops", -1),
        ("memory_hops", "H", torch.randn(WIDTH, WIDTH + 1)),
        ("train_on_windows", "batch", 0),
        ("train_on_windows", "dropout", 1.0),
        ("score_windows", "known", 0),
        ("score_windows", "known", 25),
    ]
    for operator, name, given in single:
        about = tuple(given.shape) if isinstance(given, Tensor) else given
        yield pytest.param(operator, name, given, id=f"{operator}-{name}-{about}")


@pytest.mark.parametrize("operator", OPERATORS)
def test_right_calls_work(operator: str) -> None:
    make, run = OPERATORS[operator]
    assert run(**make()) is not None


@pytest.mark.parametrize(("operator", "name", "given"), list(wrong_calls()))
def test_wrong_calls_are_refused(operator: str, name: str, given: Any) -> None:
    make, run = OPERATORS[operator]
    with pytest.raises(EntNetError):
        run(**{**make(), name: given})


def test_there_are_as_many_wrong_calls_as_were_once_tried() -> None:
    assert len(list(wrong_calls())) >= 252


def test_several_sentences_for_one_memory_are_read_by_pytorch_not_dropped() -> None:
    model = network().eval()
    with torch.no_grad():
        state, gates = model.step(model.initial_state(), torch.randint(0, WORDS, (2, LENGTH)))
    assert state.memory.shape[0] == gates.shape[0] == 2
