"""A network for ONNX Runtime: two graphs, one that reads a sentence and one that answers a question.

Built straight from the equations, as in ``export/static/network.js``, so nothing of Python or PyTorch is
needed to run them. Words go in as numbers, padded with 0; ``network.json`` says which.

    step.onnx     words (L), memory (m, d)  →  next_memory (m, d), gates (m), movement (m)
    answer.onnx   words (L), memory (m, d)  →  probabilities (answers), attention (m)
    network.json  the memory to begin with, L, and the words

Where a story names its own slots, the memory begins empty and m grows: before a sentence is read, each of
``keyWords`` that it names for the first time appends its rows of ``keys`` to the memory, as many as the
word has among the key words, unless there would be more than ``slots``. ``step.onnx`` then takes
``slots (m)`` too: which of the key words each row stands for.

Where a network reads a context (``context`` in network.json), L is ``places``: ``sentenceLength`` words of
the sentence, and after them what stands beside it, as ``entnet/data/context.py`` has it. Questions have
none.

Numbers go in and out in single precision and are computed with in double, as the browser does: rounding
differs from library to library, and over hundreds of sentences gates that are half open make much of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entnet.errors import EntNetError
from entnet.export.weights import network_arrays, plain_network
from entnet.files import write_atomically
from entnet.models.entnet import EntNet
from entnet.tracker import load_entity_network

if TYPE_CHECKING:
    import onnx

OPSET = 17
_BEFORE = np.float32(-3e38)
"""The score of a word that is never an answer."""


def save_onnx(source: str, directory: Path | str) -> list[Path]:
    """Write the graphs of a network, a directory or a shipped name; returns the files."""
    model = load_entity_network(source)
    step, answer = onnx_graphs(model)
    plain = plain_network(model)
    keys = network_arrays(model)["keys"]
    assert keys is not None
    about = {
        name: plain[name]
        for name in (
            "width",
            "slots",
            "sentenceLength",
            "places",
            "context",
            "lowercase",
            "bagOfWords",
            "runningText",
            "keyWords",
            "words",
            "other",
        )
    }
    start = {"memory": keys.tolist()} if plain["entities"] is None else {"keys": keys.tolist()}
    files = {
        "step.onnx": step.SerializeToString(),
        "answer.onnx": answer.SerializeToString(),
        "network.json": json.dumps({**about, **start}, ensure_ascii=False).encode(),
    }
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_atomically(directory / name, content)
    return [directory / name for name in files]


def onnx_graphs(model: EntNet) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """The graphs that read a sentence, (1) to (5), and answer a question, (6)."""
    plain, arrays = plain_network(model), network_arrays(model)
    return _step(plain, arrays), _answer(plain, arrays)


class _Graph:
    """Nodes one after the other; every call gives the name of what it computes."""

    def __init__(self, plain: dict[str, Any]) -> None:
        try:
            from onnx import TensorProto, helper, numpy_helper
        except ImportError as error:
            raise EntNetError(
                "this needs onnx; install it with: pip install 'entnet[onnx]'"
            ) from error
        self.helper, self.numpy_helper, self.types = helper, numpy_helper, TensorProto
        self.plain = plain
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def whole(self, value: Any, kind: type = np.int64) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = self.numpy_helper.from_array(np.asarray(value, dtype=kind), name)
        return name

    def constant(self, value: Any) -> str:
        return self.double(self.whole(value, np.float32))

    def double(self, name: str) -> str:
        return self("Cast", name, to=self.types.DOUBLE)

    def give(self, value: str, name: str) -> None:
        self("Cast", value, name=name, to=self.types.FLOAT)

    def __call__(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        name = name or f"n{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, inputs, [name], **attributes))
        return name

    def sum_words(self, embedding: str, mask: Any) -> str:
        """(1)  s = Σ_i f_i ⊙ e_i, the null word being zero. → (1, d)"""
        rows = self("Gather", embedding, "words")
        if mask is not None:
            rows = self("Mul", rows, self.constant(mask))
        return self("ReduceSum", rows, self.whole([0]), keepdims=1)

    def product(self, matrix: Any, rows: str) -> str:
        """Each row x as M x."""
        return self("MatMul", rows, self.constant(matrix.T))

    def phi(self, rows: str, slope: Any) -> str:
        if slope is None:
            return rows
        below = self("Mul", rows, self.constant(slope))
        return self("Where", self("Greater", rows, self.constant([[0]])), rows, below)

    def norms(self, rows: str) -> str:
        """‖x‖ of each row: (m, d) → (m, 1)"""
        square = self("Mul", rows, rows)
        return self("Sqrt", self("ReduceSum", square, self.whole([1]), keepdims=1))

    def give_flat(self, rows: str, name: str) -> None:
        self.give(self("Reshape", rows, self.whole([-1])), name)

    @property
    def used(self) -> set[str]:
        return {name for node in self.nodes for name in node.input}

    def model(self, outputs: dict[str, Sequence[int | str]]) -> onnx.ModelProto:
        m = slots_of(self.plain)
        # A bag of words has no order, so any number of words can be summed.
        words: list[int | str] = ["L" if self.plain["bagOfWords"] else self.plain["places"]]
        info, real = self.helper.make_tensor_value_info, self.types.FLOAT
        whole = self.types.INT64
        inputs = [info("words", whole, words), info("memory", real, [m, self.plain["width"]])]
        if "slots" in self.used:
            inputs.append(info("slots", whole, [m]))
        graph = self.helper.make_graph(
            self.nodes,
            "entnet",
            inputs,
            [info(name, real, list(size)) for name, size in outputs.items()],
            list(self.constants.values()),
        )
        opset = [self.helper.make_opsetid("", OPSET)]
        # Format 8 came with the opset; older runtimes read it too.
        return self.helper.make_model(
            graph, opset_imports=opset, ir_version=8, producer_name="entnet"
        )


def slots_of(plain: dict[str, Any]) -> int | str:
    """m, by name where it grows with the story."""
    return plain["slots"] if plain["entities"] is None else "m"


def _step(plain: dict[str, Any], arrays: dict[str, Any]) -> onnx.ModelProto:
    g = _Graph(plain)
    m, d = slots_of(plain), plain["width"]
    keys, key_input = g.constant(arrays["keys"]), g.constant(arrays["keyInput"])
    if plain["entities"] is not None:
        keys, key_input = g("Gather", keys, "slots"), g("Gather", key_input, "slots")
    embedding, memory = g.constant(arrays["embedding"]), g.double("memory")
    s = g.sum_words(embedding, arrays["storyMask"])
    seen = s if arrays["gateMask"] is None else g.sum_words(embedding, arrays["gateMask"])
    keyed = g("Add", memory, keys)
    logits = g("MatMul", keyed, g("Transpose", seen))  # (m, 1)
    if arrays["gateBias"] is not None:
        logits = g("Add", logits, g.constant(arrays["gateBias"].reshape(-1, 1)))
    gate = g("Sigmoid", logits)  # (2)
    if plain["closeOnEmpty"]:
        spoken = g("Greater", g("ReduceMax", "words", keepdims=1), g.whole([0]))
        gate = g("Where", spoken, gate, g.constant([[0]]))
    shape = plain["gateShape"]
    if shape:
        opened = g("Mul", gate, g.constant([[shape["scale"]]]))
        opened = g("Add", opened, g.constant([[shape["shift"]]]))
        wide = g("GreaterOrEqual", gate, g.constant([[shape["threshold"]]]))
        gate = g("Where", wide, opened, g.constant([[0]]))
    inner = key_input
    if arrays["U"] is not None:
        inner = g("Add", inner, g.product(arrays["U"], memory))
    if arrays["W"] is not None:
        inner = g("Add", inner, g.product(arrays["W"], s))
    candidate = g.phi(inner, arrays["slope"])  # (3)
    after = g("Add", memory, g("Mul", gate, candidate))  # (4)
    if plain["normalise"]:  # (5); a slot of norm 0 stays what it is
        norm = g.norms(after)
        one = g.constant([[1]])
        norm = g("Where", g("Greater", norm, g.constant([[0]])), norm, one)
        after = g("Div", after, g("Max", norm, g.constant([[plain["normFloor"]]])))
    if shape:  # a shut slot stays as it is
        after = g("Where", g("Greater", gate, g.constant([[0]])), after, memory)
    g.give(after, "next_memory")
    g.give_flat(gate, "gates")
    g.give_flat(g.norms(g("Sub", after, memory)), "movement")
    return g.model({"next_memory": (m, d), "gates": (m,), "movement": (m,)})


def _answer(plain: dict[str, Any], arrays: dict[str, Any]) -> onnx.ModelProto:
    g = _Graph(plain)
    m, memory = slots_of(plain), g.double("memory")
    q = g.sum_words(g.constant(arrays["embedding"]), arrays["questionMask"])  # (1, d)
    attention = ""
    for _ in range(plain["hops"] if arrays["H"] is not None else 1):
        scores = g("MatMul", q, g("Transpose", memory))
        attention = g("Softmax", scores, axis=-1)
        if arrays["H"] is not None:
            u = g("MatMul", attention, memory)
            q = g.phi(g("Add", q, g.product(arrays["H"], u)), arrays["readoutSlope"])
    g.give_flat(attention, "attention")
    if arrays["H"] is None:
        g.give_flat(attention, "probabilities")
        return g.model({"probabilities": (m,), "attention": (m,)})
    scores = g.product(arrays["R"], q)
    words = len(plain["words"])
    if len(plain["allowed"]) < words:
        never = np.ones((1, words), bool)
        never[0, plain["allowed"]] = False
        scores = g("Where", g.whole(never, np.bool_), g.constant([[_BEFORE]]), scores)
    g.give_flat(g("Softmax", scores, axis=-1), "probabilities")
    return g.model({"probabilities": (words,), "attention": (m,)})
