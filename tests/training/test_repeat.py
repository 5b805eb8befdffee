"""Stories that are read more often than others."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from entnet import Corpus, Question, Story, Vocab
from entnet.config import ConfigError, TrainConfig
from entnet.data.story import story_words
from entnet.training.loop import draw_groups
from entnet.training.repeat import readings

STORIES = [
    Story(
        (first, "John left.", "Mary left."),
        (Question(1, "Who?", "John"), Question(3, "Who?", "Mary")),
    )
    for first in ("North of it.", "Mary came.", "South, not north.", "A frog came.")
]
VOCAB = Vocab.build(story_words(STORIES))
CORPUS = Corpus.encode(STORIES, VOCAB)


def test_an_epoch_reads_stories_as_often_as_their_words_say() -> None:
    entries = CORPUS.entries()
    often = readings(entries, VOCAB, ("4 north unicorn", "2 frog south"))
    assert often.tolist() == [4, 1, 4, 2]  # the most often said counts
    config = TrainConfig(batch=3)
    read = Counter(np.concatenate(draw_groups(entries, config, 1, often)).tolist())
    assert read == {0: 4, 1: 1, 2: 4, 3: 2}
    drawn = draw_groups(entries, config.replace(epoch="draws"), 1, often)
    assert sum(map(len, drawn)) == 11


def test_single_questions_count_what_they_read() -> None:
    late = Story(
        ("Mary came.", "A frog came."), (Question(1, "Who?", "Mary"), Question(2, "Who?", "frog"))
    )
    vocab = Vocab.build(story_words([late]))
    entries = Corpus.encode([late], vocab).entries("question")
    assert readings(entries, vocab, ("3 frog",)).tolist() == [1, 3]


def test_without_it_every_story_is_read_once_and_in_the_same_order() -> None:
    entries = CORPUS.entries()
    assert readings(entries, VOCAB, ()).tolist() == [1, 1, 1, 1]
    plain = draw_groups(entries, TrainConfig(batch=1), 3)
    once = draw_groups(entries, TrainConfig(batch=1), 3, readings(entries, VOCAB, ()))
    assert [group.tolist() for group in plain] == [group.tolist() for group in once]
    assert [group[0] for group in plain] == np.random.default_rng([1, 3]).permutation(4).tolist()


@pytest.mark.parametrize("text", ["north", "0 north", "2", "", "-1 north"])
def test_impossible_repeats_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="a number and words expected"):
        readings(CORPUS.entries(), VOCAB, (text,))
