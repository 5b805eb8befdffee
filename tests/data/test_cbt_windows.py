"""Windows round the candidates' occurrences, new words, and the arrays kept on disk."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import numpy as np

from entnet.data.cbt.format import BLANK, CbtQuestion, write_cbt
from entnet.data.cbt.windows import (
    QUERY_REACH,
    WindowedQuestions,
    as_rows,
    encode_training,
    encode_with,
    known_words,
    load_training,
    with_oov_rows,
)
from entnet.text import Vocab

NAMES = tuple(f"Name{letter}" for letter in "abcdefghij")


def question(seed: int, names: tuple[str, ...] = NAMES) -> CbtQuestion:
    draw = random.Random(seed)
    sentences = tuple(
        f"the {draw.choice(names)} saw {draw.choice(names)} by the {draw.choice(['sea', 'wood'])} ."
        for _ in range(20)
    )
    answer = draw.choice(names)
    return CbtQuestion(sentences, f"then {BLANK} and {names[0]} went", answer, names)


def words_of(data: WindowedQuestions, vocab: Vocab, row: np.ndarray) -> list[str]:
    """Words by number; new ones by what they are numbered."""
    return [vocab.words[w] if w < data.known else f"new {w - data.known}" for w in row.tolist()]


def test_a_window_stands_round_every_occurrence_in_order_of_reading() -> None:
    one = question(1)
    data, vocab = encode_training([one], least=1)
    text = " ".join((*one.sentences, one.query)).lower().split(" ")
    padded = ["<null>", "<null>", *text, "<null>", "<null>"]
    names = [name.lower() for name in NAMES]
    expected = [padded[n : n + 5] for n, word in enumerate(text) if word in names]
    assert [words_of(data, vocab, row) for row in data.windows] == expected
    assert [names[centre] for centre in data.centres] == [row[2] for row in expected]
    assert data.offsets.tolist() == [0, len(expected)]
    assert words_of(data, vocab, data.candidates[0]) == names
    assert NAMES[data.answers[0]] == one.answer


def test_the_query_is_what_stands_round_the_blank() -> None:
    data, vocab = encode_training([question(1)], least=1)
    assert data.queries.shape == (1, 2 * QUERY_REACH + 1)
    near = words_of(data, vocab, data.query_windows(5)[0])
    assert near == ["<null>", "then", "xxxxx", "and", "namea"]
    assert words_of(data, vocab, data.query_windows(1)[0]) == ["xxxxx"]


def test_rare_words_are_new_and_numbered_as_they_are_met() -> None:
    strangers = tuple(f"Zz{n}" for n in range(5))
    one = question(1, (*NAMES[:5], *strangers))
    _, vocab = encode_training([question(n, NAMES) for n in range(5)], least=2)
    seen = encode_with([one], vocab)
    assert seen.known == len(vocab)
    assert "zz0" not in vocab
    candidates = words_of(seen, vocab, seen.candidates[0])
    assert candidates == [*(name.lower() for name in NAMES[:5]), *(f"new {n}" for n in range(5))]
    # The same new word has the same number everywhere in the question.
    middles = {centre: row[2] for centre, row in zip(seen.centres, seen.windows, strict=True)}
    assert all(middles[centre] == seen.candidates[0, centre] for centre in middles)


def test_questions_of_training_are_numbered_as_any_others() -> None:
    questions = [question(n) for n in range(6)]
    data, vocab = encode_training(questions, least=3)
    again = encode_with(questions, vocab)
    for name in ("windows", "centres", "offsets", "candidates", "queries", "answers"):
        assert (getattr(data, name) == getattr(again, name)).all(), name


def test_fewer_candidates_are_filled_up_with_one_that_is_not_the_answer() -> None:
    one = question(2)
    short = CbtQuestion(one.sentences, one.query, NAMES[0], NAMES[:3])
    data, vocab = encode_training([short], least=1)
    assert words_of(data, vocab, data.candidates[0]) == ["namea", "nameb", *["namec"] * 8]
    assert data.answers.tolist() == [0]


def test_rows_for_new_words_lie_behind_the_vocabulary() -> None:
    vocab = Vocab.build(["a", "b"])
    larger = with_oov_rows(vocab, 3)
    assert larger.words == (*vocab.words, "<new-0>", "<new-1>", "<new-2>")
    assert known_words(larger) == known_words(vocab) == 3
    assert with_oov_rows(larger, 1).words == (*vocab.words, "<new-0>")
    words = np.array([[0, 2, 3, 4, 7]])
    assert as_rows(words, 3, 2).tolist() == [[0, 2, 3, 4, 3]]
    assert as_rows(words, 3, 2, shift=1).tolist() == [[0, 2, 4, 3, 4]]
    assert as_rows(words, 3, 0).tolist() == [[0, 2, 0, 0, 0]]


def test_chosen_questions_are_those_questions() -> None:
    asked = [question(n) for n in range(6)]
    data, vocab = encode_training(asked)
    chosen = data.choose(np.array([4, 1, 1, 3]))
    expected = encode_with([asked[n] for n in (4, 1, 1, 3)], vocab)
    for field in dataclasses.fields(WindowedQuestions):
        np.testing.assert_array_equal(getattr(chosen, field.name), getattr(expected, field.name))


def test_the_corpus_has_a_window_a_sentence_and_a_question_a_story() -> None:
    data, _ = encode_training([question(n) for n in range(4)], least=1)
    corpus = data.corpus(oov_rows=2, query_width=7)
    assert corpus.words.shape == (len(data.windows), 7)
    assert (corpus.words[:, :5] == data.windows).all()
    assert not corpus.words[:, 5:].any()
    assert (corpus.question_words == data.query_windows(7)).all()
    batch = corpus.entries().batch(np.array([2, 0]))
    lengths = np.diff(data.offsets)
    assert batch.story_offsets.tolist() == [0, lengths[2], lengths[2] + lengths[0]]
    assert batch.question_step.tolist() == [lengths[2] - 1, lengths[2] + lengths[0] - 1]
    assert batch.story_keys is not None
    assert (batch.story_keys.numpy() == data.candidates[[2, 0]]).all()


def test_a_disguised_candidate_is_new_everywhere_in_its_question() -> None:
    data, _ = encode_training([question(n) for n in range(3)], least=1)
    corpus = data.corpus(oov_rows=40, draw=np.random.default_rng(1), oov_probability=1.0)
    assert corpus.story_keys is not None
    assert (corpus.story_keys >= data.known).all()
    for story in range(3):
        keys = corpus.story_keys[story]
        assert len(set(keys.tolist())) == 10
        rows = slice(data.offsets[story], data.offsets[story + 1])
        assert (corpus.words[rows, 2] == keys[data.centres[rows]]).all()
    plain = data.corpus(oov_rows=40, draw=np.random.default_rng(1))
    assert (plain.words == data.windows).all()


def test_encoded_questions_are_kept_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    write_cbt(path, [question(n) for n in range(5)])
    first, vocab = load_training(path)
    (kept,) = tmp_path.glob(".*.npz")
    stamp = kept.stat().st_mtime_ns
    second, same = load_training(path)
    assert kept.stat().st_mtime_ns == stamp
    assert same == vocab
    assert (first.windows == second.windows).all()
    write_cbt(path, [question(n) for n in range(7)])
    third, _ = load_training(path)
    assert len(third) == 7
    kept.write_bytes(b"damaged")
    assert len(load_training(path)[0]) == 7
