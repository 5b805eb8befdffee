"""Worlds of another size, other words and plain language: still right by the solver."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entnet.data.babi_solvers import solve_story
from entnet.data.babi_tasks import TASKS, Knobs, generate
from entnet.data.story import story_words
from entnet.errors import EntNetError
from entnet.text import tokenise

WORDS = st.lists(
    st.text("abcdefghijklmnopqrtuvwxyz", min_size=4, max_size=8).map(lambda word: f"x{word}"),
    min_size=3,
    max_size=9,
    unique=True,
)


def assert_solved(task: int, knobs: Knobs) -> None:
    for story in generate(task, 30, seed=5, knobs=knobs):
        for solution, question in zip(solve_story(task, story), story.questions, strict=True):
            assert solution.answer == question.answer


def told_words(task: int, noise: bool) -> set[str]:
    stories = generate(task, 500, seed=1, knobs=Knobs(noise=noise))
    return {word for story in stories for text in story.sentences for word in tokenise(text)}


@settings(max_examples=60, deadline=None)
@given(data=st.data(), task=st.sampled_from(sorted(TASKS)), noise=st.booleans())
def test_any_words_make_solvable_stories(data: st.DataObject, task: int, noise: bool) -> None:
    setting = TASKS[task].setting
    words = {
        name: data.draw(WORDS) for name in ("people", "places", "objects") if getattr(setting, name)
    }
    if "people" in words:
        words["people"] = [word.capitalize() for word in words["people"]]
    assert_solved(task, Knobs(**words, noise=noise))


@pytest.mark.parametrize("task", TASKS)
def test_plain_language_has_one_wording_for_each_thing(task: int) -> None:
    plain = told_words(task, noise=False)
    assert plain <= told_words(task, noise=True)
    assert not plain & {"journeyed", "grabbed", "discarded", "handed", "afterwards", "there"}
    assert_solved(task, Knobs(noise=False))


def test_counts_take_in_spare_words_after_the_official_ones() -> None:
    words = story_words(generate(2, 2_000, seed=1, knobs=Knobs(people=6, places=8, objects=5)))
    assert {"mary", "daniel", "julie", "bill"} <= words
    assert {"office", "cinema", "park"} <= words
    assert {"milk", "ball", "book"} <= words
    few = story_words(generate(2, 500, seed=1, knobs=Knobs(people=1, places=2, objects=1)))
    assert "john" not in few
    assert "football" not in few


def test_names_never_seen_replace_the_official_ones() -> None:
    stories = generate(11, 200, seed=1, knobs=Knobs(people=["Zoe", "Max", "Ida"]))
    text = " ".join(sentence for story in stories for sentence in story.sentences)
    assert set(re.findall(r"\b(?:Zoe|Max|Ida|Mary|John)\b", text)) == {"Zoe", "Max", "Ida"}
    # She and he alternate in the list of names.
    for story in stories:
        for first, second in zip(story.sentences[::2], story.sentences[1::2], strict=False):
            assert (" she " in second) == (first.split()[0] in ("Zoe", "Ida"))


def test_stories_can_be_longer() -> None:
    knobs = Knobs(questions_per_story=10, sentences_per_question=4)
    for story in generate(1, 200, seed=1, knobs=knobs):
        assert len(story.questions) == 10
        assert len(story.sentences) == 40


def test_a_day_that_is_over_ends_the_story() -> None:
    knobs = Knobs(people=1, questions_per_story=50)
    for story in generate(14, 60, seed=1, knobs=knobs)[:-1]:
        assert len(story.sentences) == 4
        assert story.questions


@pytest.mark.parametrize(
    ("task", "knobs", "complaint"),
    [
        (4, Knobs(people=3), "task 4 has no people to set; it has places"),
        (1, Knobs(people=["Ann", "ann"]), "a word stands twice"),
        (1, Knobs(places=1), "at least 2 places, not 1"),
        (1, Knobs(people=1000), "names at hand"),
        (1, Knobs(questions_per_story=0), "must be at least 1"),
        (19, Knobs(places=12), "room for 11 places"),
    ],
)
def test_impossible_knobs_are_named(task: int, knobs: Knobs, complaint: str) -> None:
    with pytest.raises(EntNetError, match=complaint):
        generate(task, 10, seed=1, knobs=knobs)
