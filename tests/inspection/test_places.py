"""True places from the text, and how many slots name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from entnet import EntNet, EntNetError, read_babi
from entnet.data.sources import require_babi
from entnet.inspection.places import measure_places, true_places
from entnet.inspection.trace import EXAMPLE
from entnet.text import answer_token
from small_networks import make_stories


def test_things_go_where_they_are_carried() -> None:
    places = true_places(EXAMPLE.sentences)
    assert places.people == {
        "john": "kitchen", "sandra": "hallway", "mary": "garden", "daniel": "hallway",
    }  # fmt: skip
    assert places.things == {"milk": "garden", "football": "hallway"}


def test_a_thing_taken_by_somebody_nowhere_is_nowhere() -> None:
    assert true_places(["Mary got the milk there."]).things == {}
    taken = true_places(["Mary went to the office.", "Mary got the milk there."])
    assert taken.things == {"milk": "office"}
    assert not taken.carried
    assert true_places(["Mary got the milk.", "Mary went back to the office."]).things == {
        "milk": "office"
    }
    assert true_places(
        ["Mary went to the office.", "Mary took the milk.", "Mary left the milk there.",
         "Mary journeyed to the garden."]
    ).things == {"milk": "office"}  # fmt: skip


def test_other_sentences_are_refused() -> None:
    with pytest.raises(EntNetError, match="Lily is a frog"):
        true_places(["Lily is a frog."])


def test_derived_places_answer_every_official_question(official_data: Path) -> None:
    """The truth that slots are held against is right: it answers all questions of the test file."""
    path = official_data / "babi" / "en-10k" / "qa2_two-supporting-facts_test.txt"
    asked = 0
    for story in read_babi(path):
        for question in story.questions:
            thing = question.text.rstrip("? ").split()[-1]
            places = true_places(story.sentences[: question.after])
            assert places.things[thing] == answer_token(question.answer)
            asked += 1
    assert asked == 1000


def test_a_trained_networks_slots_name_the_places(walking_networks: dict[str, Path]) -> None:
    tied = EntNet.from_pretrained(walking_networks["walks-tied"])
    score = measure_places(tied, make_stories(100, seed=11))
    assert score.stories == 100
    assert score.people > 200
    assert score.things == 0
    assert score.share == score.people_right / score.people > 0.95
    assert score.to_dict()["share"] == score.share


def test_an_untrained_network_does_not(walking_networks: dict[str, Path]) -> None:
    tied = EntNet.from_pretrained(walking_networks["walks-tied"])
    fresh = EntNet(tied.config, tied.vocab).eval()
    assert measure_places(fresh, make_stories(100, seed=11)).share < 0.5


def test_free_keys_have_no_names_to_measure(walking_networks: dict[str, Path]) -> None:
    free = EntNet.from_pretrained(walking_networks["walks-free"])
    with pytest.raises(EntNetError, match="tied"):
        measure_places(free, make_stories(1, seed=1))


def test_slots_of_the_shipped_network_name_every_place_of_the_papers_story() -> None:
    score = measure_places(EntNet.from_pretrained("babi-qa2-tied"), [EXAMPLE])
    assert (score.people, score.things) == (4, 2)
    assert (score.people_right, score.things_right) == (4, 2)


def test_slots_of_the_shipped_network_name_the_places_of_official_stories(
    official_data: Path,
) -> None:
    stories = read_babi(require_babi("en-10k", 2, "test", official_data))[:200]
    score = measure_places(EntNet.from_pretrained("babi-qa2-tied"), stories)
    assert score.people_right / score.people > 0.98
    assert score.carried_right / score.carried > 0.98
    assert score.share > 0.9
