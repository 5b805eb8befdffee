"""New names: bound by their places, never two to one word, the same whatever they are called."""

from __future__ import annotations

import random
from functools import cache
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entnet import Story
from entnet.binding import Kind, Names, Places, bind_story
from entnet.data.babi_tasks import generate
from entnet.data.babi_tasks.task import OBJECTS, PEOPLE, PLACES
from entnet.data.story import story_words
from entnet.text import tokenise

STORIES = generate(2, 1500, seed=1) + generate(1, 300, seed=1)
KNOWN = story_words(STORIES)
KINDS = (
    Kind("person", tuple(name.lower() for name in PEOPLE)),
    Kind("place", PLACES),
    Kind("thing", OBJECTS),
)


@cache
def places() -> Places:
    return Places.learn(STORIES, KINDS)


def read(*sentences: str, names: Names | None = None) -> tuple[Names, list[str]]:
    """Sentences read one after the other, and the last one's words."""
    names, words = names or Names(places()), []
    for sentence in sentences:
        names, words, *_ = names.read(tokenise(sentence), KNOWN)
    return names, words


NEW = st.text(alphabet="bcdfgklmnprstvz", min_size=3, max_size=8).filter(lambda w: w not in KNOWN)


@st.composite
def castings(draw: st.DrawFn) -> tuple[Story, dict[str, str], dict[str, str]]:
    """A story of task 2, and two castings of all its names with new ones."""
    story = draw(st.sampled_from(STORIES))
    words = sorted(story_words([story]) & {word for kind in KINDS for word in kind.members})
    names = draw(
        st.lists(NEW, min_size=2 * len(words), max_size=2 * len(words), unique=True),
    )
    first, second = names[: len(words)], names[len(words) :]
    return story, dict(zip(words, first, strict=True)), dict(zip(words, second, strict=True))


def renamed(story: Story, names: dict[str, str]) -> Story:
    def said(text: str) -> str:
        return " ".join(names.get(word, word) for word in tokenise(text))

    questions = tuple(
        type(asked)(asked.after, said(asked.text), said(asked.answer)) for asked in story.questions
    )
    return Story(tuple(map(said, story.sentences)), questions)


@given(castings())
def test_what_names_are_called_changes_nothing(
    casting: tuple[Story, dict[str, str], dict[str, str]],
):
    story, one, other = casting
    read_one = bind_story(places(), renamed(story, one), KNOWN)
    assert read_one == bind_story(places(), renamed(story, other), KNOWN)
    assert story_words([read_one]) <= KNOWN


@given(castings())
def test_two_names_never_share_a_word(casting: tuple[Story, dict[str, str], dict[str, str]]):
    story, cast, _ = casting
    names = Names(places())
    for sentence in (
        *renamed(story, cast).sentences,
        *story.sentences,
    ):  # new names, then known ones
        names = names.read(tokenise(sentence), KNOWN).names
        assert len(set(names.members.values())) == len(names.members)
        for name, member in names.members.items():
            assert names.told(member) == name


@given(st.data())
def test_what_a_word_is_does_not_depend_on_which_is_looked_at_first(data: st.DataObject) -> None:
    told = data.draw(st.permutations(["brak travelled to the dorv.", "zim moved to the fep."]))
    kinds = {}
    names = Names(places())
    for sentence in told:
        names, _, new, *_ = names.read(tokenise(sentence), KNOWN)
        kinds |= {bound.word: bound.kind for bound in new}
    assert kinds == {"brak": "person", "dorv": "place", "zim": "person", "fep": "place"}


@given(castings(), st.randoms(use_true_random=False))
def test_the_short_way_reads_as_the_long_one(
    casting: tuple[Story, dict[str, str], dict[str, str]], dice: random.Random
) -> None:
    """Sentences without news are read without looking for any: that must change nothing."""
    story, first, second = casting
    told = [*renamed(story, first).sentences, *story.sentences, *renamed(story, second).sentences]
    names, short_ways = Names(places()), 0
    for sentence in dice.choices(told, k=40):
        words = tokenise(sentence)
        got = names.read(words, KNOWN)
        short_ways += names._nothing_new(words, KNOWN)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Names, "_nothing_new", lambda *_: False)
            assert names.read(words, KNOWN) == got
        names = got.names
    assert short_ways > 0


def test_a_name_that_is_unclear_waits_for_a_clear_place() -> None:
    names, _, new, unbound, _ = Names(places()).read(tokenise("the lantern"), KNOWN)
    assert not new
    assert "a place or a thing" in unbound[0].reason
    _, _, new, *_ = names.read(tokenise("alice picked up the lantern there"), KNOWN)
    assert [(bound.word, bound.kind) for bound in new] == [
        ("alice", "person"),
        ("lantern", "thing"),
    ]


def test_a_known_name_gives_way_to_the_one_that_stands_for_it() -> None:
    names, words = read("Alice went to the cellar.", "Mary went to the garden.")
    assert names.members["alice"] == "mary"
    assert names.members["mary"] != "mary"
    assert words == [names.members["mary"], "went", "to", "the", "garden"]
    assert names.told(names.members["mary"]) == "mary"


