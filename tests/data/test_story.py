"""Stories in numbers: what a batch holds."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from entnet import Corpus, Question, Story, Vocab
from entnet.data.story import Draw, longest_sentence, story_words


@pytest.fixture
def corpus(stories: list[Story]) -> Corpus:
    return Corpus.encode(stories, Vocab.build(story_words(stories)))


def test_batch_of_whole_stories(corpus: Corpus, stories: list[Story]) -> None:
    entries = corpus.entries()
    batch = entries.batch(np.arange(len(entries)))
    assert batch.story_offsets.tolist() == [0, 3, 4, 7]
    assert batch.question_step.tolist() == [0, 2, 2, 3, 5, 6]
    assert batch.question_story.tolist() == [0, 0, 0, 1, 2, 2]
    assert batch.words.tolist() == corpus.words.tolist()


def test_batch_of_single_questions(corpus: Corpus) -> None:
    entries = corpus.entries("question")
    assert len(entries) == corpus.questions
    batch = entries.batch(np.array([4, 1]))
    assert batch.story_offsets.tolist() == [0, 2, 5]
    assert batch.question_step.tolist() == [1, 4]


def test_memory_limit_gives_late_questions_their_own_entry(corpus: Corpus) -> None:
    entries = corpus.entries("story", memory_limit=2)
    # Two questions after three sentences in the first story and one in the third stand alone.
    assert sorted((entries.end - entries.start).tolist()) == [1, 1, 2, 2, 2, 2]
    assert sorted(entries.questions_per_entry.tolist()) == [1, 1, 1, 1, 1, 1]
    assert (entries.end - entries.start).max() == 2


@pytest.mark.parametrize("draw", ["story", "question"])
@pytest.mark.parametrize("limit", [None, 2])
def test_supporting_facts_are_rows_of_the_batch(
    corpus: Corpus, stories: list[Story], draw: Draw, limit: int | None
) -> None:
    asked = [(story, question) for story in stories for question in story.questions]
    entries = corpus.entries(draw, limit)
    order = np.arange(len(entries))[::-1]
    batch = entries.batch(order)
    assert batch.supports is not None
    for number, facts in zip(entries.questions_of(order), batch.supports.tolist(), strict=True):
        story, question = asked[number]
        first = max(question.after - limit, 0) if limit else 0
        named = [story.sentences[fact] for fact in question.supports if fact >= first]
        rows = [row for row in facts if row >= 0]
        vocab = Vocab.build(story_words(stories))
        words = Corpus.encode([Story(tuple(named), ())], vocab, batch.words.shape[1]).words
        assert batch.words[rows].tolist() == words.tolist()


def test_facts_that_are_not_read_are_no_rows() -> None:
    """Whoever writes a file may name a sentence that comes after the question."""
    story = Story(("A b.", "C d."), (Question(1, "A?", "b", (0, 1)), Question(1, "A?", "b")))
    corpus = Corpus.encode([story], Vocab.build(story_words([story])))
    batch = corpus.entries().batch(np.array([0]))
    assert batch.supports is not None
    assert batch.supports.tolist() == [[0, -1], [-1, -1]]


def test_sentences_beyond_the_last_question_are_not_read() -> None:
    story = Story(("A b.", "C d.", "E f."), (Question(1, "G?", "h"),))
    corpus = Corpus.encode([story], Vocab.build(story_words([story])))
    assert corpus.entries().batch(np.array([0])).sentences == 1


def test_groups_and_views_equal_single_batches(corpus: Corpus) -> None:
    entries = corpus.entries()
    groups = entries.groups(2, np.array([1, 2, 0]))
    assert [group.tolist() for group in groups] == [[1, 2], [0]]
    for group, view in zip(groups, entries.batches(groups), strict=True):
        single = entries.batch(group)
        for name, value in single.__dict__.items():
            if value is not None:
                assert torch.equal(getattr(view, name), value), name
    assert list(entries.batches([])) == []


def test_groups_count_questions_or_stories(corpus: Corpus) -> None:
    entries = corpus.entries()
    order = np.array([1, 2, 0])
    assert entries.questions_per_entry.tolist() == [3, 1, 2]
    assert [group.tolist() for group in entries.groups(3, order)] == [[1, 2], [0]]
    by_story = entries.groups(2, order, of="stories")
    assert [group.tolist() for group in by_story] == [[1, 2], [0]]
    assert [group.tolist() for group in entries.groups(3, order, of="stories")] == [[1, 2, 0]]


def test_unknown_words_are_named_and_read_as_null(stories: list[Story]) -> None:
    vocab = Vocab.build(story_words(stories))
    odd = Story(("Mary tickled the unicorn.",), (Question(1, "Where is Mary?", "narnia"),))
    corpus = Corpus.encode([odd], vocab, 5)
    assert corpus.unknown_words == ["tickled", "unicorn", "narnia"]
    assert corpus.unknown_answers.tolist() == [True]
    assert corpus.words[0].tolist() == [vocab.index["mary"], 0, vocab.index["the"], 0, 0]


def test_too_long_a_sentence_is_named(stories: list[Story]) -> None:
    with pytest.raises(ValueError, match=r"5 words.*at most 4.*Mary went to the garden"):
        Corpus.encode(stories, Vocab.build(story_words(stories)), 4)


def test_longest_sentence(stories: list[Story]) -> None:
    assert longest_sentence(stories) == 5
