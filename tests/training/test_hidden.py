"""Training documents: every fact where it was, books around it, questions after what they ask about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from entnet import Corpus, EntNet, EntNetConfig, TrainConfig, Vocab
from entnet.data.story import story_words
from entnet.models.pressure import pressures
from entnet.text import NULL_WORD, UNKNOWN_WORD
from entnet.training.engine import choose_engine
from entnet.training.hidden import (
    FRAGMENT,
    HiddenSource,
    HidingOptions,
    distinct,
    hide,
    rows_by_word,
    with_fragments,
)
from small_networks import make_stories

STORIES = make_stories(40, seed=2)
VOCAB = Vocab.build(story_words(STORIES) | {NULL_WORD, UNKNOWN_WORD})
LENGTH = 8
CORPUS = Corpus.encode(STORIES, VOCAB, LENGTH)
CONFIG = EntNetConfig(
    vocabulary=len(VOCAB),
    sentence_length=LENGTH,
    width=16,
    slots=4,
    memory_limit=None,
    gate="stretched",
)


def book_rows(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, len(VOCAB), size=(count, LENGTH)).astype(np.int16)
    rows[rng.random(rows.shape) < 0.6] = VOCAB.other
    return rows


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(0, 30), st.integers(0, 99))
def test_facts_keep_their_order_and_questions_their_past(
    stories: int, most: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    batch = CORPUS.entries().batch(np.arange(stories))
    batch = replace(
        batch, supports=torch.stack([batch.question_step, batch.question_step * 0 - 1], 1)
    )
    counts = rng.integers(0, most + 1, size=stories)
    books = book_rows(int(counts.sum()), seed).astype(np.int64)
    hidden = hide(batch, counts, books, rng)
    assert torch.equal(hidden.words[~hidden.quiet], batch.words)
    assert np.array_equal(hidden.words[hidden.quiet].numpy(), books)
    assert torch.equal(
        hidden.story_offsets.diff() - torch.from_numpy(counts), batch.story_offsets.diff()
    )
    assert torch.equal(hidden.words[hidden.supports[:, 0]], batch.words[batch.supports[:, 0]])
    assert bool((hidden.supports[:, 1] == -1).all())
    facts = (~hidden.quiet).long().cumsum(0)
    # As many facts of the batch have been read when each question is asked, and the next one has not.
    assert torch.equal(facts[hidden.question_step], batch.question_step + 1)
    ends = torch.isin(hidden.question_step + 1, hidden.story_offsets)
    following = (hidden.question_step + 1).clamp(max=len(hidden.words) - 1)
    assert bool((ends | ~hidden.quiet[following]).all())


def source(**options: object) -> HiddenSource:
    torch.manual_seed(1)
    return HiddenSource(
        CORPUS, EntNet(CONFIG, VOCAB), TrainConfig(), book_rows(500, 1), HidingOptions(**options)
    )


def test_an_epoch_is_the_same_whenever_it_is_asked_for() -> None:
    one, other = ([b.words for b in source().epoch(3).batches] for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    next_one = [b.words for b in source().epoch(4).batches]
    assert not all(
        a.shape == b.shape and torch.equal(a, b) for a, b in zip(one, next_one, strict=True)
    )


def test_known_words_are_met_evenly() -> None:
    hiding = source(hard=0)
    found = rows_by_word(hiding.books, len(VOCAB), VOCAB.other)
    assert sum(map(len, found)) == int(((hiding.books != 0) & (hiding.books != VOCAB.other)).sum())
    rows = hiding._even(400, np.random.default_rng(1))
    assert rows.shape == (400, LENGTH)
    assert bool(((rows != 0) & (rows != VOCAB.other)).any(1).all())


def test_hard_sentences_are_those_that_press_gates_open() -> None:
    hiding = source(hard=20)
    hard = hiding._hardest(np.random.default_rng(1))
    keys = hiding.model.initial_state().memory[0]
    assert (
        pressures(hiding.model, [keys], hard).mean()
        > pressures(hiding.model, [keys], hiding.books).mean()
    )


def test_fragments_are_runs_of_words_each_once() -> None:
    rows = np.array([[3, 1, 4, 1, 0], [3, 1, 4, 1, 0], [1, 0, 0, 0, 0]], np.int16)
    found = [tuple(row[row != 0].tolist()) for row in with_fragments(distinct(rows), 2)]
    assert len(distinct(rows)) == 2
    assert sorted(found) == [(1,), (1, 4), (3,), (3, 1), (3, 1, 4, 1), (4,), (4, 1)]


def test_one_short_sentence_among_many_is_found() -> None:
    """A name alone is rare in books, and looks the more like a fact."""
    books = np.full((5000, LENGTH), VOCAB.other, np.int16)
    books[77, 1:] = 0
    books[77, 0] = 4
    hiding = HiddenSource(CORPUS, EntNet(CONFIG, VOCAB), TrainConfig(), books, HidingOptions())
    assert len(hiding.searched) == FRAGMENT + 2  # runs of unknown words, and the name
    assert (hiding.searched == books[77]).all(1).sum() == 1


def test_pressure_is_what_the_gates_say() -> None:
    model, rows = source().model, book_rows(5, 3)
    state = model.initial_state()
    plain = EntNet(CONFIG.replace(gate="sigmoid"), VOCAB)
    plain.load_state_dict(model.state_dict())
    with torch.no_grad():
        wanted = [
            plain.step(state, torch.from_numpy(row[None].astype(np.int64)))[1].max() for row in rows
        ]
    np.testing.assert_allclose(pressures(model, [state.memory[0]], rows), wanted, rtol=1e-4)


def test_training_shuts_gates_on_books(tmp_path: Path) -> None:
    config = TrainConfig(gate_penalty=0.2, learning_rate=0.01)
    hiding = source(words=60)
    engine = choose_engine(hiding.model, config)
    before = pressures(hiding.model, hiding._memories(np.arange(3)), hiding.books).mean()
    for number in range(1, 16):
        for batch in hiding.epoch(number).batches:
            engine.step(batch, 0.01)
    after = pressures(hiding.model, hiding._memories(np.arange(3)), hiding.books).mean()
    assert after < before / 3
