"""Symmetries found in stories, judged by the rule solvers and by how the stories were made."""

from __future__ import annotations

from pathlib import Path

import pytest

from entnet import Question, Story, find_symmetries
from entnet.data.babi import TASK_NAMES, file_name, read_babi
from entnet.symmetries import TooLittleError, telling
from symmetries.depots import DEPOTS, PARCELS, VANS, depot_stories
from symmetries.judge import judge, training_stories
from symmetries.lending import BOOKS, FRIENDS, TOOLS, lending_stories
from symmetries.oracle import found_pairs, is_true, wanted_pairs


@pytest.mark.parametrize("task", TASK_NAMES)
def test_no_false_symmetry_in_official_stories(official_data: Path, task: int) -> None:
    judged = judge(task, read_babi(official_data / "babi" / "en" / file_name(task, "train")))
    assert judged.false == []
    assert judged.found.groups


@pytest.mark.slow
@pytest.mark.parametrize("task", [16, 18])
def test_large_files_too(official_data: Path, task: int) -> None:
    """Those that are soon read; `python tests/symmetries/judge.py en-10k` judges all, in minutes."""
    judged = judge(task, training_stories("en-10k", task, official_data))
    assert judged.false == []
    assert judged.missed == []


@pytest.mark.parametrize("task", [1, 4, 11, 19])
def test_hand_written_groups_are_found(official_data: Path, task: int) -> None:
    stories = read_babi(official_data / "babi" / "en-10k" / file_name(task, "train"))[:1500]
    assert wanted_pairs(task, stories) <= found_pairs(find_symmetries(stories))


def test_compass_turns_with_its_letters(official_data: Path) -> None:
    stories = read_babi(official_data / "babi" / "en" / file_name(19, "train"))
    found = find_symmetries(stories)
    swaps = [swap.mapping for swap in found.swaps]
    mirror = {"north": "south", "south": "north", "n": "s", "s": "n"}
    assert mirror in swaps
    assert any(mapping.get("north") in {"east", "west"} for mapping in swaps)
    assert not any({"n", "s"} == set(mapping) for mapping in swaps)


def test_men_and_women_only_change_places_with_their_pronouns(official_data: Path) -> None:
    stories = read_babi(official_data / "babi" / "en" / file_name(11, "train"))
    found = find_symmetries(stories)
    assert ("daniel", "john") in found.groups
    assert ("mary", "sandra") in found.groups
    across = [swap.mapping for swap in found.swaps if "he" in swap.mapping]
    assert across
    assert all(mapping["he"] == "she" and len(mapping) == 6 for mapping in across)


def test_oracle_refutes_what_is_false(official_data: Path) -> None:
    stories = read_babi(official_data / "babi" / "en" / file_name(19, "train"))[:50]
    assert not is_true(19, stories, {"north": "south", "south": "north"})
    assert is_true(19, stories, {"north": "south", "south": "north", "n": "s", "s": "n"})


def test_depots_parcels_and_vans_of_an_own_domain() -> None:
    found = find_symmetries(depot_stories(300))
    assert tuple(DEPOTS) in found.groups
    assert tuple(PARCELS) in found.groups
    assert tuple(VANS) in found.groups
    assert found.joint == ()


def test_friends_books_and_tools_of_an_own_domain() -> None:
    found = find_symmetries(lending_stories(300))
    assert {tuple(FRIENDS), tuple(BOOKS), tuple(TOOLS)} <= set(found.groups)
    assert not frozenset(("lends", "borrows")) & frozenset().union(*found_pairs(found))


def test_of_a_large_file_all_parts_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "MOST_SENTENCES", 4_000)
    found = find_symmetries([*depot_stories(600), *lending_stories(600)])
    assert {tuple(DEPOTS), tuple(FRIENDS)} <= set(found.groups)


def test_yes_and_no_are_never_interchangeable() -> None:
    stories = [
        Story(
            (f"The {one} is here.", f"The {other} is gone."),
            (Question(2, f"Is the {asked} here?", "yes" if asked == one else "no"),),
        )
        for one, other in [("cat", "dog"), ("dog", "cat")]
        for asked in ("cat", "dog")
    ] * 50
    found = found_pairs(find_symmetries(stories))
    assert frozenset(("cat", "dog")) in found
    assert frozenset(("yes", "no")) not in found


def test_too_few_stories_and_no_questions_are_said_in_one_line() -> None:
    with pytest.raises(TooLittleError, match="too few to tell"):
        find_symmetries(depot_stories(5))
    untold = [Story(story.sentences, ()) for story in depot_stories(100)]
    with pytest.raises(TooLittleError, match="no questions"):
        find_symmetries(untold)


def test_words_that_never_vary_have_no_symmetry() -> None:
    story = Story(("The cat sleeps.",), (Question(1, "Who sleeps?", "cat"),))
    found = find_symmetries([story] * 100)
    assert found.groups == found.joint == ()


def test_a_scoring_function_refuses_what_it_knows_to_be_false() -> None:
    stories = depot_stories(300)

    def score(told: list[Story]) -> list[float]:
        return [float("crate" in story.questions[0].text) for story in told]

    def even(told: list[Story]) -> list[float]:
        return [0.5 for _ in told]

    assert tuple(PARCELS) in find_symmetries(stories, even, stories).groups
    biased = [story for story in stories if "crate" not in story.questions[0].text]
    found = found_pairs(find_symmetries(stories, score, biased))
    assert frozenset(("barrel", "crate")) not in found
    assert frozenset(("barrel", "sack")) in found
