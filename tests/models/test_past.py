"""The sentences before every question, padded and flat."""

from __future__ import annotations

import numpy as np
import torch

from entnet.data.story import Corpus, Story, story_words
from entnet.models.past import past_of
from entnet.text import Vocab


def test_each_question_sees_its_story_up_to_its_own_place(stories: list[Story]) -> None:
    vocab = Vocab.build(story_words(stories))
    entries = Corpus.encode(stories, vocab).entries("story")
    batch = entries.batch(np.arange(len(entries)))
    past = past_of(batch)
    asked = [(story, question) for story in stories for question in story.questions]
    for number, (story, question) in enumerate(asked):
        rows = past.rows[number][past.there[number]]
        told = [vocab.encode(text.rstrip(".").lower().split()) for text in story.sentences]
        heard = [[w for w in batch.words[row].tolist() if w] for row in rows.tolist()]
        assert heard == told[: question.after]
        assert torch.equal(past.flat[past.question == number], rows)
        assert torch.equal(past.flat[past.backwards()][past.question == number], rows.flip(0))


def test_softmax_is_over_each_question_s_own(stories: list[Story]) -> None:
    vocab = Vocab.build(story_words(stories))
    entries = Corpus.encode(stories, vocab).entries("story")
    past = past_of(entries.batch(np.arange(len(entries))))
    scores = torch.randn(len(past.flat))
    weights = past.softmax(scores)
    for number in range(len(past.lengths)):
        mine = past.question == number
        torch.testing.assert_close(weights[mine], scores[mine].softmax(0))
