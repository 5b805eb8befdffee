"""Questions as whole sentences: each held once, words that are new, and the arrays kept on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from cbt_questions import trade_question
from entnet.data.cbt.format import CbtQuestion, write_cbt
from entnet.data.cbt.passages import Passages, encode_passages, load_passages
from entnet.data.cbt.windows import with_oov_rows
from entnet.text import Vocab

QUESTIONS = [trade_question(seed) for seed in range(6)]


def told(passages: Passages, vocab: Vocab, chosen: list[int], oov_rows: int = 4) -> list[list[str]]:
    """The sentences and the query of questions, read back from a batch."""
    words = with_oov_rows(vocab, oov_rows).words
    batch = passages.batch(np.array(chosen), oov_rows)
    parts = [batch.words.view(len(chosen), 20, -1), batch.question_words.unsqueeze(1)]
    lines = torch.cat(parts, 1).flatten(0, 1)
    return [[" ".join(words[n] for n in line if n) for line in block] for block in lines.split(21)]


def test_a_batch_says_what_the_questions_say() -> None:
    passages, vocab = encode_passages(QUESTIONS, least=1)
    for wanted, lines in zip(
        (QUESTIONS[4], QUESTIONS[1]), told(passages, vocab, [4, 1]), strict=True
    ):
        assert lines == [text.lower() for text in (*wanted.sentences, wanted.query)]
    batch = passages.batch(np.array([4, 1]), 4)
    keys = batch.story_keys
    assert keys is not None
    answers = [vocab.words[keys[row, answer]] for row, answer in enumerate(batch.answers.tolist())]
    assert answers == [QUESTIONS[4].answer.lower(), QUESTIONS[1].answer.lower()]
    assert batch.question_step.tolist() == [19, 39]


def test_a_sentence_that_stands_in_many_contexts_is_held_once() -> None:
    """Consecutive contexts, as a book's are, share all but one of their sentences."""
    book = [f"sentence {chr(97 + n)} of the book" for n in range(24)]
    names = tuple("abcdefghij")
    questions = [
        CbtQuestion(tuple(book[n : n + 20]), f"XXXXX of {n}", names[n], names) for n in range(4)
    ]
    passages, _ = encode_passages(questions, least=1)
    assert len(passages.offsets) - 1 == 23 + 4  # and the four queries
    assert passages.contexts[1].tolist()[:-1] == passages.contexts[0].tolist()[1:]


def test_new_words_are_told_apart_by_their_spelling_wherever_they_stand() -> None:
    passages, vocab = encode_passages(QUESTIONS, least=1)
    strange = [trade_question(3)]
    strange[0] = CbtQuestion(
        tuple(text.replace("Name", "Nom") for text in strange[0].sentences),
        strange[0].query,
        strange[0].answer.replace("Name", "Nom"),
        tuple(name.replace("Name", "Nom") for name in strange[0].candidates),
    )
    alone, _ = encode_passages(strange, vocab)
    after, _ = encode_passages([*QUESTIONS, *strange], vocab)
    first, second = alone.batch(np.array([0]), 64), after.batch(np.array([6]), 64)
    assert torch.equal(first.words, second.words)
    assert first.story_keys is not None
    rows = set(first.story_keys[0].tolist())
    assert min(rows) >= len(vocab)
    assert len(rows) >= 8  # of ten names: 64 rows are few enough for two to meet
    # In training the rows move, and known candidates become new ones, in sentence and key alike.
    moved = passages.batch(np.array([2]), 64, np.random.default_rng(1), oov_probability=1.0)
    assert moved.story_keys is not None
    assert int(moved.story_keys.min()) >= len(vocab)
    for key in moved.story_keys[0]:
        assert bool((moved.words == key).any())


def test_a_training_file_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    write_cbt(path, QUESTIONS)
    first, vocab = load_passages(path, 1)
    kept = tmp_path / ".questions.1.passages.npz"
    written = kept.stat().st_mtime_ns
    second, same = load_passages(path, 1)
    assert kept.stat().st_mtime_ns == written
    assert same == vocab
    for name in Passages.__dataclass_fields__:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    write_cbt(path, QUESTIONS[:4])
    assert len(load_passages(path, 1)[0]) == 4
