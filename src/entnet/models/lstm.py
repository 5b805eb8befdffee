"""The LSTM that the paper compares with: it reads the story word by word, then the question.

A story is read once. Each of its questions is read from the state at its place in the story, which is
the same as reading story and question as one sequence, for every question, from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from entnet.config import ModelConfig
from entnet.data.story import RaggedBatch
from entnet.models.base import StoryModel, register
from entnet.models.layers import pack
from entnet.ops.lstm import lstm_scan
from entnet.text import Vocab


@dataclass(frozen=True)
class LSTMConfig(ModelConfig):
    """A single-layer LSTM over words. The defaults are the paper's, as far as it says."""

    kind: ClassVar[str] = "lstm"

    units: int = 50
    """H: units of the hidden state."""
    width: int = 50
    """Units of a word's embedding (the paper does not say)."""
    weight_scale: float = 0.1
    """Standard deviation of all weights at the start."""
    forget_bias: float = 1.0
    """Bias of the forget gate at the start (the paper does not say)."""

    def check(self) -> None:
        super().check()
        self.at_least(1, "units", "width")
        self.at_least(0, "weight_scale")


@register
class LSTM(StoryModel):
    """Words in order, the question last, and an answer from all words of the vocabulary."""

    config: LSTMConfig
    config_class = LSTMConfig

    def __init__(self, config: LSTMConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        units, scale = config.units, config.weight_scale
        self.embedding = nn.Parameter(torch.randn(config.vocabulary, config.width) * scale)
        self.W = nn.Parameter(torch.randn(4 * units, config.width) * scale)
        self.U = nn.Parameter(torch.randn(4 * units, units) * scale)
        bias = torch.zeros(4 * units)
        bias[2 * units : 3 * units] = config.forget_bias
        self.bias = nn.Parameter(bias)
        self.R = nn.Parameter(torch.randn(config.vocabulary, units) * scale)
        self.output_bias = nn.Parameter(torch.zeros(config.vocabulary))
        self.after_update()

    def after_update(self) -> None:
        """The null word stays zero; it is never read, since it only fills up sentences."""
        with torch.no_grad():
            self.embedding[0] = 0

    def forward(self, batch: RaggedBatch) -> Tensor:
        # Words are few: their share of the gates is computed once a word, not once an occurrence.
        table = torch.addmm(self.bias, self.embedding, self.W.T)
        stories = batch.story_offsets.numel() - 1
        nothing = table.new_zeros((stories, self.config.units))
        words_read = (batch.words != 0).sum(1).cumsum(0)
        ends = nn.functional.pad(words_read, (1, 0))[batch.story_offsets]
        hidden, cell = self._read(table, batch.words, ends.diff(), nothing, nothing)

        asked_in = batch.question_story
        heard = words_read[batch.question_step] > ends[asked_in]
        at = (words_read[batch.question_step] - 1).clamp_min(0)
        hidden, cell = (_state_at(states, at, heard) for states in (hidden, cell))

        lengths = (batch.question_words != 0).sum(1)
        after, _ = self._read(table, batch.question_words, lengths, hidden, cell)
        final = _state_at(after, (lengths.cumsum(0) - 1).clamp_min(0), lengths > 0)
        final = torch.where((lengths > 0).unsqueeze(1), final, hidden)
        return torch.addmm(self.output_bias, final, self.R.T)

    def _read(
        self, table: Tensor, words: Tensor, lengths: Tensor, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Hidden states and cells after every word, sequence by sequence."""
        packing = pack(lengths)
        laid, order = packing.lay(words[words != 0]), packing.order
        hiddens, cells = lstm_scan(table, laid, self.U, hidden[order], cell[order], packing.active)
        return hiddens[packing.place], cells[packing.place]


def _state_at(states: Tensor, at: Tensor, heard: Tensor) -> Tensor:
    """Rows of states, or zero where nothing has been heard yet."""
    if not states.shape[0]:
        return states.new_zeros((at.shape[0], states.shape[1]))
    return torch.where(heard.unsqueeze(1), states[at], 0.0)
