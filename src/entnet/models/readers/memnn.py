"""Memory networks on windows round the candidates, and the LSTM that asks them.

    code        letter    shape      meaning
    memories    m_i       (N, d)     windows, as the question looks for them
    outputs     c_i       (N, d)     windows, as they are read
    question    q         (Q, d)     the query's words near the blank
    match       q·m_i     (N)        how well each window fits its story's question

Plain:            p = softmax_i(q·m_i),  o = Σ_i p_i c_i,  score of candidate j = (q + o)·e_j
Self-supervised:  score of candidate j = the windows centred on it: the best match in training, which is
                  told to be the answer's, and all together, log Σ exp(q·m_i), in answering
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from entnet.config import ModelConfig
from entnet.data.story import RaggedBatch
from entnet.errors import EntNetError
from entnet.models.base import Answers, StoryModel, register
from entnet.models.encoder import encode
from entnet.models.layers import dropout_mask
from entnet.text import Vocab

CANDIDATES = 10


@dataclass(frozen=True)
class WindowMemoryConfig(ModelConfig):
    """A network with one attention over windows."""

    kind: ClassVar[str] = "window-memory"

    width: int = 100
    """d: units of every embedding."""
    window: int = 5
    """Words of a window; its middle is the candidate."""
    self_supervised: bool = False
    """Windows are attended to one by one, and training says which should be."""
    query: Literal["mask", "lstm"] = "mask"
    """How the query becomes a vector: a learned mask a position, or an LSTM over its words."""
    embedding_scale: float = 0.1
    dropout: float = 0.0
    """Share of embedding dimensions dropped in training, one mask per story."""

    def check(self) -> None:
        super().check()
        self.at_least(1, "width")
        self.require(0 <= self.dropout < 1, f"dropout is {self.dropout}, but must be in [0, 1)")
        self.require(
            self.window % 2 == 1 and self.window <= self.sentence_length,
            f"window is {self.window}, but must be odd and fit the {self.sentence_length} words read",
        )


@register
class WindowMemory(StoryModel):
    """Reads the windows of a story at once, and scores its ten candidates."""

    config: WindowMemoryConfig
    config_class = WindowMemoryConfig

    @property
    def answers(self) -> Answers:
        return "candidates"

    @property
    def keys_per_story(self) -> int:
        return CANDIDATES

    def __init__(self, config: WindowMemoryConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        d = config.width
        shape = (config.sentence_length, d)
        self.embedding = nn.Parameter(torch.randn(config.vocabulary, d) * config.embedding_scale)
        self.memory_mask = nn.Parameter(torch.ones(shape))
        self.output_mask = None if config.self_supervised else nn.Parameter(torch.ones(shape))
        self.question_mask = nn.Parameter(torch.ones(shape)) if config.query == "mask" else None
        self.lstm = nn.LSTM(d, d, batch_first=True) if config.query == "lstm" else None
        self.after_update()

    def after_update(self) -> None:
        with torch.no_grad():
            self.embedding[0] = 0

    def forward(self, batch: RaggedBatch) -> Tensor:
        """(Q, 10) scores of the candidates."""
        if batch.story_keys is None:
            raise EntNetError(
                "this network scores the candidates of a question, and none were given"
            )
        story = batch.question_story
        memories = encode(batch.words, self.embedding, self.memory_mask)
        question = self._question(batch.question_words)
        candidates = nn.functional.embedding(batch.story_keys[story], self.embedding)  # (Q, 10, d)
        keep = self._keep(batch)
        lengths = batch.story_offsets.diff()
        if keep is not None:
            memories = memories * keep.repeat_interleave(lengths, 0)
            question = question * keep[story]
        # One question per story: windows lie in the questions' order.
        asked = torch.repeat_interleave(lengths)
        match = (memories * question[asked]).sum(-1)
        if self.config.self_supervised:
            return self._by_centre(batch, match, asked)
        assert self.output_mask is not None
        outputs = encode(batch.words, self.embedding, self.output_mask)
        if keep is not None:
            outputs = outputs * keep.repeat_interleave(lengths, 0)
            candidates = candidates * keep[story].unsqueeze(1)
        p = _softmax(match, asked, len(lengths))
        read = torch.zeros_like(question).index_add(0, asked, p.unsqueeze(-1) * outputs)
        return ((question + read).unsqueeze(1) * candidates).sum(-1)

    def _question(self, words: Tensor) -> Tensor:
        if self.lstm is None:
            return encode(words, self.embedding, self.question_mask)
        read = words != 0
        order = (~read).long().argsort(dim=1, stable=True)  # words first, blanks behind
        lengths = read.sum(1).clamp_min(1)
        embedded = nn.functional.embedding(words.gather(1, order), self.embedding)
        states, _ = self.lstm(embedded)
        last: Tensor = states[torch.arange(len(words)), lengths - 1]
        return last

    def _by_centre(self, batch: RaggedBatch, match: Tensor, asked: Tensor) -> Tensor:
        """The windows' matches, gathered by the candidate in their middle."""
        assert batch.story_keys is not None
        centre = batch.words[:, self.config.window // 2]
        same = batch.story_keys[asked] == centre.unsqueeze(1)  # (N, 10)
        spread = match.unsqueeze(1).masked_fill(~same, -torch.inf)
        stories, slots = batch.story_keys.shape
        lowest = match.new_full((stories, slots), -torch.inf)
        owner = asked.unsqueeze(1).expand(-1, slots)
        best = lowest.scatter_reduce(0, owner, spread, "amax")
        if not self.training:
            steady = best.masked_fill(best.isinf(), 0.0)
            total = torch.zeros_like(best).index_add(0, asked, (spread - steady[asked]).exp())
            best = steady + total.log()
        # A candidate without a window cannot be found; it stays far below the others.
        return best.masked_fill(best.isinf(), -1e4)[batch.question_story]

    def _keep(self, batch: RaggedBatch) -> Tensor | None:
        if not (self.training and self.config.dropout > 0):
            return None
        stories = batch.story_offsets.numel() - 1
        return dropout_mask(stories, self.config.width, self.config.dropout)


def _softmax(match: Tensor, asked: Tensor, stories: int) -> Tensor:
    """Softmax of the matches within each story."""
    best = match.new_full((stories,), -torch.inf).scatter_reduce(0, asked, match.detach(), "amax")
    e = (match - best[asked]).exp()
    total = e.new_zeros(stories).index_add(0, asked, e)
    return e / total[asked]
