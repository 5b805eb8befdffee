"""The graphs in ONNX Runtime equal the network in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from typer.testing import CliRunner

from entnet import EntNet, Tracker
from entnet.cli import app
from entnet.data.babi import read_babi
from entnet.data.context import Context, Held
from entnet.data.story import Story
from entnet.errors import EntNetError
from entnet.export import onnx_graphs, save_onnx
from entnet.text import tokenise
from entnet.tracker import load_entity_network
from exported_networks import OPTIONS, network_and_stories

TOLERANCE = 1e-5


class Runtime:
    """What a user of the files writes: no entnet in it but the cutting of words."""

    def __init__(self, step: bytes, answer: bytes, about: dict[str, Any]) -> None:
        self.step, self.answer = (
            onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
            for graph in (step, answer)
        )
        self.about = about
        self.index = {word: number for number, word in enumerate(about["words"])}
        self.reset()

    def reset(self) -> None:
        self.named: list[int] = []
        self.held = Held()
        nothing = np.zeros((0, self.about["width"]))
        self.memory = np.array(self.about.get("memory", nothing), np.float32)

    def _words(self, text: str) -> np.ndarray:
        numbers = [self.index.get(word, 0) for word in tokenise(text, self.about["lowercase"])]
        if not self.about["bagOfWords"]:
            numbers += [0] * (self.about["places"] - len(numbers))
        return np.array(numbers, np.int64)

    def read(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        feeds = {"words": self._beside(self._words(text))}
        if "keys" in self.about:
            feeds["slots"] = self._slots(text)
        feeds["memory"] = self.memory
        self.memory, gates, movement = self.step.run(None, feeds)
        return gates, movement

    def _beside(self, words: np.ndarray) -> np.ndarray:
        """The sentence with its context in the last of its places."""
        of = self.about["context"]
        if of is not None:
            kinds = (frozenset(of[kind]) for kind in ("people", "places", "things"))
            context = Context(of["length"], *kinds)
            beside, self.held = context.heard(words[: -context.size].tolist(), self.held)
            words[-context.size :] = beside
        return words

    def _slots(self, text: str) -> np.ndarray:
        """The slots of each key word when it is first named."""
        for word in tokenise(text, self.about["lowercase"]):
            rows = [row for row, key in enumerate(self.about["keyWords"]) if key == word]
            room = self.about["slots"] - len(self.named)
            if rows and rows[0] not in self.named and len(rows) <= room:
                self.named += rows
                keys = np.array([self.about["keys"][row] for row in rows], np.float32)
                self.memory = np.concatenate([self.memory, keys])
        return np.array(self.named, np.int64)

    def ask(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        probabilities, attention = self.answer.run(
            None, {"words": self._words(text), "memory": self.memory}
        )
        return probabilities, attention


def runtime_of(model: EntNet) -> Runtime:
    from entnet.export.weights import network_arrays, plain_network

    step, answer = onnx_graphs(model)
    keys = network_arrays(model)["keys"]
    assert keys is not None
    for graph in (step, answer):
        onnx.checker.check_model(graph, full_check=True)
    about = {**plain_network(model), named_or_not(model): keys.tolist()}
    return Runtime(step.SerializeToString(), answer.SerializeToString(), about)


def named_or_not(model: EntNet) -> str:
    return "keys" if model.config.keys == "named" else "memory"


def near(theirs: Any, ours: Any) -> None:
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=TOLERANCE)


def compare(runtime: Runtime, model: EntNet, stories: list[Story]) -> int:
    compared = 0
    for story in stories:
        tracker = Tracker(model)
        runtime.reset()
        for after in range(len(story.sentences) + 1):
            if after:
                (read,) = tracker.read_sentences([story.sentences[after - 1]])
                gates, movement = runtime.read(story.sentences[after - 1])
                near(gates, read.gates)
                near(movement, read.movement)
                near(runtime.memory, tracker.state.memory[0])
            for question in (q for q in story.questions if q.after == after):
                ours = tracker.ask(question.text)
                probabilities, attention = runtime.ask(question.text)
                near(attention, ours.attention)
                names = runtime.about["words"] if len(probabilities) > len(attention) else []
                if names:
                    near(probabilities[names.index(ours.answer)], ours.probability)
                compared += 1
    return compared


@pytest.mark.parametrize("task", [1, 2, 3, 15, 19])
def test_official_test_stories_are_read_as_in_python(official_data: Path, task: int) -> None:
    (path,) = (official_data / "babi" / "en-10k").glob(f"qa{task}_*_test.txt")
    model = load_entity_network(f"babi-qa{task}")
    assert compare(runtime_of(model), model, read_babi(path)[:20]) >= 20


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_is_read_as_in_python(options: dict[str, Any]) -> None:
    model, stories = network_and_stories(options)
    assert compare(runtime_of(model), model, stories) >= 20


def test_the_files_are_all_that_is_needed(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["export", "onnx", "babi-qa1", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "answer.onnx",
        "network.json",
        "step.onnx",
    ]
    step, answer = (tmp_path / "out" / f"{name}.onnx" for name in ("step", "answer"))
    about = json.loads((tmp_path / "out" / "network.json").read_text(encoding="utf-8"))
    runtime = Runtime(step.read_bytes(), answer.read_bytes(), about)
    for sentence in ("Mary went to the garden.", "John went to the office."):
        runtime.read(sentence)
    probabilities, _ = runtime.ask("Where is Mary?")
    assert about["words"][int(probabilities.argmax())] == "garden"


def test_networks_that_cannot_be_exported_say_why(tmp_path: Path) -> None:
    with pytest.raises(EntNetError, match="keys from the story"):
        save_onnx("cbt-ne", tmp_path)
    assert list(tmp_path.iterdir()) == []
