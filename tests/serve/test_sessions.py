"""Sessions: bounded in number and in time, and each for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from entnet import EntNet, EntNetError
from entnet.serve.problems import NoSessionError, StoryFullError
from entnet.serve.sessions import Session, SessionStore


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def model(walking_networks: dict[str, Path]) -> EntNet:
    return EntNet.from_pretrained(walking_networks["walks-free"])


def started(store: SessionStore, model: EntNet) -> Session:
    session = store.create("walks", model)
    store.keep(session)
    return session


def test_the_least_recently_used_goes_first(model: EntNet) -> None:
    ended: list[str] = []
    store = SessionStore(3, 60, 10, Clock(), ended.append)
    first, second, third = (started(store, model) for _ in range(3))
    store.get(first.id)
    fourth = started(store, model)
    assert len(store) == 3
    with pytest.raises(NoSessionError):
        store.get(second.id)
    for session in (first, third, fourth):
        assert store.get(session.id) is session
    assert ended == ["evicted"]


def test_idle_sessions_go_by_themselves(model: EntNet) -> None:
    clock = Clock()
    ended: list[str] = []
    store = SessionStore(10, 60, 10, clock, ended.append)
    idle, used = started(store, model), started(store, model)
    clock.now += 40
    store.get(used.id)
    clock.now += 40
    with pytest.raises(NoSessionError):
        store.get(idle.id)
    assert store.get(used.id) is used
    assert len(store) == 1
    assert ended == ["expired"]


def test_ids_cannot_be_guessed(model: EntNet) -> None:
    store = SessionStore(1000, 60, 10)
    ids = {started(store, model).id for _ in range(200)}
    assert len(ids) == 200
    assert all(len(name) >= 24 for name in ids)


def test_deleting_twice_says_so(model: EntNet) -> None:
    store = SessionStore(10, 60, 10)
    session = started(store, model)
    store.delete(session.id)
    with pytest.raises(NoSessionError):
        store.delete(session.id)


def test_undo_is_as_if_never_read(model: EntNet) -> None:
    session = Session("x", "walks", SessionStore(1, 1, 10).create("walks", model).tracker, 10)
    session.read("Mary went to the garden. John moved to the office.")
    before = session.tracker.state.memory
    session.read("Mary went to the kitchen. Mary went to the hallway.")
    session.undo(2)
    assert session.sentences == ["Mary went to the garden.", "John moved to the office."]
    assert session.tracker.state.memory.equal(before)
    assert session.ask("Where is Mary?", after=None, alternatives=0).answer == "garden"
    with pytest.raises(EntNetError, match="3 sentences to undo"):
        session.undo(3)


def test_a_full_session_reads_no_more_and_keeps_what_it_has(model: EntNet) -> None:
    store = SessionStore(1, 60, 3)
    session = started(store, model)
    session.read("Mary went to the garden. John went to the garden.")
    with pytest.raises(StoryFullError, match="at most 3"):
        session.read("Mary went to the office. John went to the office.")
    assert len(session.sentences) == 2
    assert session.ask("Where is Mary?", None, 0).answer == "garden"


def test_questions_can_be_asked_about_the_past(model: EntNet) -> None:
    session = started(SessionStore(1, 60, 10), model)
    session.read("Mary went to the garden. Mary went to the office. Mary went to the kitchen.")
    answers = [session.ask("Where is Mary?", after, 0).answer for after in (1, 2, 3, None)]
    assert answers == ["garden", "office", "kitchen", "kitchen"]
    with pytest.raises(EntNetError, match="after is 4"):
        session.ask("Where is Mary?", 4, 0)
