"""The LSTM: its scan against torch's own LSTM, one pass against many, and a task it solves."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from entnet.config import ConfigError, TrainConfig
from entnet.data.gridworld import Asking, GridWorld, grid_batch, grid_stream
from entnet.data.story import Corpus, Question, RaggedBatch, Story
from entnet.models import LSTM, StoryModel
from entnet.models.lstm import LSTMConfig
from entnet.text import Vocab
from entnet.training.engine import TorchEngine

WORDS = Vocab.build(["mary", "john", "went", "to", "the", "hall", "garden", "where", "is"])
STORIES = [
    Story(
        ("Mary went to the hall.", "John went to the garden.", "Mary went to the garden."),
        (
            Question(1, "Where is Mary?", "hall"),
            Question(3, "Where is John?", "garden"),
            Question(3, "Where is Mary?", "garden"),
        ),
    ),
    Story(("John went to the hall.",), (Question(1, "Where is John?", "hall"),)),
]


def small_model(**options: float) -> LSTM:
    torch.manual_seed(0)
    config = LSTMConfig.from_dict(
        {"vocabulary": len(WORDS), "sentence_length": 5, "units": 7, "width": 6, **options}
    )
    return LSTM(config, WORDS)


def batch_of(stories: list[Story], draw: str = "story") -> RaggedBatch:
    corpus = Corpus.encode(stories, WORDS, 5)
    entries = corpus.entries("question" if draw == "question" else "story")
    return entries.batch(np.arange(len(entries)))


@pytest.mark.slow
def test_gradients_of_the_whole_network_are_right() -> None:
    model = small_model().double()
    names = [name for name, _ in model.named_parameters()]
    batch = batch_of(STORIES)

    def scores(*values: Tensor) -> Tensor:
        result: Tensor = torch.func.functional_call(
            model, dict(zip(names, values, strict=True)), (batch,)
        )
        return result

    assert torch.autograd.gradcheck(scores, tuple(model.parameters()))


def test_it_is_torch_s_lstm_over_story_and_question() -> None:
    model = small_model()
    theirs = nn.LSTM(6, 7)
    # torch's gates are input, forget, candidate, output; ours output, input, forget, candidate.
    order = torch.arange(28).view(4, 7)[[1, 2, 3, 0]].flatten()
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(model.W[order])
        theirs.weight_hh_l0.copy_(model.U[order])
        theirs.bias_ih_l0.copy_(model.bias[order])
        theirs.bias_hh_l0.zero_()
    batch = batch_of(STORIES)
    scores = model(batch)
    corpus = Corpus.encode(STORIES, WORDS, 5)
    for number in range(corpus.questions):
        start = corpus.story_offsets[corpus.question_story[number]]
        read = corpus.words[start : start + corpus.question_after[number]]
        tokens = np.concatenate([read.flatten(), corpus.question_words[number]])
        tokens = tokens[tokens != 0]
        _, (final, _) = theirs(model.embedding[torch.from_numpy(tokens)])
        expected = model.R @ final[0] + model.output_bias
        torch.testing.assert_close(scores[number], expected)


def test_one_pass_a_story_equals_a_pass_for_every_question() -> None:
    model = small_model()
    torch.testing.assert_close(
        model(batch_of(STORIES, "story")), model(batch_of(STORIES, "question"))
    )


def test_words_never_seen_are_passed_over_wherever_they_stand() -> None:
    model = small_model()
    known = [Story(("Mary went to the hall.",), (Question(1, "Where is Mary?", "hall"),))]
    padded = [Story(("Well Mary went to the hall.",), (Question(1, "So where is Mary?", "hall"),))]
    corpus = Corpus.encode(padded, WORDS, 6)
    torch.testing.assert_close(model(corpus.entries().batch(np.array([0]))), model(batch_of(known)))


def test_a_story_of_unknown_words_alone_leaves_only_the_question() -> None:
    model = small_model()
    unknown = [
        Story(
            ("Xyzzy.", "Mary went."), (Question(1, "Where?", "hall"), Question(1, "Plugh?", "hall"))
        )
    ]
    scores = model(batch_of(unknown))
    torch.testing.assert_close(scores[1], model.output_bias)
    assert not torch.equal(scores[0], scores[1])
    torch.testing.assert_close(model(batch_of([Story(("Xyzzy.",), unknown[0].questions)])), scores)


def test_saved_and_loaded_it_answers_the_same(tmp_path: Path) -> None:
    model = small_model()
    model.save_pretrained(tmp_path)
    loaded = StoryModel.from_pretrained(tmp_path)
    assert isinstance(loaded, LSTM)
    assert loaded.config == model.config
    assert torch.equal(loaded(batch_of(STORIES)), model(batch_of(STORIES)))


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(ConfigError, match="units is 0"):
        LSTMConfig(units=0)


@pytest.mark.slow
def test_it_learns_where_a_walker_on_a_small_grid_is() -> None:
    world = GridWorld(width=3, height=3, agents=1)
    torch.manual_seed(0)
    model = LSTM(LSTMConfig(vocabulary=len(world.vocab), sentence_length=4), world.vocab)
    engine = TorchEngine(model, TrainConfig(learning_rate=0.01))
    stream = grid_stream(world, 0, stories=32, lengths=(5, 5), asking=Asking(2))
    for number, batch in enumerate(islice(stream, 900)):
        engine.step(batch, 0.01 if number < 600 else 0.003)
    fresh = grid_batch(world, np.random.default_rng(99), 500, 5)
    answers, _ = engine.predict(fresh)
    assert (answers != fresh.answers).float().mean() < 0.02
