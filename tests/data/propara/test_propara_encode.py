"""Words, mentions, candidate places, and what training knows of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from propara_grids import ICE, TEA

from entnet.data.propara.encode import Places, build_vocab, collate, encode, tags_of
from entnet.data.propara.files import read_grids
from entnet.data.propara.generate import generate_processes
from entnet.data.propara.process import NOWHERE, UNKNOWN
from entnet.data.propara.spans import (
    Span,
    candidate_places,
    key_of,
    mentions,
    paragraph_words,
    split_words,
)
from entnet.data.propara.vectors import read_vectors


def test_words_and_keys() -> None:
    assert split_words("Earth’s crust, finally.") == ["earth", "'s", "crust", ",", "finally", "."]
    assert key_of(split_words("the oceans")) == key_of(["ocean"])
    assert key_of(["leaves"]) == key_of(["leaf"])


def test_mentions_are_in_full_or_of_the_last_word() -> None:
    words = paragraph_words(TEA)
    assert mentions("tea leaves; leaves", words) == [Span(2, 1, 2)]
    assert mentions("hot water", words) == [Span(0, 4, 5), Span(1, 1, 2), Span(2, 4, 5)]


def test_candidates_are_phrases_once_each() -> None:
    words = [
        split_words("It sinks to the bottom of the ocean."),
        split_words("The Oceans are deep."),
    ]
    found = {one.text: one.spans for one in candidate_places(words)}
    assert "bottom of the ocean" in found
    assert found["ocean"] == [Span(0, 7, 8), Span(1, 1, 2)]
    assert not {"to", "the bottom", "of the ocean"} & found.keys()


def test_most_gold_places_are_candidates(official_data: Path) -> None:
    dev = read_grids(official_data / "propara" / "grids.v1.dev.json")
    found = places = 0
    for process in dev:
        keys = {one.key for one in candidate_places(paragraph_words(process))}
        gold = [s for row in process.states for s in row if s not in (NOWHERE, UNKNOWN)]
        found += sum(key_of(split_words(state)) in keys for state in gold)
        places += len(gold)
    assert found / places > 0.94


def test_what_is_to_be_learnt() -> None:
    assert tags_of(("-", "-", "cup", "garden", "-", "-")) == [
        *("not yet", "CREATE", "MOVE", "DESTROY", "no more"),
    ]
    paragraph = encode(TEA, build_vocab([TEA], at_least=1))
    places = paragraph.arrays["places"].tolist()
    said = [paragraph.candidates[place] if place >= 0 else None for place in places]
    assert said == ["kettle", "cup", None, None, "?", "?", "?", "?", None, None, "cup", "garden"]
    first = paragraph.arrays["first_places"].tolist()
    assert [paragraph.candidates[place] if place >= 0 else None for place in first] == [
        "kettle", "?", None,
    ]  # fmt: skip


def test_rows_of_a_batch() -> None:
    vocab = build_vocab([TEA, ICE], at_least=1)
    batch = collate([encode(TEA, vocab), encode(ICE, vocab)])
    assert (batch.sentences, batch.participants, batch.questions) == (6, 5, 16)
    assert batch.participant_offsets.tolist() == [0, 4, 8, 12, 14, 16]
    assert batch.row_sentence.tolist() == [0, 1, 2, 3] * 3 + [4, 5] * 2
    assert batch.story_offsets.tolist() == [0, 4, 6]
    named = batch.mentioned.any(1).tolist()
    assert named[:4] == [True, True, True, False]


def test_a_paragraph_does_not_count_itself() -> None:
    places = Places.count([TEA])
    cup = key_of(["cup"])
    assert (places.gold[cup], places.seen[cup]) == (1, 1)
    unknown = Places(Counter(), Counter()).familiarity(cup, None)
    assert places.familiarity(cup, frozenset({cup})) == unknown
    assert places.familiarity(cup, None) != unknown


def test_places_are_kept_in_a_table() -> None:
    vocab = build_vocab([TEA, ICE], at_least=1)
    places = Places.count([TEA, ICE])
    table = places.table(vocab)
    again = Places.from_table(table, vocab)
    assert (again.table(vocab) == table).all()
    assert again.gold[key_of(["cup"])] == 1


def test_generated_paragraphs_are_true_and_repeat() -> None:
    made = generate_processes(150, seed=4)
    assert made == generate_processes(150, seed=4)
    assert made != generate_processes(150, seed=5)
    seen = Counter(tag for one in made for row in one.states for tag in tags_of(row))
    assert min(seen.values()) > 100
    for one in made:
        words = paragraph_words(one)
        keys = {candidate.key for candidate in candidate_places(words)}
        for number, row in enumerate(one.states):
            assert len(row) == len(one.sentences) + 1
            assert {key_of(split_words(s)) for s in row if s not in (NOWHERE, UNKNOWN)} <= keys
            steps = {span.sentence for span in mentions(one.participants[number], words)}
            changed = {t for t, action in enumerate(one.actions(number)) if action != "NONE"}
            assert changed <= steps


def test_vectors_of_one_stem_are_averaged(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("leaves 1 2\nleaf 3 4\ntea 5 6\nwine 7 8\n")
    vectors = read_vectors(path, [[TEA]])
    assert vectors.words.keys() == {"leaves", "tea"}
    assert vectors.width == 2
    path.write_text("turn 1 2\nTurned 3 4\nheats 5 6\n")
    by_stem = read_vectors(path, [[TEA]]).by_stem()
    assert by_stem["heat"].tolist() == [5.0, 6.0]
