"""Sessions: bounded in number, size and time, each client within its own, and each for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from entnet import EntNet, EntNetError
from entnet.serve.problems import NoSessionError, StoryFullError
from entnet.serve.sessions import SHORT, Session, SessionStore
from entnet.serve.settings import ServeSettings

Value = TypeVar("Value")
GARDEN = "Mary went to the garden."


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def model(walking_networks: dict[str, Path]) -> EntNet:
    return EntNet.from_pretrained(walking_networks["walks-free"])


def store_of(
    clock: Clock | None = None, ended: list[str] | None = None, **settings: Any
) -> SessionStore:
    log = ended if ended is not None else []
    return SessionStore(
        ServeSettings(session_seconds=60, **settings), clock=clock or Clock(), on_end=log.append
    )


def started(store: SessionStore, model: EntNet, client: str = "") -> Session:
    session = store.create("walks", model, client)
    store.keep(session)
    return session


def now(coroutine: Coroutine[Any, Any, Value]) -> Value:
    return asyncio.run(coroutine)


def answer(session: Session, question: str = "Where is Mary?", after: int | None = None) -> str:
    return now(session.ask(question, after, 0)).answer


def test_the_least_recently_used_goes_first(model: EntNet) -> None:
    ended: list[str] = []
    store = store_of(ended=ended, max_sessions=3)
    first, second, third = (started(store, model) for _ in range(3))
    store.get(first.id)
    fourth = started(store, model)
    assert len(store) == 3
    with pytest.raises(NoSessionError):
        store.get(second.id)
    for session in (first, third, fourth):
        assert store.get(session.id) is session
    assert ended == ["evicted"]


def test_a_client_that_opens_many_loses_its_own(model: EntNet) -> None:
    store = store_of(max_sessions=10, max_sessions_per_client=4)
    others = [started(store, model, name) for name in ("anna", "ben")]
    greedy = [started(store, model, "greedy") for _ in range(50)]
    assert [store.get(session.id) for session in others] == others
    assert [store.get(session.id) for session in greedy[-4:]] == greedy[-4:]
    assert len(store) == 6


def test_where_all_are_too_many_the_greediest_gives_way(model: EntNet) -> None:
    store = store_of(max_sessions=6, max_sessions_per_client=5)
    others = [started(store, model, name) for name in ("anna", "ben")]
    greedy = [started(store, model, "greedy") for _ in range(4)]
    others += [started(store, model, name) for name in ("carl", "dora")]
    assert [store.get(session.id) for session in others] == others
    for gone in greedy[:2]:
        with pytest.raises(NoSessionError):
            store.get(gone.id)
    assert store.get(greedy[-1].id) is greedy[-1]


def test_a_session_has_so_many_characters(model: EntNet) -> None:
    store = store_of(max_session_characters=200)
    session = started(store, model)
    now(session.read(GARDEN))
    with pytest.raises(StoryFullError, match="200 characters"):
        now(session.read("Mary went to the " + "o" * 190 + "."))
    assert session.sentences == [GARDEN]
    assert session.characters == store.characters == len(GARDEN)
    state = session.state()
    with pytest.raises(StoryFullError, match="200 characters"):
        session.restore(state, ["mary " * 50])
    now(session.undo(1))
    assert session.characters == store.characters == 0


def test_all_sessions_have_so_many_characters(model: EntNet) -> None:
    ended: list[str] = []
    store = store_of(ended=ended, max_characters=300)
    small = started(store, model, "anna")
    now(small.read(GARDEN))
    for _ in range(20):
        large = started(store, model, "greedy")
        now(large.read(" ".join([GARDEN] * 6)))
        assert store.characters <= 300
    assert store.get(small.id) is small
    assert store.get(large.id) is large
    assert ended == ["evicted"] * (20 - 1)
    store.delete(large.id)
    now(large.read(GARDEN))  # an ended session counts no more
    assert store.characters == small.characters


def test_idle_sessions_go_by_themselves(model: EntNet) -> None:
    clock = Clock()
    ended: list[str] = []
    store = store_of(clock, ended)
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
    store = store_of()
    ids = {started(store, model).id for _ in range(200)}
    assert len(ids) == 200
    assert all(len(name) >= 24 for name in ids)


def test_deleting_twice_says_so(model: EntNet) -> None:
    store = store_of()
    session = started(store, model)
    store.delete(session.id)
    with pytest.raises(NoSessionError):
        store.delete(session.id)


def test_undo_is_as_if_never_read(model: EntNet) -> None:
    session = started(store_of(), model)
    now(session.read("Mary went to the garden. John moved to the office."))
    before = session.tracker.state.memory
    now(session.read("Mary went to the kitchen. Mary went to the hallway."))
    now(session.undo(2))
    assert session.sentences == ["Mary went to the garden.", "John moved to the office."]
    assert session.tracker.state.memory.equal(before)
    assert answer(session) == "garden"
    with pytest.raises(EntNetError, match="3 sentences to undo"):
        now(session.undo(3))


def test_a_full_session_reads_no_more_and_keeps_what_it_has(model: EntNet) -> None:
    session = started(store_of(max_sentences=3), model)
    now(session.read("Mary went to the garden. John went to the garden."))
    with pytest.raises(StoryFullError, match="at most 3"):
        now(session.read("Mary went to the office. John went to the office."))
    assert len(session.sentences) == 2
    assert answer(session) == "garden"


def test_a_long_text_is_read_whole_or_not_at_all(model: EntNet) -> None:
    """More sentences than are read at once: others are let in between, and a mistake undoes them all."""
    session = started(store_of(), model)
    now(session.read("Mary went to the office."))
    many = [GARDEN] * (3 * SHORT)
    with pytest.raises(EntNetError, match="too many for this network"):
        now(session.read(" ".join(many) + " Mary " + "went " * 60 + "away."))
    assert (answer(session), len(session.sentences)) == ("office", 1)
    now(session.read(" ".join(many)))
    alone = started(store_of(), model).tracker
    alone.read_sentences(["Mary went to the office.", *many])
    assert session.tracker.state.memory.equal(alone.state.memory)
    assert len(session.sentences) == 1 + len(many)


def test_questions_can_be_asked_about_the_past(model: EntNet) -> None:
    session = started(store_of(), model)
    now(session.read("Mary went to the garden. Mary went to the office. Mary went to the kitchen."))
    answers = [answer(session, after=after) for after in (1, 2, 3, None)]
    assert answers == ["garden", "office", "kitchen", "kitchen"]
    with pytest.raises(EntNetError, match="after is 4"):
        answer(session, after=4)
