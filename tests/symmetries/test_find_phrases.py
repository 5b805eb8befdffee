"""Phrases: which words stand for one thing together, and what they are interchangeable with."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from entnet import Question, Story, Symmetries, find_symmetries
from entnet.data.babi import file_name, read_babi
from entnet.symmetries.phrases import Phrases, find_phrases
from entnet.symmetries.verify import permute_story
from entnet.text import tokenise
from symmetries.oracle import false_swaps


def phrases_of(texts: list[str], *groups: list[str]) -> set[str]:
    return set(find_phrases([tokenise(text) for text in texts] * 40, groups).whole)


def test_words_that_only_stand_together_are_a_phrase() -> None:
    texts = ["the pink tin is here", "a pink tin fell", "the box is here", "a box fell"]
    assert "pink tin" in phrases_of(texts)


def test_several_first_and_second_words_make_phrases_unless_they_are_of_a_kind() -> None:
    texts = [
        f"the {colour} {thing} is near" for colour in ("red", "blue") for thing in ("cup", "jar")
    ]
    texts += ["the ladder is near", "near the ladder is a pot", "is it near"]
    assert {"red cup", "blue cup", "red jar", "blue jar"} <= phrases_of(texts)
    assert not phrases_of(texts, ["red", "blue"]) & {"red cup", "blue cup"}


def test_what_stands_where_a_word_stands_is_a_phrase() -> None:
    texts = ["the box fits in the chest", "the box of nails fits in the chest"]
    texts += ["the chest fits in the box", "the chest fits in the box of nails"]
    assert "box of nails" in phrases_of(texts)


def test_rare_phrases_are_none() -> None:
    assert find_phrases([tokenise("the pink tin is here")] * 5).whole == frozenset()


def test_the_longest_phrase_wins() -> None:
    phrases = Phrases(frozenset({"a b", "b c d"}))
    assert phrases.join(["a", "b", "c", "d"]) == ["a b", "c", "d"]
    assert phrases.join(["x", "b", "c", "d"]) == ["x", "b c d"]


@pytest.mark.parametrize(
    ("task", "group"),
    [
        (1, ("journeyed", "moved", "travelled", "went", "went back")),
        (9, ("no longer", "not")),
        (
            17,
            (
                "blue square",
                "pink rectangle",
                "red sphere",
                "red square",
                "triangle",
                "yellow square",
            ),
        ),
        (18, ("box", "chest", "container", "suitcase")),
    ],
)
def test_phrases_of_the_official_stories(
    official_data: Path, task: int, group: tuple[str, ...]
) -> None:
    stories = read_babi(official_data / "babi" / "en" / file_name(task, "train"))
    found = find_symmetries(stories)
    assert group in found.phrase_groups
    assert false_swaps(task, stories[:100], found) == []
    assert Symmetries.from_json(found.to_json()).to_json() == found.to_json()


def test_a_box_of_nails_is_no_box() -> None:
    """Where only a box can hold things, a box and a tin change places, a box of nails stays what it is."""
    generator = random.Random(0)
    stories = []
    for _ in range(400):
        one, other = generator.sample(["box", "tin", "crate"], 2)
        stories.append(
            Story(
                (f"The box of nails is in the {one}.", f"The rope is in the {other}."),
                (Question(2, "Where is the rope?", other),),
            )
        )
    found = find_symmetries(stories)
    assert found.groups == (("crate", "tin"),)
    assert found.phrase_groups == (("box", "crate", "tin"),)
    swap = next(swap for swap in found.phrase_swaps if set(swap.mapping) == {"box", "tin"})
    permuted = permute_story(stories[0], swap.mapping, found.phrases)
    assert "box of nails" in permuted.sentences[0]
