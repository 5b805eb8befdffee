"""A tracker that is told new names answers with them, and says what it took them for and cannot know."""

from __future__ import annotations

import json

import pytest
import torch

from entnet import Tracker
from entnet.tracker import SnapshotError, TextError

STORY = "Alice picked up the lantern there. Bob went to the attic. Alice went to the cellar."


def tracker() -> Tracker:
    return Tracker.from_pretrained("babi-qa2")


def test_answers_come_back_in_the_storys_names() -> None:
    told = tracker()
    first = told.read(STORY)[0]
    assert [(bound.word, bound.kind) for bound in first.bound] == [
        ("alice", "person"),
        ("lantern", "thing"),
    ]
    assert first.unknown == ()
    answer = told.ask("Where is the lantern?")
    assert answer.answer == "cellar"
    assert answer.known


def test_other_names_change_nothing_but_names() -> None:
    one, other = tracker(), tracker()
    one.read(STORY)
    other.read(STORY.replace("Alice", "Zoe").replace("cellar", "tower").replace("lantern", "ring"))
    was, now = one.ask("Where is the lantern?"), other.ask("Where is the ring?")
    assert (was.answer, now.answer) == ("cellar", "tower")
    assert was.probability == now.probability
    assert was.attention == now.attention


def test_what_no_story_tells_is_not_known() -> None:
    told = tracker()
    assert told.ask("Where is the milk?").answer == "unknown"
    told.read(STORY)
    for question in ("Where is the sword?", "What is the capital of France?", "Where is the milk?"):
        answer = told.ask(question)
        assert not answer.known
        assert answer.answer == "unknown"
        assert answer.why_unknown
        assert answer.alternatives


def test_snapshots_and_forks_carry_names() -> None:
    told = tracker()
    told.read(STORY)
    again = tracker()
    again.restore(told.snapshot())
    assert again.ask("Where is the lantern?") == told.ask("Where is the lantern?")
    assert told.fork().ask("Where is the lantern?").answer == "cellar"
    with pytest.raises(SnapshotError, match="names"):
        Tracker.from_pretrained("babi-qa2", bind=False).restore(told.snapshot())


@pytest.mark.parametrize(
    "members",
    [
        '{"alice": "of"}',
        '{"alice": "mary", "carol": "mary"}',
        '{"alice": 1}',
        "[" * 20_000,
        '["alice"]',
    ],
    ids=lambda text: text[:20],
)
def test_made_up_names_are_refused(members: str) -> None:
    told = tracker()
    told.read(STORY)
    content = told.snapshot()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"]["names"] = members
    changed = json.dumps(header).encode()
    changed += b" " * (-len(changed) % 8)
    with pytest.raises(SnapshotError, match="names"):
        tracker().restore(len(changed).to_bytes(8, "little") + changed + content[8 + size :])


def test_without_binding_words_are_read_as_nothing() -> None:
    plain = Tracker.from_pretrained("babi-qa2", bind=False)
    assert plain.read("Alice went to the cellar.")[0].unknown == ("alice", "cellar")
    with pytest.raises(TextError, match="alice"):
        Tracker.from_pretrained("babi-qa2", strict=True).read("Alice went to the cellar.")


def test_a_thousand_names_are_read_and_the_lack_of_room_is_said() -> None:
    told = tracker()
    reads = told.read_sentences([f"Name{i} went to the place{i}." for i in range(1000)])
    assert len(reads[-1].unbound) == 2
    assert "tell apart" in reads[-1].unbound[0].reason


def test_a_longer_sentence_is_read_without_its_unknown_words() -> None:
    told = tracker()
    read = told.read("Mary rather unexpectedly and very very slowly went to the garden.")[0]
    assert "unexpectedly" in read.unknown
    with pytest.raises(TextError, match="too many"):
        told.read("the " * 40)


def test_a_snapshot_keeps_what_stands_beside_later_sentences() -> None:
    tracker = Tracker.from_pretrained("world")
    tracker.read("Mary went to the kitchen. John went to the garden. Mary took the milk.")
    kept = tracker.snapshot()
    other = Tracker.from_pretrained("world")
    other.restore(kept)
    for one in (tracker, other):
        one.read("Then she went to the office.")
    assert other.state.context == tracker.state.context
    assert torch.equal(other.state.memory, tracker.state.memory)
    assert other.ask("Where is the milk?").answer == "office"
    assert other.ask("Where is John?").answer == "garden"


def test_a_snapshot_with_a_context_of_nobody_is_refused() -> None:
    tracker = Tracker.from_pretrained("world")
    tracker.read("Mary went to the kitchen.")
    mary, milk = (tracker.model.vocab.index[word] for word in ("mary", "milk"))
    kept, wrong = (f'"context":"[[{one}]'.encode() for one in (mary, milk))
    snapshot = tracker.snapshot()
    assert snapshot.count(kept) == 1
    assert len(kept) == len(wrong)
    with pytest.raises(SnapshotError, match="context"):
        tracker.restore(snapshot.replace(kept, wrong))
