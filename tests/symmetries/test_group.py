"""Permutations and the groups that they make."""

from __future__ import annotations

import pytest

from entnet.symmetries.group import Swap, complete_groups, compose, orbits, side_by_side
from entnet.symmetries.verify import permute_story, permute_text
from symmetries.depots import depot_stories


def test_a_swap_undoes_itself() -> None:
    mapping = Swap(("north", "n"), ("south", "s")).mapping
    assert compose(mapping, mapping) == {}
    assert mapping["n"] == "s"


def test_two_reflections_make_a_quarter_turn() -> None:
    mirror = Swap(("north",), ("south",)).mapping
    diagonal = Swap(("north", "south"), ("east", "west")).mapping
    turn = compose(mirror, diagonal)
    assert compose(compose(turn, turn), compose(turn, turn)) == {}
    assert compose(turn, turn) == {
        "north": "south",
        "south": "north",
        "east": "west",
        "west": "east",
    }


def test_words_are_moved_once() -> None:
    with pytest.raises(ValueError, match="different words"):
        Swap(("a", "b"), ("b", "c"))


def test_orbits_join_what_is_carried() -> None:
    mappings = [Swap(("a",), ("b",)).mapping, Swap(("c",), ("d",)).mapping, {"b": "e", "e": "b"}]
    assert set(orbits(mappings)) == {frozenset("abe"), frozenset("cd")}


def test_a_refused_pair_keeps_groups_apart() -> None:
    pairs = {frozenset("ab"): 1.0, frozenset("bc"): 2.0}
    assert complete_groups(pairs) == [("a", "b")]
    assert complete_groups({**pairs, frozenset("ac"): 3.0}) == [("a", "b", "c")]


def test_words_spelled_alike_stand_on_one_side() -> None:
    swap = side_by_side([("north", "south"), ("s", "n")])
    assert swap == Swap(("north", "n"), ("south", "s"))


def test_permuted_text_keeps_capitals_and_punctuation() -> None:
    assert permute_text("North of (mary), is it?", {"north": "east", "mary": "john"}) == (
        "East of (john), is it?"
    )


def test_a_permuted_story_comes_back() -> None:
    mapping = Swap(("crate", "market"), ("sack", "quarry")).mapping
    for story in depot_stories(20):
        assert permute_story(permute_story(story, mapping), mapping) == story
