"""Systems that count: frequencies, word distance, and Kneser-Ney with and without a cache."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entnet.data.cbt.format import BLANK, CbtQuestion, write_cbt
from entnet.models.baselines.frequency import ContextFrequency, CorpusFrequency, WordDistance
from entnet.models.baselines.kneser_ney import END, START, KneserNey, estimate_discounts
from entnet.models.baselines.language import NGramScorer
from entnet.models.readers.scorer import (
    MISSING,
    accuracy,
    answers_of,
    split_query,
    training_sentences,
)

CANDIDATES = ("Ann", "Bob", "Cat", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida", "Joe")


def question(
    sentences: list[str], query: str, answer: str = "Ann", candidates: tuple[str, ...] = CANDIDATES
) -> CbtQuestion:
    filled = (*sentences, *["nothing ."] * (20 - len(sentences)))
    return CbtQuestion(filled, query, answer, candidates)


def test_ties_count_as_a_draw_would() -> None:
    scores = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 2.0]], dtype=np.float32)
    assert accuracy(scores, np.array([0, 0])) == 0.25
    assert accuracy(scores, np.array([1, 2])) == 0.75
    assert accuracy(scores[:0], np.array([], dtype=int)) == 0.0


def test_frequency_in_the_context_counts_the_sentences_alone() -> None:
    one = question(["Bob met Ann .", "bob left .", "Ann ."], f"Ann Ann {BLANK} .")
    scores = ContextFrequency().scores([one])
    assert scores[0].tolist() == [2, 2, 0, 0, 0, 0, 0, 0, 0, 0]


def test_frequency_in_the_books() -> None:
    scores = CorpusFrequency([["ann", "and", "bob"], ["bob"]]).scores([question([], f"{BLANK} .")])
    assert scores[0].tolist() == [1, 2, *[0] * 8]


def test_a_missing_candidate_scores_lowest() -> None:
    scores = ContextFrequency().scores([question([], f"{BLANK} .", candidates=("Ann", "Bob"))])
    assert scores.shape == (1, 10)
    assert (scores[0, 2:] == MISSING).all()


def test_word_distance_finds_the_occurrence_with_the_querys_neighbours() -> None:
    one = question(
        ["the old miller Bob ground his corn .", "young Ann sang . Ann . Ann ."],
        f"the old miller {BLANK} ground his corn .",
        "Bob",
    )
    assert WordDistance().scores([one])[0].argmax() == 1
    # Where nothing else tells them apart, the more frequent one is taken.
    other = question(["Bob .", "Ann . Ann . Ann ."], f"never seen {BLANK} before", "Ann")
    assert WordDistance().scores([other])[0].argmax() == 0


def test_the_query_is_cut_at_its_first_blank() -> None:
    assert split_query(question([], f"So {BLANK} said .")) == (["so"], ["said", "."])


def test_training_sentences_are_had_once_and_filled_in(tmp_path: Path) -> None:
    one = question(["a b .", "c d ."], f"{BLANK} e .")
    other = question(["c d .", "Ann e ."], f"f {BLANK} .", "Bob")
    write_cbt(tmp_path / "q.txt", [one, other])
    found = [" ".join(sentence) for sentence in training_sentences(tmp_path / "q.txt")]
    assert found == ["a b .", "c d .", "nothing .", "ann e .", "f bob ."]


# Kneser-Ney against worked examples, and as a distribution.


def toolkit_model() -> KneserNey:
    """The corpus of the Natural Language Toolkit's own tests of interpolated Kneser-Ney trigrams:
    "abcd" and "egadbe" with two marks of start and of end, e and g unknown, a single discount of 0.75."""
    first = ["<s>", "<s>", "a", "b", "c", "d", "</s>", "</s>"]
    second = ["<s>", "<s>", "U", "U", "a", "d", "b", "U", "</s>", "</s>"]
    return KneserNey([first, second], order=3, discount=0.75, uniform=False, padded=True)


@pytest.mark.parametrize(
    ("word", "history", "expected"),
    [
        ("c", (), 1 / 14),
        ("z", (), 0.0),
        ("U", (), 3 / 14),
        ("c", ("b",), 0.125 + 0.75 / 14),
        ("c", ("a", "b"), 0.25 + 0.75 * (0.125 + 0.75 / 14)),
        ("c", ("z", "b"), 0.125 + 0.75 / 14),
    ],
)
def test_probabilities_are_those_of_the_published_example(
    word: str, history: tuple[str, ...], expected: float
) -> None:
    assert toolkit_model().score(word, history) == pytest.approx(expected, rel=1e-9)


def test_a_word_is_judged_by_how_many_words_it_follows_not_by_how_often() -> None:
    """Francisco is frequent, but follows San alone; glasses follow many words."""
    texts = [["san", "francisco"]] * 10 + [[word, "glasses"] for word in ("old", "my", "her")]
    model = KneserNey(texts, order=2, discount=0.75)
    assert model.score("glasses", ["reading"]) > model.score("francisco", ["reading"])
    assert model.score("francisco", ["san"]) > 0.8


def test_discounts_are_those_of_chen_and_goodman() -> None:
    counts = np.array([1] * 40 + [2] * 10 + [3] * 5 + [4] * 3 + [9] * 2 + [0] * 7)
    y = 40 / (40 + 20)
    expected = [0, 1 - 2 * y * 10 / 40, 2 - 3 * y * 5 / 10, 3 - 4 * y * 3 / 5]
    np.testing.assert_allclose(estimate_discounts(counts), expected)
    np.testing.assert_allclose(estimate_discounts(np.array([5, 5])), [0, 0.75, 0.75, 0.75])


sentence = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=7)


@given(
    st.lists(sentence, min_size=1, max_size=12),
    st.lists(st.sampled_from(["a", "b", "c", "z", START]), max_size=5),
    st.integers(1, 5),
    st.sampled_from([None, 0.5]),
)
def test_probabilities_sum_to_one_after_any_history(
    texts: list[list[str]], history: list[str], order: int, discount: float | None
) -> None:
    model = KneserNey(texts, order=order, discount=discount)
    p = [model.score(word, history) for word in model.vocab.words]
    assert all(0 < one < 1 for one in p)
    assert sum(p) == pytest.approx(1)


def test_many_events_at_once_are_those_one_by_one() -> None:
    texts = ["the cat sat on the mat", "a cat ate the rat", "the rat sat", "a dog sat on a cat"]
    model = KneserNey([text.split() for text in texts], order=4)
    draw = np.random.default_rng(1)
    events = draw.integers(0, len(model.vocab), (50, 4))
    together = model.probabilities(events)
    alone = [model.probabilities(event[None, :])[0] for event in events]
    np.testing.assert_allclose(together, alone)


def test_the_candidate_that_makes_the_query_probable_wins() -> None:
    texts = [f"the {name} ran home".split() for name in ("cat", "dog")] * 3
    texts += [["see", "ann", "sing", "loud"], ["see", "bob", "ran", "off"]]
    model = KneserNey(texts, order=3)
    one = question([], f"see {BLANK} sing loud")
    assert NGramScorer(model).scores([one])[0].argmax() == 0
    other = question([], f"see {BLANK} ran off")
    scores = NGramScorer(model).scores([other, one])
    assert scores[0].argmax() == 1
    words = model.numbers([START, "see", "bob", "ran", "off", END])
    events = np.array([words[n : n + 3] for n in range(3)])
    # Words that no candidate reaches are the same for all, and left out.
    assert scores[0, 1] == pytest.approx(np.log(model.probabilities(events)).sum(), rel=1e-5)


def test_the_cache_mixes_in_the_words_of_the_context() -> None:
    model = KneserNey([["see", "ann"], ["see", "bob"]], order=2)
    one = question(["Bob met Bob ."], f"see {BLANK}")
    plain, cached = (NGramScorer(model, weight).scores([one])[0] for weight in (0.0, 0.5))
    assert plain[0] == plain[1]
    assert cached[1] > cached[0]
    p = model.score("bob", ["see"]), model.score(END, ["bob"])
    total = 4 + 19 * 2
    expected = math.log(0.5 * p[0] + 0.5 * 2 / total) + math.log(0.5 * p[1])
    assert cached[1] == pytest.approx(expected, rel=1e-5)
    assert answers_of([one]).tolist() == [0]
