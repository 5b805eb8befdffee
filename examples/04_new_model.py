"""A network of your own: one class, and training, saving, evaluation and asking work as for all others.

This one looks for the one sentence that answers a question. It may learn from the data's supporting facts
which sentence that is, by a loss of its own.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn

from entnet import RaggedBatch, StoryModel, Tracker, TrainConfig, Vocab
from entnet.config import ModelConfig
from entnet.data.babi_tasks import generate
from entnet.models import register
from entnet.models.past import past_of
from entnet.training.loop import Run
from entnet.training.setup import prepare


@dataclass(frozen=True)
class FinderConfig(ModelConfig):
    kind: ClassVar[str] = "finder"

    width: int = 20
    supervision: float = 1.0
    """Weight of the supporting facts in the loss; 0 to learn from answers alone."""


@register
class Finder(StoryModel):
    """Attends to the sentences before a question, once, and answers from what they say."""

    config: FinderConfig
    config_class = FinderConfig

    def __init__(self, config: FinderConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        # Embeddings of a word where it asks, where it is looked for, and where it is read.
        self.asked, self.sought, self.told = (
            nn.Parameter(torch.randn(config.vocabulary, config.width) * 0.1) for _ in range(3)
        )
        self.age = nn.Parameter(torch.zeros(()))
        self.after_update()

    def after_update(self) -> None:
        """Word 0 fills up short sentences, and adds nothing to a sum."""
        with torch.no_grad():
            for words in (self.asked, self.sought, self.told):
                words[0] = 0

    def attention(self, batch: RaggedBatch) -> Tensor:
        """(Q, N): how much each question looks at each sentence of the batch."""
        match = self.asked[batch.question_words].sum(1) @ self.sought[batch.words].sum(1).T
        past = past_of(batch)  # which sentences each question has before it
        age = batch.question_step[past.question] - past.flat
        scores = torch.full_like(match, -torch.inf)
        scores[past.question, past.flat] = match[past.question, past.flat] + self.age * age
        return scores.softmax(1)

    def forward(self, batch: RaggedBatch) -> Tensor:
        return self.answer(batch, self.attention(batch))

    def answer(self, batch: RaggedBatch, attention: Tensor) -> Tensor:
        return attention @ self.told[batch.words].sum(1) @ self.told.T

    def loss(self, batch: RaggedBatch) -> tuple[Tensor, Tensor]:
        """Cross-entropy of the answer and, where the data have it, of the sentence it follows from."""
        attention = self.attention(batch)
        scores = self.answer(batch, attention)
        losses = nn.functional.cross_entropy(scores, batch.answers, reduction="none")
        if batch.supports is not None:
            fact = batch.supports[:, :1]
            looked = attention.gather(1, fact.clamp_min(0)).squeeze(1)
            known = fact.squeeze(1) >= 0
            losses = losses - self.config.supervision * known * (looked + 1e-9).log()
        return losses, scores


if __name__ == "__main__":
    train, valid, test = (
        generate(task=1, questions=questions, seed=1, split=split)
        for split, questions in (("train", 500), ("valid", 200), ("test", 500))
    )
    directory, config = Path("runs/finder"), TrainConfig(epochs=20)
    prepared = prepare(train, valid, test, config, "finder", {"supervision": 0.5})
    result = Run(directory, prepared.build, prepared.data, config).train()
    print(f"test error: {result['best']['test_error']:.1f}%")

    tracker = Tracker.from_pretrained(directory)
    tracker.read(
        "Mary went to the kitchen. John moved to the garden. Mary travelled to the office."
    )
    print("Where is Mary?", tracker.ask("Where is Mary?").answer)
