"""An LSTM language model on the Children's Book Test.

It learns to tell the next word of the training books. A question's 20 sentences are read, then the query up
to its blank; a candidate scores the probability of itself there and of the few words that follow it.
Training sees a sample of words instead of the whole vocabulary at each step (sampled softmax); scoring sees
all of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from entnet.config import Config
from entnet.data.cbt.format import CbtQuestion
from entnet.files import write_atomically
from entnet.models.baselines.kneser_ney import END
from entnet.models.readers.scorer import Floats, split_query, table, tokens
from entnet.text import Vocab

State = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class LanguageConfig(Config):
    """Size of the language model, and how it scores."""

    kind: ClassVar[str] = "lstm-language"

    units: int = 256
    """Of an embedding and of the hidden state."""
    following: int = 5
    """Words after the blank that a candidate must fit."""


class LanguageModel(nn.Module):
    """Embedding, LSTM, and scores of all words with the embedding as output matrix."""

    def __init__(self, config: LanguageConfig, vocab: Vocab) -> None:
        super().__init__()
        self.config = config
        self.vocab = vocab
        self.embedding = nn.Parameter(torch.randn(len(vocab), config.units) * 0.1)
        self.bias = nn.Parameter(torch.zeros(len(vocab)))
        self.lstm = nn.LSTM(config.units, config.units, batch_first=True)

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())

    def save_pretrained(self, directory: Path | str) -> None:
        """Write ``model.safetensors``, ``config.json`` and ``vocab.json``."""
        about = {"kind": self.config.kind, "config": self.config.to_dict()}
        weights = {name: tensor.contiguous() for name, tensor in self.state_dict().items()}
        files = {
            "vocab.json": self.vocab.to_json().encode(),
            "config.json": json.dumps(about, indent=1).encode(),
            "model.safetensors": save(weights, {"format": "entnet"}),
        }
        for name, content in files.items():
            write_atomically(Path(directory) / name, content)

    @classmethod
    def from_pretrained(cls, directory: Path | str) -> Self:
        place = Path(directory)
        about = json.loads((place / "config.json").read_text(encoding="utf-8"))
        vocab = Vocab.from_json(place / "vocab.json")
        model = cls(LanguageConfig.from_dict(about["config"]), vocab)
        model.load_state_dict(load_file(place / "model.safetensors"))
        return model.eval()

    def read(self, words: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """States after every word: (S, T) → (S, T, d)"""
        out, state = self.lstm(nn.functional.embedding(words, self.embedding), state)
        return out, state

    def log_probabilities(self, states: Tensor) -> Tensor:
        """(…, d) → (…, |V|)"""
        return torch.log_softmax(states @ self.embedding.T + self.bias, -1)

    def sampled_scores(
        self, states: Tensor, words: Tensor, sample: Tensor, expected: Tensor
    ) -> Tensor:
        """Scores of the next words, in the first column, and of a sample: (N, d) → (N, 1 + sample).

        They are corrected by how often a word is expected in the sample, so that on average the whole
        softmax is learnt. A sampled word that is the right one is left out.
        """
        right = (states * self.embedding[words]).sum(-1) + self.bias[words]
        right = right - expected[words].log()
        others = states @ self.embedding[sample].T + self.bias[sample] - expected[sample].log()
        others = others.masked_fill(sample.unsqueeze(0) == words.unsqueeze(1), -torch.inf)
        return torch.cat([right.unsqueeze(1), others], 1)


class LanguageScorer:
    """Scores candidates by the probability of the query with them, after the 20 sentences."""

    def __init__(self, model: LanguageModel, batch: int = 20) -> None:
        self.model = model
        self.batch = batch

    def scores(self, questions: Sequence[CbtQuestion]) -> Floats:
        # Stories of like length together, so that little is padded.
        order = sorted(range(len(questions)), key=lambda n: sum(map(len, questions[n].sentences)))
        out = np.empty((len(questions), 10), dtype=np.float32)
        for first in range(0, len(order), self.batch):
            chosen = order[first : first + self.batch]
            out[chosen] = self._batch([questions[n] for n in chosen])
        return out

    @torch.no_grad()
    def _batch(self, questions: Sequence[CbtQuestion]) -> Floats:
        model, encode = self.model, self.model.vocab.encode
        before, after, candidates = [], [], []
        for question in questions:
            left, right = split_query(question)
            story = [word for text in question.sentences for word in (*tokens(text), END)]
            before.append(encode([END, *story, *left]))
            after.append(encode([*right, END])[: model.config.following])
            candidates.append(encode([word.lower() for word in question.candidates]))
        out, state = self._final(before)
        first = model.log_probabilities(out)  # (S, |V|)
        scores = []
        for n, words in enumerate(candidates):
            here = torch.tensor(words)
            total = first[n, here]
            if after[n]:
                follow = torch.tensor(after[n]).expand(len(words), -1)
                held = tuple(part[:, n : n + 1].expand(-1, len(words), -1) for part in state)
                fed = torch.cat([here.unsqueeze(1), follow[:, :-1]], 1)
                states, _ = model.read(fed, (held[0].contiguous(), held[1].contiguous()))
                logs = model.log_probabilities(states)
                total = total + logs.gather(2, follow.unsqueeze(2)).squeeze(2).sum(1)
            scores.append(total.tolist())
        return table(scores)

    def _final(self, sequences: list[list[int]]) -> tuple[Tensor, State]:
        """States after the last word of sequences of different lengths."""
        lengths = torch.tensor([len(words) for words in sequences])
        padded = torch.zeros(len(sequences), int(lengths.max()), dtype=torch.long)
        for n, words in enumerate(sequences):
            padded[n, : len(words)] = torch.tensor(words)
        embedded = nn.functional.embedding(padded, self.model.embedding)
        packed = nn.utils.rnn.pack_padded_sequence(
            embedded, lengths, batch_first=True, enforce_sorted=False
        )
        _, state = self.model.lstm(packed)
        return state[0][-1], state
