"""Documents of any length are asked about as if every sentence of theirs had been read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from entnet import EntNet, EntNetConfig, TrainConfig, Vocab
from entnet.data.long import Sample, stretches
from entnet.data.splits import TaskStories
from entnet.data.story import story_words
from entnet.models.base import StoryModel
from entnet.tasks import babilong
from entnet.tasks.babilong import (
    Books,
    LongOptions,
    LongTest,
    long_trainer,
    valid_long_error,
    validation,
)
from entnet.tasks.spec import RunSpec
from entnet.text import NULL_WORD, UNKNOWN_WORD, tokenise
from small_networks import make_stories

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


def test_a_run_knows_the_words_of_its_stories_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else the network that it starts from knew is to be read as unknown: "he", and all books are
    full of it."""
    monkeypatch.setattr(babilong, "VALID_WORDS", 100)
    monkeypatch.setattr(babilong, "VALID_SAMPLES", 5)
    (tmp_path / "gutenberg").mkdir()
    (tmp_path / "gutenberg" / "book.txt").write_bytes(BOOK)
    stories = make_stories(30, seed=3)
    vocab = Vocab.build(story_words(stories) | {NULL_WORD, "he", "queen"})
    size = {"sentence_length": 7, "width": 20, "slots": 4}
    torch.manual_seed(1)
    start = EntNet(EntNetConfig(vocabulary=len(vocab), **size), vocab)
    start.save_pretrained(tmp_path / "start")
    source = {"start": str(tmp_path / "start"), "words": 20, "valid_words": 20}
    model = {**size, "gate": "stretched"}
    spec = RunSpec(
        "babilong-joint", 0, "shut", 1, "en-10k", "entnet", "free", model, {"epochs": 1}, (1,),
        str(tmp_path / "run"), "babilong", source, data_root=str(tmp_path),
    )  # fmt: skip
    parts = TaskStories(stories[:20], stories[20:], stories[20:], "generated")
    config, options = TrainConfig(epochs=1), LongOptions.from_dict(source)
    trainer = long_trainer(spec, config, options, parts)
    known = trainer.model.vocab
    assert set(known.words) == story_words(stories) | {NULL_WORD, UNKNOWN_WORD}
    for word in ("mary", "garden"):
        (mine,), (theirs,) = known.encode([word]), vocab.encode([word])
        assert torch.equal(trainer.model.embedding[mine], start.embedding[theirs])
    trainer.train()
    network = StoryModel.from_pretrained(tmp_path / "run" / "model")
    error = valid_long_error(network, {1: parts}, spec)
    assert 0 <= error <= 100
    assert error == valid_long_error(network, {1: parts}, spec)


def test_seeds_are_chosen_by_long_documents_first() -> None:
    short = {"valid_long_error": 9.0, "valid_error": 1.0, "valid_loss": 0.1}
    long = {"valid_long_error": 2.0, "valid_error": 3.0, "valid_loss": 0.2}
    assert min([{"best": short}, {"best": long}], key=validation)["best"] is long
