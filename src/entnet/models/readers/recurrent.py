"""EntNet with a recurrent encoder: what a candidate's slot reads is the place where the candidate stands.

    code        letter   shape        meaning
    states               (T, d)       [→h ; ←h] of a bidirectional GRU at every word of a sentence
    update      s_t      (N, d)       an occurrence of a candidate, as its slot takes it in
    gate_view   s'_t     (N, d)       the same, as gates see it
    question    q        (Q, d)       the query at its blank
    keys        w_j      (S, m, d)    embeddings of the candidates; slots begin as these

    (1)  s_t = Σ_i f_i ⊙ e_{t+i} + A [→h_t ; ←h_t] + b      f, A and b of its own for each of s, s' and q
    (2)  g_j = σ(s'·h_j + s'·w_j)     (3)  h̃_j = φ(U h_j + V w_j + W s)     (4)  h_j ← h_j + g_j h̃_j
    score of candidate j = q·(h_j + recency + count + asked) + log (Σ_k n_jk exp(D q)_k / Σ_k n_jk)
    n_jk = Σ_i softmax_k(C s_i)     over the occurrences i of candidate j; k are classes of places

The paper leaves the encoder open ("any standard sequence encoder"); here it is the paper's own windows and
a GRU beside them. A story is read once, before the query is known. Sentences are encoded by themselves, so
each distinct one once per batch, however many stories it stands in. ``recency``, ``count`` and ``asked``
are vectors, learnt for: how many sentences ago a candidate was last named, how often it was, whether the
query names it too. A sum cannot tell one place that fits well from many that fit a little; the tallies
n_jk, of a fixed size like the slots, come nearer to a reader's sum of exp(q·s_i) over places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from entnet.config import EntNetConfig
from entnet.config.model import Matrix
from entnet.data.story import RaggedBatch
from entnet.errors import EntNetError
from entnet.models.base import register
from entnet.models.entnet import EntNet
from entnet.models.gru import BiGRU, rows
from entnet.models.memory import Memory
from entnet.models.readers.passage import (
    PassageReader,
    Sequences,
    distinct_rows,
    joined,
    places_of,
    sequences,
    story_keys,
)
from entnet.models.readout import attend
from entnet.text import Vocab


@dataclass(frozen=True)
class RecurrentConfig(EntNetConfig):
    """EntNet on a bidirectional GRU; of EntNet's own settings, those of slots and gates count."""

    kind: ClassVar[str] = "entnet-recurrent"

    width: int = 128
    """d: units of a slot and of an embedding; the GRU has half as many in each direction."""
    slots: int = 10
    reach: int = 2
    """Words to either side of a candidate that (1) sums, as the paper's windows do."""
    query_reach: int = 4
    """The same of a query's blank."""
    state_dropout: float = 0.2
    """Share of the GRU's units dropped in training; ``dropout`` is that of embeddings."""
    furthest: int = 20
    """Sentences after which a candidate's last occurrence is just long ago."""
    most: int = 10
    """Occurrences from which on a candidate is just frequent."""
    classes: int = 0
    """K: classes of places that slots tally beside (4); 0 for none."""
    activation: Literal["prelu", "identity"] = "identity"
    U: Matrix = "zero"
    V: Matrix = "zero"
    W: Matrix = "identity"
    gate_bias: bool = False
    candidate_bias: bool = False
    normalise: bool = False
    keys: Literal["free", "tied", "story", "named"] = "story"
    output: Literal["words", "slots"] = "slots"
    embedding_scale: float = 0.3

    def check(self) -> None:
        super().check()
        self.require(self.width % 2 == 0, f"width is {self.width}, but must be even")
        self.at_least(1, "furthest", "most")
        self.at_least(0, "reach", "query_reach", "classes")
        share = self.state_dropout
        self.require(0 <= share < 1, f"state_dropout is {share}, but must be in [0, 1)")
        self.require(self.keys == "story", "the keys are the candidates that come with a story")


class Occurrences(NamedTuple):
    """The words of the stories that are candidates, in the order of reading."""

    words: Tensor
    """(N)"""
    row: Tensor
    """(N) the sentence, counted over all stories"""
    column: Tensor
    """(N) the place in it"""
    story: Tensor
    """(N)"""
    of: Tensor
    """(N, m) which candidates of its story the word is"""


