"""Training the language model: what it learns, and that it goes on where it was."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from entnet.data.cbt import BLANK, CbtQuestion
from entnet.experiments import cbt_language
from entnet.experiments.cbt_language import LanguageRun
from entnet.models.cbt.lstm_language import LanguageConfig, LanguageScorer


def rhymes(count: int) -> list[list[str]]:
    """ "a cat purrs .", "a dog barks ." and so on: the third word follows from the second."""
    draw = random.Random(1)
    pairs = [("cat", "purrs"), ("dog", "barks"), ("cow", "moos"), ("hen", "clucks")]
    return [["a", *draw.choice(pairs), "."] for _ in range(count)]


def test_the_language_model_learns_which_word_follows(tmp_path: Path) -> None:
    config = LanguageConfig(units=16, streams=4, steps=10, sample=8, rate=0.02, epochs=10, least=1)
    told: list[str] = []
    run = LanguageRun(rhymes(400), config)
    about = run.train(tmp_path / "model.safetensors", told.append)
    assert about["words"] == 10 * 4 * 500
    assert about["curve"][-1] < 1
    assert "10.00 of 10 epochs" in told[-1]
    candidates = ("cat", "dog", "cow", "hen", "a", ".", "purrs", "barks", "moos", "clucks")
    texts = tuple(" ".join(words) for words in rhymes(20))
    asked = [
        CbtQuestion(texts, f"a {BLANK} moos .", "cow", candidates),
        CbtQuestion(texts, f"a {BLANK} purrs .", "cat", candidates),
        CbtQuestion(texts, f"a hen {BLANK} .", "clucks", candidates),
    ]
    scores = LanguageScorer(run.model, batch=2).scores(asked)
    assert [candidates[n] for n in scores.argmax(1)] == ["cow", "cat", "clucks"]


def test_an_interrupted_model_ends_as_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cbt_language, "TOLD_EVERY", 7)
    config = LanguageConfig(units=8, streams=4, steps=5, sample=4, epochs=2, least=1)

    def interrupt(line: str) -> None:
        if "0.56 of" in line:
            raise KeyboardInterrupt

    def train(file: str, tell: object) -> LanguageRun:
        run = LanguageRun(rhymes(100), config)
        run.train(tmp_path / file, tell, save_every=0.0)  # type: ignore[arg-type]
        return run

    whole = train("whole.safetensors", lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        train("parts.safetensors", interrupt)
    told: list[str] = []
    resumed = train("parts.safetensors", told.append)
    assert resumed.losses == whole.losses
    assert len(told) < len(whole.losses)  # some of it was done before
    for one, other in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)
    again: list[str] = []
    train("parts.safetensors", again.append)
    assert not again
