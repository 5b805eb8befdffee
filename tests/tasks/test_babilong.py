"""Documents of any length are asked about as if every sentence of theirs had been read."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from entnet import EntNet, EntNetConfig, Vocab
from entnet.data.long import Sample, stretches
from entnet.tasks import babilong
from entnet.tasks.babilong import Books, LongTest
from entnet.text import NULL_WORD, UNKNOWN_WORD, tokenise

WORDS = ["mary", "john", "went", "to", "the", "garden", "kitchen", "where", "is"]
BOOK = (
    b"Once upon a time, there was a king. He went to the garden. The queen slept. "
    b"\xe2\x80\x9cOh!\xe2\x80\x9d said he; the queen went to bed in the kitchen, where it is dark. "
    b"Is John here? Where to? The end. "
) * 30
SAMPLE = Sample(
    ("Mary went to the garden.", "John went to the kitchen.", "Mary went to the kitchen."),
    "Where is Mary?",
    "kitchen",
)


def network(bias: float, **options: object) -> EntNet:
    """Gates that some of the book opens: more or less, by the bias."""
    vocab = Vocab.build([*WORDS, NULL_WORD, UNKNOWN_WORD])
    torch.manual_seed(5)
    sizes = {"vocabulary": len(vocab), "sentence_length": 7, "width": 20, "slots": 4}
    model = EntNet(
        EntNetConfig(**{**sizes, "gate": "stretched", "memory_limit": None, **options}), vocab
    )
    with torch.no_grad():
        model.embedding *= 6
        model.after_update()
        if model.memory.gate_bias is not None:
            model.memory.gate_bias += bias
    return model.eval()


@pytest.mark.parametrize(
    ("bias", "options"),
    [
        (-6.0, {}),
        (-7.0, {}),
        (0.0, {"gate": "threshold", "gate_threshold": 0.9, "gate_bias": False}),
        (0.0, {"gate": "sigmoid"}),
    ],
)
def test_what_is_left_out_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, bias: float, options: dict[str, object]
) -> None:
    monkeypatch.setattr(babilong, "AT_ONCE", 16)
    model = network(bias, **options)
    books = Books(BOOK, model.vocab.words, 7)
    test = LongTest(model, books)
    facts = np.zeros((len(SAMPLE.facts), 7), np.int32)
    for row, fact in zip(facts, SAMPLE.facts, strict=True):
        row[:] = (model.vocab.encode(tokenise(fact)) + [0] * 7)[:7]
    for words in (0, 50, 3 * int(books.background.before[-1])):
        stretch = books.background.draw(words, 3, np.random.default_rng(words))
        rows = np.concatenate(
            [
                facts[fact : fact + 1]
                if fact is not None
                else books.rows[books.first[start] : books.first[end]]
                for fact, start, end in stretches(stretch, books.background.size)
            ]
        )
        wanted, widest, _ = test.stream.scan(test.start, test.keys, rows)
        opened, read = test.opened, test.read
        found = test.memory_after(SAMPLE, words, np.random.default_rng(words))
        assert torch.equal(found, wanted)
        known = (rows[:, None] == facts).all(-1).any(1)
        assert test.opened - opened == int(((widest > 0) & ~known).sum())
        assert words <= test.read - read <= words + 30
    shut = options.get("gate") != "sigmoid"
    assert (test.opened < len(rows) / 2) == shut
    assert test.opened > 0


def test_books_are_a_ring_of_whole_sentences() -> None:
    model = network(0.0)
    books = Books(BOOK, model.vocab.words, 7)
    assert len(books.first) == books.background.size + 1
    assert books.first[-1] == len(books.rows) > books.background.size
    assert (np.diff(books.first) >= 1).all()
    assert int(books.background.before[-1]) == pytest.approx(len(BOOK.split()), rel=0.02)
