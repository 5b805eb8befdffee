"""The official scores, against files with known scores and by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest
from propara_grids import ICE, TEA

from entnet import EntNetError
from entnet.data.propara.document import document_score, summarise
from entnet.data.propara.files import read_actions, read_propara
from entnet.data.propara.match import jaccard, normal, participant_term
from entnet.data.propara.process import Process, with_states
from entnet.data.propara.sentence import same_place, sentence_score

KNOWN = {
    "1": ((0.743, 0.430, 0.545), ((0.793, 0.597), (0.739, 0.593), (0.878, 0.2), (0.563, 0.331))),
    "2": ((1.0, 1.0, 1.0), None),
    "3": ((0.833, 0.583, 0.686), None),
}


@pytest.mark.parametrize("number", KNOWN)
def test_known_document_scores(official_data: Path, number: str) -> None:
    folder = official_data / "propara" / "scored" / number
    score = document_score(
        read_actions(folder / "predictions.tsv"), read_actions(folder / "answers.tsv")
    )
    overall, lists = KNOWN[number]
    assert tuple(round(v, 3) for v in (score.precision, score.recall, score.f1)) == overall
    assert lists is None or tuple(score.lists.values()) == lists


@pytest.mark.parametrize(
    ("part", "recall", "f1"),
    [("dev", 0.296, 0.457), ("test", 0.195, 0.326), ("train", 0.328, 0.494)],
)
def test_known_scores_of_dummies(official_data: Path, part: str, recall: float, f1: float) -> None:
    folder = official_data / "propara" / part
    score = document_score(
        read_actions(folder / "dummy-predictions.tsv"), read_actions(folder / "answers.tsv")
    ).to_dict()
    assert (score["precision"], score["recall"], score["f1"]) == (1.0, recall, f1)


@pytest.mark.parametrize(
    ("number", "reason"),
    [("5", "processes missing: 5, 7"), ("6", "line 3: no action 'VIBRATE'")],
)
def test_known_refusals(official_data: Path, number: str, reason: str) -> None:
    folder = official_data / "propara" / "scored" / number
    with pytest.raises(EntNetError, match=reason):
        document_score(
            read_actions(folder / "predictions.tsv"), read_actions(folder / "answers.tsv")
        )


def test_gold_has_full_marks(official_data: Path) -> None:
    for part in ("dev", "test"):
        gold = read_propara(official_data / "propara" / part)
        assert document_score(gold, gold).f1 == 1.0
        score = sentence_score(gold, gold)
        assert score.macro == pytest.approx(100.0)
        assert score.micro == pytest.approx(100.0)


def test_the_four_lists() -> None:
    summary = summarise(TEA)
    assert [sorted(term) for term in summary.inputs] == [["water"]]
    assert [sorted(term) for term in summary.outputs] == [["tea"]]
    (conversion,) = summary.conversions
    assert (conversion.step, conversion.destroyed, conversion.created) == (
        3,
        {frozenset({"water"})},
        {frozenset({"tea"})},
    )
    assert conversion.places == {frozenset({"cup"})}
    assert [(sorted(m.participant), m.step) for m in summary.moves] == [
        (["water"], 2),
        (["tea"], 4),
    ]


def conversions(steps: int, **states: str) -> list[tuple[int, list[str], list[str]]]:
    """Conversions in a paragraph whose states are given as words; ``_`` is ``-``."""
    process = Process(
        "1",
        tuple("s" * steps),
        tuple(states),
        tuple(
            tuple("-" if word == "_" else word for word in row.split()) for row in states.values()
        ),
    )
    return [
        (c.step, sorted(n for t in c.destroyed for n in t), sorted(n for t in c.created for n in t))
        for c in summarise(process).conversions
    ]


def test_a_conversion_may_take_two_sentences() -> None:
    assert conversions(4, wood="fire _ _ _ _", ash="_ _ fire fire fire") == [(1, ["wood"], ["ash"])]
    assert conversions(4, wood="fire fire _ _ _", ash="_ fire fire fire fire") == [
        (1, ["wood"], ["ash"])
    ]


def test_a_conversion_of_two_sentences_does_not_end_in_the_last() -> None:
    assert conversions(2, wood="fire _ _", ash="_ _ fire") == []


def test_what_comes_back_is_no_conversion() -> None:
    assert conversions(4, wood="fire _ fire fire fire") == []


def test_terms() -> None:
    assert normal("The deep Oceans") == "deep ocean"
    sun, rain, light = (participant_term(name) for name in ("sun", "rain", "sunlight; light; sun"))
    assert jaccard([sun], [light]) == 1.0
    assert jaccard([sun, rain], [light]) == 0.5
    assert jaccard([rain], [light]) == 0.0


def test_sentence_score_by_hand() -> None:
    predicted = with_states(
        TEA,
        [
            ("?", "kettle", "cup", "cup", "-"),  # moves once too often, destroyed too late
            ("?", "?", "?", "?", "?"),
            ("-", "-", "-", "the cups", "cup"),  # the place after its move is wrong
        ],
    )
    score = sentence_score([predicted], [TEA])
    assert score.answers == {
        "created": [True, True, True],
        "destroyed": [True, True, True],
        "moved": [True, True, True],
        "when created": [True],
        "when destroyed": [False],
        "when moved": [],
        "where created": [True],
        "where destroyed": [True],
        "moved from": [True, True],
        "moved to": [True, False],
    }
    assert score.kind("when moved") == pytest.approx(100 * 4 / 5)
    assert [score.questions(number) for number in (1, 2, 3)] == [9, 4, 6]
    assert score.category(3) == pytest.approx((100 + 100 + 100 + 50) / 4)
    weighted = score.category(1) * 9 + score.category(2) * 4 + score.category(3) * 6
    assert score.micro == pytest.approx(weighted / 19)


def test_a_part_of_a_place_is_right_and_no_more() -> None:
    assert same_place("oceans", "bottom of the ocean")
    assert not same_place("bottom of the ocean", "ocean")
    assert not same_place("?", "ocean")
    assert not same_place("-", "ocean")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: [], "processes missing: 2"),
        (lambda p: [p, TEA], "processes not in the answers: 1"),
        (
            lambda p: [dataclasses.replace(p, participants=("water", "snow"))],
            "process 2: participants missing: ice",
        ),
        (lambda p: [with_states(p, [("?",) * 4] * 2)], "process 2: 3 sentences, .* have 2"),
    ],
)
def test_other_paragraphs_are_refused(change: object, reason: str) -> None:
    predicted: Sequence[Process] = change(ICE)  # type: ignore[operator]
    for score in (document_score, sentence_score):
        with pytest.raises(EntNetError, match=reason):
            score(predicted, [ICE])
