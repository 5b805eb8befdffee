"""Training the language model: what it learns, and that it goes on where it was."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch

from entnet.config import TrainConfig
from entnet.data.cbt.format import BLANK, CbtQuestion
from entnet.models.baselines.lstm_language import LanguageConfig, LanguageModel, LanguageScorer
from entnet.tasks.language import LanguageOptions, language_trainer
from entnet.training.trainer import Trainer
from interrupted import interrupt


def rhymes(count: int) -> list[list[str]]:
    """ "a cat purrs .", "a dog barks ." and so on: the third word follows from the second."""
    draw = random.Random(1)
    pairs = [("cat", "purrs"), ("dog", "barks"), ("cow", "moos"), ("hen", "clucks")]
    return [["a", *draw.choice(pairs), "."] for _ in range(count)]


def make(directory: Path, sentences: int, units: int, parts: int, **training: Any) -> Trainer:
    config = TrainConfig(**{"schedule": "linear", "max_grad_norm": 1.0, **training})
    options = LanguageOptions(streams=4, steps=10, sample=8, least=1, parts=parts)
    return language_trainer(
        directory,
        rhymes(sentences),
        LanguageConfig(units=units),
        options,
        config,
        checkpoint_seconds=0,
    )


def test_the_language_model_learns_which_word_follows(tmp_path: Path) -> None:
    make(tmp_path, 400, 16, 1, epochs=10, learning_rate=0.02).train()
    lines = [json.loads(text) for text in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["train_loss"] < 1 < lines[0]["train_loss"]
    assert lines[-1]["valid_error"] is None
    candidates = ("cat", "dog", "cow", "hen", "a", ".", "purrs", "barks", "moos", "clucks")
    texts = tuple(" ".join(words) for words in rhymes(20))
    asked = [
        CbtQuestion(texts, f"a {BLANK} moos .", "cow", candidates),
        CbtQuestion(texts, f"a {BLANK} purrs .", "cat", candidates),
        CbtQuestion(texts, f"a hen {BLANK} .", "clucks", candidates),
    ]
    model = LanguageModel.from_pretrained(tmp_path / "model")
    scores = LanguageScorer(model, batch=2).scores(asked)
    assert [candidates[n] for n in scores.argmax(1)] == ["cow", "cat", "clucks"]


def test_an_interrupted_model_ends_as_one_that_was_not(tmp_path: Path) -> None:
    """Also within a pass over the text, where the state of the network goes on."""
    whole = make(tmp_path / "whole", 100, 8, 3, epochs=6)
    whole.train()
    parts = make(tmp_path / "parts", 100, 8, 3, epochs=6)
    interrupt(parts, 5)
    again = make(tmp_path / "parts", 100, 8, 3, epochs=6)
    again.train()
    ours, theirs = again.model.state_dict(), whole.model.state_dict()
    for name, tensor in theirs.items():
        assert torch.equal(ours[name], tensor), name


def test_the_parts_of_a_pass_read_the_text_once(tmp_path: Path) -> None:
    source = make(tmp_path, 100, 8, 3, epochs=6).source
    read = [batch.words[:, :-1] for number in (1, 2, 3) for batch in source.epoch(number).batches]  # type: ignore[attr-defined]
    assert torch.equal(torch.cat(read, 1), source.streams[:, :-1])  # type: ignore[attr-defined]
    again = [batch.first for number in (3, 4, 5) for batch in source.epoch(number).batches]  # type: ignore[attr-defined]
    assert again.count(True) == 1
