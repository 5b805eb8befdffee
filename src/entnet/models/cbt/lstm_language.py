"""An LSTM language model on the Children's Book Test.

It learns to tell the next word of the training books. A question's 20 sentences are read, then the query up
to its blank; a candidate scores the probability of itself there and of the few words that follow it.
Training sees a sample of words instead of the whole vocabulary at each step (sampled softmax); scoring sees
all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from entnet.config import Config
from entnet.data.cbt import CbtQuestion
from entnet.models.cbt.kneser_ney import END
from entnet.models.cbt.scorer import Floats, split_query, table, tokens
from entnet.text import Vocab

State = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class LanguageConfig(Config):
    """Size and training of the language model."""

    units: int = 256
    """Of an embedding and of the hidden state."""
    least: int = 5
    """A word is known if the training books have it so often; the others are one unknown word."""
    streams: int = 64
    """Stretches of text read side by side."""
    steps: int = 35
    """Words between two updates."""
    sample: int = 1000
    """Words that each update tells the right ones from."""
    rate: float = 0.004
    """At the start; it falls evenly to nothing at the end."""
    clip: float = 1.0
    epochs: int = 2
    seed: int = 1
    following: int = 5
    """Words after the blank that a candidate must fit."""


class LanguageModel(nn.Module):
    """Embedding, LSTM, and scores of all words with the embedding as output matrix."""

    def __init__(self, config: LanguageConfig, vocab: Vocab) -> None:
        super().__init__()
        self.config = config
        self.vocab = vocab
        torch.manual_seed(config.seed)
        self.embedding = nn.Parameter(torch.randn(len(vocab), config.units) * 0.1)
        self.bias = nn.Parameter(torch.zeros(len(vocab)))
        self.lstm = nn.LSTM(config.units, config.units, batch_first=True)

    def read(self, words: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """States after every word: (S, T) → (S, T, d)"""
        out, state = self.lstm(nn.functional.embedding(words, self.embedding), state)
        return out, state

    def log_probabilities(self, states: Tensor) -> Tensor:
        """(…, d) → (…, |V|)"""
        return torch.log_softmax(states @ self.embedding.T + self.bias, -1)

    def sampled_loss(
        self, states: Tensor, words: Tensor, sample: Tensor, expected: Tensor
    ) -> Tensor:
        """Mean cross-entropy of the next words among themselves and a sample.

        Scores are corrected by how often a word is expected in the sample, so that on average the whole
        softmax is learnt. A sampled word that is the right one is left out.
        """
        right = (states * self.embedding[words]).sum(-1) + self.bias[words]
        right = right - expected[words].log()
        others = states @ self.embedding[sample].T + self.bias[sample] - expected[sample].log()
        others = others.masked_fill(sample.unsqueeze(0) == words.unsqueeze(1), -torch.inf)
        scores = torch.cat([right.unsqueeze(1), others], 1)
        return -torch.log_softmax(scores, 1)[:, 0].mean()


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