class View(nn.Module):
    """(1) of a place in a sentence: the words about it by a learnt mask, and the GRU's state there."""

    def __init__(self, width: int, reach: int, dropout: float) -> None:
        super().__init__()
        self.mask = nn.Parameter(torch.ones(2 * reach + 1, width))
        self.state = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        for parameter in self.state.parameters():
            nn.init.zeros_(parameter)  # training begins with the windows alone

    def forward(self, words: Tensor, states: Tensor) -> Tensor:
        """words (N, 2 reach + 1, d), states (N, d) → (N, d)"""
        seen: Tensor = (words * self.mask).sum(1) + self.state(self.dropout(states))
        return seen


class Tally(nn.Module):
    """What a sum over occurrences loses: how many of them were of which class."""

    def __init__(self, width: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.place, self.query = nn.Linear(width, classes), nn.Linear(width, classes)
        self.dropout = nn.Dropout(dropout)
        for parameter in self.query.parameters():
            nn.init.zeros_(parameter)  # at first, no class says more than another

    def read(self, places: Tensor, found: Occurrences, keys: torch.Size) -> Tensor:
        """n_jk = Σ_i softmax_k(C s_i) over the occurrences i of candidate j: (S, m, K)"""
        shares = self.place(self.dropout(places)).softmax(1)
        occurrence, slot = found.of.nonzero(as_tuple=True)
        owner = found.story[occurrence] * keys[1] + slot
        tallies = shares.new_zeros((keys.numel(), shares.shape[1]))
        counted: Tensor = tallies.index_add(0, owner, shares[occurrence])
        return counted.view(*keys, -1)

    def ask(self, questions: Tensor, tallies: Tensor) -> Tensor:
        """log (Σ_k n_jk exp(D q)_k / Σ_k n_jk), 0 for a candidate that never occurred: (Q, m)"""
        wanted = self.query(self.dropout(questions))
        most = wanted.amax(1, keepdim=True)
        found = (tallies @ (wanted - most).exp().unsqueeze(2)).squeeze(2)
        count = tallies.sum(2)
        there = count > 0
        mean = torch.where(there, found, 1.0) / torch.where(there, count, 1.0)
        return torch.where(there, (mean + 1e-9).log() + most, 0.0)


@register
class RecurrentEntNet(PassageReader):
    """Reads sentences with a GRU, and stories into a slot per candidate."""

    config: RecurrentConfig
    config_class = RecurrentConfig

    def __init__(self, config: RecurrentConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        d = config.width
        self.embedding = nn.Parameter(torch.randn(len(vocab), d) * config.embedding_scale)
        self.encoder = BiGRU(d, d // 2)
        dropout = config.state_dropout
        self.update, self.gate_view = (View(d, config.reach, dropout) for _ in range(2))
        self.question = View(d, config.query_reach, dropout)
        self.memory = Memory(config)
        self.recency = nn.Parameter(torch.zeros(config.furthest + 1, d))
        self.count = nn.Parameter(torch.zeros(config.most + 1, d))
        self.asked = nn.Parameter(torch.zeros(d))
        self.tally = Tally(2 * d, config.classes, dropout) if config.classes else None
        self.after_update()

    @torch.no_grad()
    def begin_as(self, simple: EntNet, frozen: bool = False) -> None:
        """Take over the masks too; states then add to these."""
        encoder = simple.encoder
        masks = (encoder.story_mask, encoder.gate_mask, encoder.question_mask)
        for view, mask in zip((self.update, self.gate_view, self.question), masks, strict=True):
            size = view.mask.shape
            if mask is None or len(mask) < size[0] or mask.shape[1] != size[1]:
                raise EntNetError(
                    f"a network with masks of {size[0]} words and width {size[1]} is needed to begin as"
                )
            view.mask.copy_(mask[: size[0]])
            view.mask.requires_grad_(not frozen)
        super().begin_as(simple, frozen)

    def forward(self, batch: RaggedBatch) -> Tensor:
        """(Q, m) scores of the candidates."""
        keys = story_keys(batch)
        found = occurrences(batch, keys)
        told, which = distinct_rows(batch.words)
        sentences, asked = sequences(told), sequences(batch.question_words)
        read = joined(sentences, asked)
        # Each distinct word once: dropout of embeddings is by word, wherever it stands.
        words, at = torch.unique(torch.cat([read.words, keys.flatten()]), return_inverse=True)
        table = self._dropped(rows(self.embedding, words))
        states = self.encoder(table, at[: len(read.words)], read.lengths)
        slots = rows(table, at[len(read.words) :]).view(*keys.shape, -1)
        place = sentences.starts[which[found.row]] + found.column
        about = around(read, place, self.config.reach)
        here, window = rows(states, place), words_at(table, at, about)
        update, gate_input = self.update(window, here), self.gate_view(window, here)
        memory = self._memory(batch, slots, found, update, gate_input)
        blank = places_of(self.blank, asked) + len(sentences.words)
        about = around(read, blank, self.config.query_reach)
        question = self.question(words_at(table, at, about), states[blank])
        scores = attend(question, memory + self._seen(batch, keys, found))
        if self.tally is None:
            return scores
        told_of, asked_of = torch.cat([update, here], 1), torch.cat([question, states[blank]], 1)
        tallies = self.tally.read(told_of, found, keys.shape)[batch.question_story]
        return scores + self.tally.ask(asked_of, tallies)

    def _memory(
        self,
        batch: RaggedBatch,
        keys: Tensor,
        found: Occurrences,
        states: Tensor,
        gate_input: Tensor,
    ) -> Tensor:
        """(Q, m, d): the slots after the occurrences before each question.

        Before its first occurrence a story has an empty step that opens no gate, so that it has one at all.
        """
        at = torch.arange(len(found.story), device=keys.device) + found.story + 1
        empty = torch.ones(len(at) + len(keys), dtype=torch.bool, device=keys.device)
        empty[at] = False
        steps = torch.bincount(found.story, minlength=len(keys)) + 1
        offsets = nn.functional.pad(steps.cumsum(0), (1, 0))
        before = torch.searchsorted(found.row, batch.question_step, right=True)
        read_at = before + batch.question_story
        update, gate = (_spread(values, at, empty) for values in (states, gate_input))
        memory: Tensor = self.memory.scan(update, gate, keys, offsets, read_at, empty)
        return memory

    def _seen(self, batch: RaggedBatch, keys: Tensor, found: Occurrences) -> Tensor:
        """(Q, m, d) what is known of a candidate without what stands around it."""
        story, furthest = batch.question_story, self.config.furthest
        count = torch.zeros_like(keys).index_add(0, found.story, found.of.long())
        owner = found.story.unsqueeze(1).expand_as(found.of)
        named_at = torch.where(found.of, found.row.unsqueeze(1), -1)
        last = torch.full_like(keys, -1).scatter_reduce(0, owner, named_at, "amax")[story]
        ago = (batch.question_step.unsqueeze(1) - last).clamp_max(furthest)
        ago = torch.where(last < 0, furthest, ago)
        named = (batch.question_words.unsqueeze(2) == keys[story].unsqueeze(1)).any(1)
        seen = rows(self.recency, ago) + rows(self.count, count[story].clamp_max(self.config.most))
        return seen + named.unsqueeze(2) * self.asked

    def _dropped(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, self.config.dropout, self.training)


def occurrences(batch: RaggedBatch, keys: Tensor) -> Occurrences:
    """Where the candidates of each story stand in it, up to its question."""
    row, column = batch.words.nonzero(as_tuple=True)
    words = batch.words[row, column]
    story = torch.searchsorted(batch.story_offsets, row, right=True) - 1
    until = batch.story_offsets[1:].index_copy(0, batch.question_story, batch.question_step + 1)
    of = (words.unsqueeze(1) == keys[story]) & (row < until[story]).unsqueeze(1)
    here = of.any(1)
    return Occurrences(words[here], row[here], column[here], story[here], of[here])


def around(read: Sequences, place: Tensor, reach: int) -> Tensor:
    """(N, 2 reach + 1) the places about these in the same sequence; -1 where it has none."""
    ends = read.lengths.cumsum(0)
    of = torch.searchsorted(ends, place, right=True)
    about = place.unsqueeze(1) + torch.arange(-reach, reach + 1, device=place.device)
    inside = (about >= read.starts[of].unsqueeze(1)) & (about < ends[of].unsqueeze(1))
    return about.masked_fill(~inside, -1)


def words_at(table: Tensor, at: Tensor, places: Tensor) -> Tensor:
    """Embeddings of the words at these places, zero where there is no word."""
    words = rows(table, at[places.clamp_min(0)])
    return words * (places >= 0).unsqueeze(-1)


def _spread(values: Tensor, at: Tensor, empty: Tensor) -> Tensor:
    """Rows at these places, zeros at the empty ones."""
    return values.new_zeros((len(empty), values.shape[1])).index_copy(0, at, values)
