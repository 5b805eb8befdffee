"""Any network that reads windows, as a scorer of questions; also one that comes with the package.

reader = WindowScorer(StoryModel.from_pretrained("cbt-ne"))
scores = reader.scores(read_cbt("cbtest_NE_test_2500ex.txt"))
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save

from entnet.data.cbt.format import CbtQuestion
from entnet.data.cbt.windows import encode_with, known_words
from entnet.files import write_atomically
from entnet.models.base import StoryModel
from entnet.models.entnet import EntNet
from entnet.models.readers.memnn import WindowMemory
from entnet.models.readers.scorer import MISSING, Floats


def reads_windows(model: StoryModel) -> bool:
    """Whether a network chooses among the candidates of a question, from windows round them."""
    if isinstance(model, WindowMemory):
        return True
    return isinstance(model, EntNet) and (model.config.keys, model.config.output) == (
        "story",
        "slots",
    )


class WindowScorer:
    """Scores candidates with a network on windows."""

    def __init__(self, model: StoryModel, batch: int = 200) -> None:
        self.model = model.eval()
        self.batch = batch
        self.fresh = len(model.vocab) - known_words(model.vocab)

    @torch.no_grad()
    def scores(self, questions: Sequence[CbtQuestion]) -> Floats:
        if not questions:
            return np.zeros((0, 10), dtype=np.float32)
        data = encode_with(questions, self.model.vocab)
        entries = data.corpus(self.fresh, self.model.config.sentence_length).entries()
        chunks = np.array_split(np.arange(len(data)), -(-len(data) // self.batch))
        found = np.concatenate([self.model(entries.batch(chunk)).numpy() for chunk in chunks])
        for row, question in zip(found, questions, strict=True):
            row[len(question.candidates) :] = MISSING
        return found

    def answer(self, question: CbtQuestion) -> str:
        """The candidate that scores highest."""
        return question.candidates[int(self.scores([question])[0].argmax())]


def save_half(model: StoryModel, directory: Path) -> int:
    """Save a network with its weights in half precision; the size in bytes of all its files."""
    model.save_pretrained(directory)
    path = directory / "model.safetensors"
    weights = {name: tensor.half() for name, tensor in load_file(path).items()}
    write_atomically(path, save(weights, {"format": "entnet"}))
    return sum(file.stat().st_size for file in directory.iterdir())
