"""How often an epoch reads each story."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from entnet import Corpus, Question, Story, Vocab
from entnet.config import ConfigError, Oversample, Stage, TrainConfig
from entnet.data.story import Entries, story_words
from entnet.training.loop import draw_groups
from entnet.training.sampling import Readings

STORIES = [
    Story(
        (first, "John left.", "Mary left."),
        (Question(1, "Who?", "John"), Question(3, "Who?", "Mary")),
    )
    for first in ("North of it.", "Mary came.", "South, not north.", "A frog came.")
]
VOCAB = Vocab.build(story_words(STORIES))
CORPUS = Corpus.encode(STORIES, VOCAB)


def often(entries: Entries, vocab: Vocab = VOCAB, epoch: int = 1, **options: Any) -> list[int]:
    numbers: list[int] = Readings(entries, vocab, TrainConfig(**options)).of_epoch(epoch).tolist()
    return numbers


def test_an_epoch_reads_stories_as_often_as_their_words_say() -> None:
    entries = CORPUS.entries()
    config = TrainConfig(
        batch_size=3,
        oversample=(Oversample(("north", "unicorn"), 4), Oversample(("frog", "south"))),
    )
    readings = Readings(entries, VOCAB, config).of_epoch(1)
    assert readings.tolist() == [4, 1, 4, 2]  # the most often said counts
    read = Counter(np.concatenate(draw_groups(entries, config, 1, readings)).tolist())
    assert read == {0: 4, 1: 1, 2: 4, 3: 2}
    drawn = draw_groups(entries, config.replace(sampling="replacement"), 1, readings)
    assert sum(map(len, drawn)) == 11


def test_a_batch_counts_questions_or_stories() -> None:
    entries = CORPUS.entries()  # four stories of two questions
    sizes = [
        [len(group) for group in draw_groups(entries, TrainConfig(batch_size=4, batch_unit=of), 1)]
        for of in ("questions", "stories")
    ]
    assert sizes == [[2, 2], [4]]


def test_the_beginning_reads_the_named_stories_alone() -> None:
    entries = CORPUS.entries()
    options = {
        "curriculum": (Stage(2, ("frog", "unicorn")), Stage(3, ("north", "frog"))),
        "oversample": (Oversample(("south",)),),
    }
    read = [often(entries, epoch=epoch, **options) for epoch in range(1, 8)]
    assert read[:2] == [[0, 0, 0, 1]] * 2
    assert read[2:5] == [[1, 0, 2, 1]] * 3
    assert read[5:] == [[1, 1, 2, 1]] * 2
    config = TrainConfig(batch_size=3, **options)  # type: ignore[arg-type]
    groups = draw_groups(entries, config, 3, Readings(entries, VOCAB, config).of_epoch(3))
    assert sorted(np.concatenate(groups).tolist()) == [0, 2, 2, 3]


def test_single_questions_count_what_they_read() -> None:
    late = Story(
        ("Mary came.", "A frog came."), (Question(1, "Who?", "Mary"), Question(2, "Who?", "frog"))
    )
    vocab = Vocab.build(story_words([late]))
    entries = Corpus.encode([late], vocab).entries("question")
    assert often(entries, vocab, oversample=(Oversample(("frog",), 3),)) == [1, 3]


def test_without_it_every_story_is_read_once_and_in_the_same_order() -> None:
    entries = CORPUS.entries()
    assert often(entries) == [1, 1, 1, 1]
    config = TrainConfig(batch_size=1)
    plain = draw_groups(entries, config, 3)
    once = draw_groups(entries, config, 3, Readings(entries, VOCAB, config).of_epoch(3))
    assert [group.tolist() for group in plain] == [group.tolist() for group in once]
    assert [group[0] for group in plain] == np.random.default_rng([1, 3]).permutation(4).tolist()


@pytest.mark.parametrize("option", ["repeat", "begin"])
@pytest.mark.parametrize("text", ["north", "0 north", "2", "", "-1 north"])
def test_impossible_texts_are_refused(option: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"{option}: a number and words expected"):
        TrainConfig.from_dict({option: (text,)})


def test_a_beginning_without_stories_is_refused() -> None:
    with pytest.raises(ConfigError, match="no training story has any of unicorn, dragon"):
        often(CORPUS.entries(), curriculum=(Stage(3, ("unicorn", "dragon")),))
