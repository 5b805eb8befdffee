"""Sentences longer than in training: unneeded words, and several clauses in one sentence."""

from __future__ import annotations

import pytest

from entnet import Tracker
from entnet.tracker import TextError

ADDED = "quickly perhaps slowly old heavy bright, new once surely twice"


@pytest.fixture
def tracker() -> Tracker:
    return Tracker.from_pretrained("babi-qa2")


@pytest.mark.parametrize("count", [1, 3, 6, 10])
def test_words_that_are_added_change_no_answer(tracker: Tracker, count: int) -> None:
    told = ["Mary took the milk there.", "John went to the office.", "Mary went to the garden."]
    for number, sentence in enumerate(told):
        words = sentence.removesuffix(".").split()
        for k in range(count):
            words.insert(1 + (3 * k + number) % (len(words) - 1), ADDED.split()[k])
        assert len(words) > tracker.model.config.longest_sentence or count < 6
        (read,) = tracker.read(" ".join(words) + ".")
        assert len(read.unknown) == count
    plain = tracker.fork()
    plain.reset()
    plain.read(" ".join(told))
    for question in ("Where is the milk?",):
        assert tracker.ask(question) == plain.ask(question)


def test_clauses_are_read_one_by_one(tracker: Tracker) -> None:
    long = "John took the milk there and then Mary journeyed to the kitchen while John went to the garden"
    read = tracker.read(long + ".")
    assert [one.sentence for one in read] == [
        "john took the milk there",
        "and then mary journeyed to the kitchen",
        "while john went to the garden",
    ]
    assert [one.unknown for one in read] == [(), ("and", "then"), ("while",)]
    assert tracker.sentences_read == 3
    assert tracker.ask("Where is the milk?").answer == "garden"


def test_new_names_are_bound_in_clauses(tracker: Tracker) -> None:
    tracker.read(
        "Alice took the lantern there and then Bob journeyed to the cellar while Alice went to the attic."
    )
    assert tracker.names is not None
    assert tracker.names.members.keys() >= {"alice", "bob", "lantern", "cellar", "attic"}
    assert tracker.ask("Where is the lantern?").answer == "attic"


def test_a_sentence_without_any_clause_of_training_is_refused_as_a_whole(tracker: Tracker) -> None:
    before = tracker.state
    for text in ("the to went garden milk the took there office the to", "the milk " * 150):
        with pytest.raises(TextError, match="words are too many for this network"):
            tracker.read(f"Mary went to the garden. {text}.")
    assert tracker.state is before
    assert tracker.sentences_read == 0


def test_without_binding_nothing_is_cut() -> None:
    tracker = Tracker.from_pretrained("babi-qa2", bind=False)
    with pytest.raises(TextError, match="words are too many"):
        tracker.read("John took the milk there and then Mary journeyed to the kitchen.")