def test_no_room_is_said_and_the_word_read_as_nothing() -> None:
    names, _ = read(*(f"{name} went to the garden." for name in ("al", "bo", "cy", "di")))
    _, words, new, unbound, _ = names.read(tokenise("ed went to the garden"), KNOWN)
    assert words[0] == "ed"
    assert not new
    assert unbound[0].word == "ed"
    assert "4" in unbound[0].reason


def test_words_that_are_no_names_are_left_alone() -> None:
    for sentence in ("Alice strolled to the garden.", "Quickly Mary went home.", "Mary gave up."):
        _, _, new, *_ = Names(places()).read(tokenise(sentence), KNOWN)
        assert not {bound.word for bound in new} & {"strolled", "quickly", "home", "gave", "up"}


@pytest.mark.parametrize("text", ["🦊 went to the 🌋.", "x" * 20_000, "a " * 10_000, "| _ #0 ,"])
def test_odd_texts_are_read_without_harm(text: str) -> None:
    names, words = read(text, "Mary went to the garden.")
    assert words[1:] == ["went", "to", "the", "garden"]
    assert len(set(names.members.values())) == len(names.members)


def test_emoji_are_names_like_others() -> None:
    names, words = read("🦊 went to the 🌋.")
    assert words[0] in KINDS[0].members
    assert words[-1] in PLACES
    assert names.told(words[-1]) == "🌋"


def test_lists_are_told_part_by_part() -> None:
    names, _ = read("Alice took the lantern there.", "Alice took the rope there.")
    both = f"{names.members['rope']},{names.members['lantern']}"
    assert names.told(both) == "rope,lantern"


def test_questions_that_no_story_answers_are_seen() -> None:
    names, _ = read("Alice took the lantern there.")
    assert names.why_unknown(tokenise("Where is the lantern?"), KNOWN) is None
    assert "sword" in (names.why_unknown(tokenise("Where is the sword?"), KNOWN) or "")
    assert "milk" in (names.why_unknown(tokenise("Where is the milk?"), KNOWN) or "")
    assert names.why_unknown(tokenise("What is the capital of France?"), KNOWN)


def test_places_go_to_json_and_back() -> None:
    assert Places.from_json(places().to_json()) == places()


def test_in_a_very_long_sentence_nothing_is_bound() -> None:
    """What one name is may tell of the next, and so on: thousands of them took half a minute."""
    names = ["".join(letters) for letters in product("bcdfgklmnprstvz", repeat=3)]
    for count, bound in ((10, 1), (3000, 0)):
        words = [word for name in names[:count] for word in (name, "and")]
        assert len(Names(places()).read(["alice", "went", "to", *words], KNOWN).new) == bound


def test_new_words_are_left_out_where_the_rest_is_a_sentence_of_training() -> None:
    plain = read("mary went to the kitchen")[1]
    for told in (
        "mary quickly went to the kitchen",
        "one day mary went gladly to the old kitchen all alone and in good spirits",
    ):
        got = Names(places()).read(tokenise(told), KNOWN)
        assert got.words == plain
        assert [w for w in tokenise(told) if w in plain] == plain
        assert list(got.left_out) == [w for w in tokenise(told) if w not in plain]
    # So is one with new names, where there is but one way to read it.
    names, words = read("alice went happily to the bright cellar")
    assert words[:3] == [names.members["alice"], "went", "happily"]  # bright or cellar?
    names, words = read("alice went happily to the cellar")
    assert words == [names.members["alice"], "went", "to", "the", names.members["cellar"]]
    # A new verb is no word more: without it, nobody would have said so.
    assert read("mary scampered to the kitchen")[1] == ["mary", "scampered", "to", "the", "kitchen"]


def test_a_pronoun_becomes_that_of_the_word_that_a_name_stands_for() -> None:
    """In task 11 she is Mary or Sandra, and a network may have learned that."""
    stories = generate(11, 600, seed=1)
    learned = Places.learn(stories, KINDS[:2])
    assert learned.pronouns == {"she": ("mary", "sandra"), "he": ("daniel", "john")}
    assert Places.from_json(learned.to_json()) == learned
    known = story_words(stories)
    told = ("Alice went to the garden.", "Then she went to the office.")
    for pronoun in ("she", "he"):
        cast = {"alice": "zed"} if pronoun == "he" else {}
        names, read = Names(learned), []
        for text in told:
            words = [cast.get(w, pronoun if w == "she" else w) for w in tokenise(text)]
            names, read, *_ = names.read(words, known)
        (member,) = set(names.members.values()) & set(KINDS[0].members)
        assert member in learned.pronouns[read[1]]
    # Of names that the network knows, nothing is changed.
    names, _, *_ = Names(learned).read(tokenise("john went to the garden"), known)
    assert names.read(tokenise("then she went to the office"), known).words[1] == "she"


def test_a_question_may_name_what_the_story_did_not() -> None:
    stories = generate(9, 600, seed=1)
    known = story_words(stories)
    names = Names(Places.learn(stories, KINDS[:2]))
    names = names.read(tokenise("zed went to the garden"), known).names
    asked = names.asked(tokenise("is zed in the brewery"), known)
    place = asked[-1]
    assert asked[:1] == ["is"]
    assert place in KINDS[1].members
    assert place != "garden"
    assert names.why_unknown(tokenise("is zed in the brewery"), known) is None
    assert names.why_unknown(tokenise("is bob in the garden"), known) == "'bob' is not in the story"
    assert "brewery" not in names.members
