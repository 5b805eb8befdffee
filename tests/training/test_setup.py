"""From stories and settings to a run that can start."""

from __future__ import annotations

import logging

import pytest

from entnet import Question, Story
from entnet.config import Oversample, Permute, Stage, TrainConfig
from entnet.training.setup import prepare

STORIES = [Story(("Mary is north of John.",), (Question(1, "Who is north?", "Mary"),))] * 2


def test_words_that_no_story_has_are_named(caplog: pytest.LogCaptureFixture) -> None:
    config = TrainConfig(
        permute=Permute((("mary", "jhon"), (("north", "n"),)), skip_if=("tired",)),
        oversample=(Oversample(("north", "suoth")),),
    )
    with caplog.at_level(logging.WARNING):
        prepare(STORIES, STORIES, None, config)
    assert caplog.messages == [
        "permute.groups: not in the vocabulary, so ignored: jhon",
        "permute.skip_if: not in the vocabulary, so ignored: tired",
        "oversample: not in the vocabulary, so ignored: suoth",
    ]


def test_known_words_need_no_remark(caplog: pytest.LogCaptureFixture) -> None:
    config = TrainConfig(permute=Permute((("mary", "john"),)), curriculum=(Stage(2, ("north",)),))
    prepare(STORIES, STORIES, None, config)
    assert not caplog.messages
