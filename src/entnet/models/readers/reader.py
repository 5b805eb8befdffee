"""Any network that chooses among candidates, as a scorer of questions; also one of the package's own.

reader = NetworkScorer(StoryModel.from_pretrained("cbt-ne"))
scores = reader.scores(read_cbt("cbtest_NE_test_2500ex.txt"))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save

from entnet.data.cbt.format import CbtQuestion
from entnet.data.cbt.passages import Longs, encode_passages
from entnet.data.cbt.windows import encode_with, known_words
from entnet.data.story import RaggedBatch
from entnet.files import write_atomically
from entnet.models.base import StoryModel
from entnet.models.readers.passage import PassageReader
from entnet.models.readers.scorer import MISSING, Floats


def chooses(model: StoryModel) -> bool:
    """Whether a network chooses among the candidates of a question of the Children's Book Test."""
    return model.answers == "candidates" and model.keys_per_story > 0


class NetworkScorer:
    """Scores candidates with a network on windows or on whole passages."""

    def __init__(self, model: StoryModel, batch: int = 100) -> None:
        self.model = model.eval()
        self.batch = batch
        self.oov_rows = len(model.vocab) - known_words(model.vocab)

    @torch.no_grad()
    def scores(self, questions: Sequence[CbtQuestion]) -> Floats:
        if not questions:
            return np.zeros((0, 10), dtype=np.float32)
        chunks = np.array_split(np.arange(len(questions)), -(-len(questions) // self.batch))
        batch = self._batches(questions)
        found = np.concatenate([self.model(batch(chunk)).numpy() for chunk in chunks])
        for row, question in zip(found, questions, strict=True):
            row[len(question.candidates) :] = MISSING
        return found

    def _batches(self, questions: Sequence[CbtQuestion]) -> Callable[[Longs], RaggedBatch]:
        if isinstance(self.model, PassageReader):
            whole, _ = encode_passages(questions, self.model.vocab)
            return lambda chunk: whole.batch(chunk, self.oov_rows)
        cut = encode_with(questions, self.model.vocab)
        return cut.corpus(self.oov_rows, self.model.config.sentence_length).entries().batch

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
