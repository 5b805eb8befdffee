"""Stories told in another order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from entnet import Corpus, Question, Story, Vocab
from entnet.data.story import story_words
from entnet.training.reorder import Reorder

FACTS = Story(
    ("Lily is a frog.", "Lily is green.", "Brian is a lion.", "Brian is white."),
    (Question(2, "What colour is Lily?", "green"), Question(4, "What colour is Brian?", "white")),
)
EVENTS = Story(("Mary left.", "Mary came.", "Mary slept."), (Question(3, "Who slept?", "Mary"),))
STORIES = [EVENTS, FACTS, EVENTS]


def told(words: str, seed: int, draw: str = "story") -> list[tuple[str, ...]]:
    """The sentences of each entry, after shuffling."""
    vocab = Vocab.build(story_words(STORIES))
    entries = Corpus.encode(STORIES, vocab).entries(draw)  # type: ignore[arg-type]
    batch = entries.batch(np.arange(len(entries)))
    changed = Reorder(words, vocab)(batch, np.random.default_rng(seed))
    assert changed.question_step.equal(batch.question_step)
    lines = [" ".join(vocab.words[n] for n in row if n) for row in changed.words.tolist()]
    offsets = changed.story_offsets.tolist()
    return [tuple(lines[a:b]) for a, b in pairwise(offsets)]


SAME = told("", 0)


def test_sentences_stay_between_the_questions_they_stood_between() -> None:
    seen = {told("frog", seed)[1] for seed in range(40)}
    assert len(seen) == 4
    for line in seen:
        assert set(line[:2]) == set(SAME[1][:2])
        assert set(line[2:]) == set(SAME[1][2:])


def test_a_single_question_s_story_is_shuffled_as_a_whole() -> None:
    seen = {told("lion", seed, "question")[2] for seed in range(400)}
    assert len(seen) == 24
    assert {frozenset(line) for line in seen} == {frozenset(SAME[1])}


def test_other_stories_stay_as_they_are() -> None:
    for seed in range(10):
        lines = told("frog unicorn", seed)
        assert [lines[0], lines[2]] == [SAME[0], SAME[2]]
        assert told("unicorn", seed) == SAME
    assert any(told("came", seed)[0] != SAME[0] for seed in range(10))
