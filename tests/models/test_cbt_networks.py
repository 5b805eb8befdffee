"""Memory networks on windows, the LSTM that asks them, and the LSTM language model."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from cbt_questions import telling_questions
from entnet.config import ConfigError
from entnet.data.cbt.format import BLANK, CbtQuestion
from entnet.data.cbt.windows import WindowedQuestions, encode_training, with_oov_rows
from entnet.data.story import RaggedBatch
from entnet.errors import EntNetError
from entnet.models.base import StoryModel
from entnet.models.baselines.kneser_ney import END
from entnet.models.baselines.lstm_language import (
    LanguageConfig,
    LanguageModel,
    LanguageScorer,
)
from entnet.models.readers.memnn import WindowMemory, WindowMemoryConfig
from entnet.models.readers.reader import NetworkScorer, save_half
from entnet.text import Vocab

KNOWN = 60


def network(**options: object) -> WindowMemory:
    torch.manual_seed(1)
    vocab = with_oov_rows(Vocab.build(f"w{n}" for n in range(KNOWN - 1)), 4)
    values = {"vocabulary": len(vocab), "sentence_length": 5, "width": 16, "embedding_scale": 0.5}
    return WindowMemory(WindowMemoryConfig.from_dict({**values, **options}), vocab)


def batch_of(data: WindowedQuestions, chosen: list[int], query: int = 5) -> RaggedBatch:
    return data.corpus(4, query).entries().batch(np.array(chosen))


def test_the_plain_network_is_its_equations() -> None:
    data = telling_questions(3, KNOWN)
    model = network().eval()
    batch = batch_of(data, [0, 1, 2])
    scores = model(batch)
    e = model.embedding
    for n in range(3):
        windows = batch.words[batch.story_offsets[n] : batch.story_offsets[n + 1]]
        q = e[batch.question_words[n]].sum(0)
        m = e[windows].sum(1)
        p = (m @ q).softmax(0)
        o = p @ m
        assert batch.story_keys is not None
        expected = e[batch.story_keys[n]] @ (q + o)
        torch.testing.assert_close(scores[n], expected)


def test_the_self_supervised_network_gathers_windows_by_their_middle() -> None:
    data = telling_questions(2, KNOWN)
    model = network(self_supervised=True)
    batch = batch_of(data, [1, 0])
    assert batch.story_keys is not None
    batch.words[3, 2] = batch.words[4, 2]  # one candidate has two windows, another none
    e = model.embedding
    q = e[batch.question_words[0]].sum(0)
    match = e[batch.words[:10]].sum(1) @ q
    best = torch.maximum(match[3], match[4])
    training = model.train()(batch)[0]
    torch.testing.assert_close(training[4], best)
    torch.testing.assert_close(training[0], match[0])
    assert training[3] == -1e4
    answering = model.eval()(batch)[0]
    torch.testing.assert_close(answering[4], torch.logsumexp(match[3:5], 0))
    assert answering[3] == -1e4


@pytest.mark.parametrize(
    "options", [{}, {"self_supervised": True}, {"query": "lstm", "sentence_length": 7}]
)
def test_questions_of_a_batch_do_not_touch_each_other(options: dict[str, object]) -> None:
    data = telling_questions(4, KNOWN)
    model = network(**options).eval()
    query = model.config.sentence_length
    together = model(batch_of(data, [0, 1, 2, 3], query))
    alone = torch.cat([model(batch_of(data, [n], query)) for n in range(4)])
    torch.testing.assert_close(together, alone)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"self_supervised": True}, {"query": "lstm"}], ids=["plain", "self", "lstm"]
)
def test_each_learns_what_can_be_learnt(options: dict[str, object]) -> None:
    data = telling_questions(1200, KNOWN)
    model = network(width=24, **options)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    entries = data.corpus(4).entries()
    for _ in range(12):
        for chosen in np.array_split(np.random.default_rng(1).permutation(1200), 24):
            batch = entries.batch(chosen)
            loss = torch.nn.functional.cross_entropy(model.train()(batch), batch.answers)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            model.after_update()
    with torch.no_grad():
        batch = batch_of(telling_questions(300, KNOWN, seed=9), list(range(300)))
        right = (model.eval()(batch).argmax(1) == batch.answers).float().mean().item()
    assert right > 0.5  # 0.1 by chance


@pytest.mark.slow
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"self_supervised": True}, {"query": "lstm"}], ids=["plain", "self", "lstm"]
)
def test_gradcheck(options: dict[str, object], training: bool) -> None:
    model = network(width=3, **options).double().train(training)
    batch = batch_of(telling_questions(2, KNOWN), [0, 1])
    names = [name for name, _ in model.named_parameters()]

    def scores(*values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(model, dict(zip(names, values, strict=True)), (batch,))

    assert torch.autograd.gradcheck(scores, tuple(model.parameters()))


def test_dropout_is_for_training_alone() -> None:
    model = network(dropout=0.5)
    batch = batch_of(telling_questions(3, KNOWN), [0, 1, 2])
    assert not torch.equal(model.train()(batch), model.train()(batch))
    assert torch.equal(model.eval()(batch), model.eval()(batch))


def test_it_goes_to_disk_and_back(tmp_path: Path) -> None:
    model = network(self_supervised=True).eval()
    model.save_pretrained(tmp_path)
    again = StoryModel.from_pretrained(tmp_path)
    batch = batch_of(telling_questions(3, KNOWN), [0, 1, 2])
    torch.testing.assert_close(again(batch), model(batch))


def test_impossible_settings_and_missing_candidates_are_refused() -> None:
    with pytest.raises(ConfigError, match="window is 4"):
        network(window=4)
    with pytest.raises(ConfigError, match="dropout"):
        network(dropout=1.0)
    batch = batch_of(telling_questions(1, KNOWN), [0])
    bare = RaggedBatch(
        batch.words, batch.story_offsets, batch.question_words, batch.question_step, batch.answers
    )
    with pytest.raises(EntNetError, match="candidates"):
        network()(bare)


# The language model.


def test_a_score_is_the_probability_of_the_candidate_and_what_follows() -> None:
    config = LanguageConfig(units=8, following=2)
    vocab = Vocab.build([END, "a", "b", "c", "d"])
    model = LanguageModel(config, vocab).eval()
    one = CbtQuestion(("a b",) * 20, f"c {BLANK} d a b", "a", ("a", "b", "unheard"))
    scores = LanguageScorer(model).scores([one])[0]
    story = [END, *["a", "b", END] * 20, "c"]
    for n, word in enumerate(("a", "b", "<null>")):
        words = torch.tensor([vocab.encode([*story, word, "d", "a"])])
        with torch.no_grad():
            states, _ = model.read(words)
            logs = model.log_probabilities(states)[0]
        places = range(len(story) - 1, len(story) + 2)
        expected = sum(logs[place, words[0, place + 1]].item() for place in places)
        assert scores[n] == pytest.approx(expected, abs=1e-4)
    assert np.isinf(scores[3:]).all()


def test_the_sampled_loss_is_the_whole_one_when_the_sample_is_everything() -> None:
    vocab = Vocab.build(["a", "b", "c", "d"])
    model = LanguageModel(LanguageConfig(units=8), vocab)
    states, words = torch.randn(6, 8), torch.tensor([1, 2, 3, 4, 1, 0])
    everything = torch.arange(len(vocab))
    scores = model.sampled_scores(states, words, everything, torch.ones(len(vocab)))
    sampled = -torch.log_softmax(scores, 1)[:, 0].mean()
    whole = -model.log_probabilities(states)[torch.arange(6), words].mean()
    torch.testing.assert_close(sampled, whole)


# A network as a scorer of questions.


def trade_question(seed: int, names: tuple[str, ...]) -> CbtQuestion:
    draw = random.Random(seed)
    sentences = tuple(f"the {draw.choice('abc')} {draw.choice(names)} spoke ." for _ in range(20))
    return CbtQuestion(sentences, f"the a {BLANK} spoke .", names[0], names)


def test_questions_are_scored_as_their_windows_are(tmp_path: Path) -> None:
    names = tuple(f"Name{n}" for n in range(10))
    questions = [trade_question(n, names) for n in range(7)]
    train, vocab = encode_training(questions, least=2)
    model = WindowMemory(
        WindowMemoryConfig(vocabulary=len(vocab) + 3, sentence_length=5, width=8),
        with_oov_rows(vocab, 3),
    ).eval()
    with torch.no_grad():
        expected = model(train.corpus(3).entries().batch(np.arange(7))).numpy()
    scorer = NetworkScorer(model, batch=3)
    np.testing.assert_allclose(scorer.scores(questions), expected, rtol=1e-5, atol=1e-6)
    assert scorer.answer(questions[2]) == names[int(expected[2].argmax())]
    assert scorer.scores([]).shape == (0, 10)
    short = CbtQuestion(questions[0].sentences, questions[0].query, names[0], names[:4])
    assert np.isinf(scorer.scores([short])[0, 4:]).all()

    size = save_half(model, tmp_path / "half")
    assert size == sum(path.stat().st_size for path in (tmp_path / "half").iterdir())
    halved = NetworkScorer(StoryModel.from_pretrained(tmp_path / "half"))
    np.testing.assert_allclose(halved.scores(questions), expected, rtol=0.02, atol=0.01)
    assert halved.model.state_dict()["embedding"].dtype == torch.float32
