"""The entity network: worked out by hand, checked numerically, and held to its properties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from entnet import Corpus, EntNet, EntNetConfig, Question, RaggedBatch, Story, TrainConfig, Vocab
from entnet.data.story import story_words
from entnet.errors import EntNetError
from entnet.models.layers import position_encoding
from entnet.ops.reference import ScanParameters, memory_scan, memory_step
from entnet.training.engine import TorchEngine

VARIANTS: list[dict[str, Any]] = [
    {},
    {"encoder": "bow", "gate_bias": False, "candidate_bias": False},
    {"encoder": "position", "share_slopes": False, "hops": 2},
    {"activation": "identity", "normalise": False, "U": "zero", "V": "zero", "W": "identity"},
    {"U": "identity", "V": "identity", "slopes": "single", "separate_masks": False},
    {"separate_encoders": True, "mask_init": "normal", "zero_norm": "epsilon", "bias_init": "zero"},
    {"keys": "tied", "key_words": ("john", "mary", "milk"), "hops": 3},
    {"answer_set": "answers", "answer_words": (1, 2, 5)},
]


def network(stories: list[Story], seed: int = 0, **options: Any) -> tuple[EntNet, Corpus]:
    vocab = Vocab.build(story_words(stories))
    corpus = Corpus.encode(stories, vocab)
    torch.manual_seed(seed)
    config = EntNetConfig(
        **{
            "vocabulary": len(vocab),
            "sentence_length": corpus.words.shape[1],
            "width": 6,
            "slots": 3,
            "weight_scale": 0.5,
            "embedding_scale": 0.5,
            "key_scale": 0.5,
            **options,
        }
    )
    return EntNet(config, vocab), corpus


def whole(corpus: Corpus, **how: Any) -> RaggedBatch:
    entries = corpus.entries(**how)
    return entries.batch(np.arange(len(entries)))


def gradients(model: EntNet) -> dict[str, Tensor]:
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def loss_of(model: EntNet, batch: RaggedBatch) -> Tensor:
    return torch.nn.functional.cross_entropy(model(batch), batch.answers, reduction="sum")


def test_forward_pass_worked_out_by_hand() -> None:
    """Two slots, two units, one sentence, one question; every number below is computed in the open."""
    vocab = Vocab(["<null>", "a", "b", "q"])
    config = EntNetConfig(
        vocabulary=4, sentence_length=2, width=2, slots=2, gate_bias=False, candidate_bias=False
    )
    model = EntNet(config, vocab)
    values = {
        "embedding": [[0, 0], [1, 0], [0, 2], [1, 1]],
        "encoder.story_mask": [[1, 1], [0.5, 0.5]],
        "encoder.question_mask": [[1, 2], [1, 1]],
        "memory.keys": [[1, 0], [0, 1]],
        "memory.U": [[1, 0], [0, 1]],
        "memory.V": [[0, 1], [1, 0]],
        "memory.W": [[1, 0], [0, -2]],
        "memory.slope": [0.5, 0.25],
        "readout.H": [[2, 0], [0, 1]],
        "readout.R": [[0, 0], [1, 0], [0, 1], [1, -1]],
    }
    model.load_state_dict({name: torch.tensor(value).float() for name, value in values.items()})

    # (1) s = (1, 1)⊙(1, 0) + (.5, .5)⊙(0, 2) = (1, 1)
    # (2) slots start as keys: s·h_j + s·w_j = 1 + 1 = 2 for both, g = σ(2)
    g = 1 / (1 + math.exp(-2))
    # (3) slot 1: U h = (1, 0), V w = (0, 1), W s = (1, −2): sum (2, −1), φ: (2, −.25)
    #     slot 2: U h = (0, 1), V w = (1, 0), W s = (1, −2): sum (2, −1), φ: (2, −.25)
    # (4) slot 1: (1 + 2g, −.25g); slot 2: (2g, 1 − .25g)
    first, second = (1 + 2 * g, -0.25 * g), (2 * g, 1 - 0.25 * g)
    # (5)
    n1, n2 = math.hypot(*first), math.hypot(*second)
    h1 = (first[0] / n1, first[1] / n1)
    h2 = (second[0] / n2, second[1] / n2)
    # (6) q = (1, 2)⊙(1, 1) = (1, 2)
    a1, a2 = h1[0] + 2 * h1[1], h2[0] + 2 * h2[1]
    p1 = 1 / (1 + math.exp(a2 - a1))
    u = (p1 * h1[0] + (1 - p1) * h2[0], p1 * h1[1] + (1 - p1) * h2[1])
    z = (1 + 2 * u[0], 2 + u[1])  # q + H u, both above 0, so φ leaves them
    expected = [0, z[0], z[1], z[0] - z[1]]

    batch = RaggedBatch(
        words=torch.tensor([[1, 2]]),
        story_offsets=torch.tensor([0, 1]),
        question_words=torch.tensor([[3, 0]]),
        question_step=torch.tensor([0]),
        answers=torch.tensor([1]),
    )
    reading = model.answer(batch)
    assert reading.attention[0].tolist() == pytest.approx([p1, 1 - p1], abs=1e-6)
    assert reading.scores[0].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("per_story", [False, True])
@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("prelu", [False, True])
def test_gradcheck_of_the_scan(per_story: bool, normalise: bool, prelu: bool) -> None:
    torch.manual_seed(3)
    offsets, read_at = torch.tensor([0, 2, 3, 6]), torch.tensor([5, 1, 2, 3, 1])
    m, d = 2, 3
    shape = (3, m, d) if per_story else (m, d)
    inputs = [torch.randn(6, d), torch.randn(6, d), torch.randn(shape), torch.randn(d, d)]
    inputs += [torch.randn(shape), torch.rand(d), torch.randn(m)]
    leaves = [x.double().requires_grad_() for x in inputs]

    def scan(c: Tensor, s: Tensor, w: Tensor, U: Tensor, k: Tensor, a: Tensor, b: Tensor) -> Tensor:
        parameters = ScanParameters(U, k, a if prelu else None, b, normalise)
        return memory_scan(c, s, w, parameters, offsets, read_at)

    assert torch.autograd.gradcheck(scan, leaves)


@pytest.mark.slow
@pytest.mark.parametrize("options", VARIANTS)
def test_gradcheck_of_the_whole_model(stories: list[Story], options: dict[str, Any]) -> None:
    model, corpus = network(stories, **options)
    model.double()
    batch = whole(corpus)
    names = [name for name, p in model.named_parameters() if p.requires_grad]

    def scores(*values: Tensor) -> Tensor:
        out = torch.func.functional_call(model, dict(zip(names, values, strict=True)), (batch,))
        return out[:, batch.answers.unique()]

    leaves = tuple(dict(model.named_parameters())[name] for name in names)
    assert torch.autograd.gradcheck(scores, leaves)


@pytest.mark.parametrize("options", VARIANTS)
def test_scan_equals_steps(stories: list[Story], options: dict[str, Any]) -> None:
    model, corpus = network(stories, **options)
    scores = model(whole(corpus))
    number = 0
    for i, story in enumerate(stories):
        state = model.initial_state()
        for position in range(len(story.sentences)):
            row = corpus.story_offsets[i] + position
            state, gates = model.step(state, torch.from_numpy(corpus.words[row : row + 1]))
            assert gates.shape == (1, 3)
            for question in story.questions:
                if question.after == position + 1:
                    asked = torch.from_numpy(corpus.question_words[number : number + 1])
                    reading = model.read(state, asked)
                    torch.testing.assert_close(reading.scores[0], scores[number])
                    number += 1
    assert number == corpus.questions


@pytest.mark.parametrize("options", VARIANTS)
def test_one_pass_equals_each_questions_own_prefix(
    stories: list[Story], options: dict[str, Any]
) -> None:
    model, corpus = network(stories, **options)
    by_story, by_question = whole(corpus, draw="story"), whole(corpus, draw="question")
    assert by_story.sentences < by_question.sentences
    torch.testing.assert_close(model(by_story), model(by_question))
    loss_of(model, by_story).backward()
    first = gradients(model)
    model.zero_grad()
    loss_of(model, by_question).backward()
    torch.testing.assert_close(first, gradients(model))


def test_memory_limit_is_exact(stories: list[Story]) -> None:
    """With a limit, a question is answered as if its story began that many sentences before it."""
    model, corpus = network(stories)
    for limit in (1, 2):
        cut = [
            Story(
                story.sentences[max(0, question.after - limit) : question.after],
                (Question(min(limit, question.after), question.text, question.answer),),
            )
            for story in stories
            for question in story.questions
        ]
        alone = whole(Corpus.encode(cut, model.vocab, corpus.words.shape[1]))
        entries = corpus.entries("story", limit)
        order = entries.questions_of(np.arange(len(entries)))
        limited = entries.batch(np.arange(len(entries)))
        torch.testing.assert_close(model(limited), model(alone)[order])


def test_padding_words_change_nothing(stories: list[Story]) -> None:
    model, corpus = network(stories)
    wider = EntNet(model.config.replace(sentence_length=9), model.vocab)
    weights = model.state_dict()
    for name in ("encoder.story_mask", "encoder.question_mask"):
        weights[name] = torch.cat([weights[name], torch.randn(9 - corpus.words.shape[1], 6)])
    wider.load_state_dict(weights)
    padded = Corpus.encode(stories, model.vocab, 9)
    torch.testing.assert_close(model(whole(corpus)), wider(whole(padded)))


def test_order_of_stories_changes_nothing(stories: list[Story]) -> None:
    model, corpus = network(stories)
    entries = corpus.entries()
    scores = model(whole(corpus))
    for order in ([2, 0, 1], [1, 2, 0]):
        batch = entries.batch(np.array(order))
        torch.testing.assert_close(model(batch), scores[entries.questions_of(np.array(order))])


def test_empty_sentence_closes_gates(stories: list[Story]) -> None:
    model, corpus = network(stories, normalise=False)
    state = model.initial_state()
    after, gates = model.step(state, torch.zeros(1, corpus.words.shape[1], dtype=torch.int64))
    assert not gates.any()
    torch.testing.assert_close(after.memory, state.memory)
    opening, _ = network(stories, normalise=False, close_on_empty=False)
    _, gates = opening.step(opening.initial_state(), torch.zeros(1, 5, dtype=torch.int64))
    assert gates.all()


def test_slot_of_norm_zero_stays_finite() -> None:
    zero = torch.zeros(1, 2, 3, requires_grad=True)
    parameters = ScanParameters(None, torch.zeros(2, 3), None, None)
    trace = memory_step(zero, torch.zeros(1, 3), torch.zeros(1, 3), torch.zeros(2, 3), parameters)
    trace.memory.sum().backward()
    assert torch.equal(trace.memory, torch.zeros(1, 2, 3))
    assert zero.grad is not None
    assert torch.isfinite(zero.grad).all()


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_null_word_stays_zero_through_training(stories: list[Story], optimizer: str) -> None:
    model, corpus = network(stories)
    engine = TorchEngine(model, TrainConfig(optimizer=optimizer))
    for _ in range(5):
        engine.step(whole(corpus), 0.05)
    assert not model.embedding[0].any()
    assert not model.readout.R[0].any()
    assert model.embedding[1:].any(dim=1).all()
    free, _ = network(stories, zero_null_output=False)
    TorchEngine(free, TrainConfig()).step(whole(corpus), 0.05)
    assert free.readout.R[0].any()


def test_tied_keys_follow_their_words(stories: list[Story]) -> None:
    words = ("john", "mary", "milk")
    model, corpus = network(stories, keys="tied", key_words=words)
    before = model.keys().detach().clone()
    engine = TorchEngine(model, TrainConfig())
    for _ in range(3):
        engine.step(whole(corpus), 0.05)
    rows = model.embedding[[model.vocab.index[word] for word in words]]
    assert torch.equal(model.keys(), rows)
    assert not torch.equal(model.keys(), before)


def test_tied_key_outside_the_vocabulary_is_named(stories: list[Story]) -> None:
    with pytest.raises(EntNetError, match="unicorn"):
        network(stories, keys="tied", key_words=("john", "mary", "unicorn"))


def test_free_keys_train_and_start_the_slots(stories: list[Story]) -> None:
    model, corpus = network(stories)
    torch.testing.assert_close(model.initial_state().memory[0], model.keys())
    before = model.keys().detach().clone()
    TorchEngine(model, TrainConfig()).step(whole(corpus), 0.05)
    assert (model.keys() != before).all()


def test_keys_of_each_story_and_direct_output(stories: list[Story]) -> None:
    """Slots as candidates: the attention itself is the prediction, and keys differ per story."""
    model, corpus = network(stories, keys="story", output="slots")
    keys = torch.tensor([[1, 2, 3], [3, 4, 5], [2, 5, 1]])
    batch = RaggedBatch(**{**whole(corpus).__dict__, "story_keys": keys})
    reading = model.answer(batch)
    assert reading.scores.shape == (corpus.questions, 3)
    torch.testing.assert_close(reading.attention, reading.scores.softmax(-1))
    with pytest.raises(EntNetError, match="keys from the stories"):
        model(whole(corpus))


def test_only_answers_seen_in_training(stories: list[Story]) -> None:
    model, corpus = network(stories, answer_set="answers", answer_words=(2, 4))
    chances = model(whole(corpus)).softmax(-1)
    torch.testing.assert_close(chances[:, [2, 4]].sum(-1), torch.ones(corpus.questions))


def test_dropout_only_in_training(stories: list[Story]) -> None:
    model, corpus = network(stories, dropout=0.5, keys="tied", key_words=("john", "mary", "milk"))
    batch = whole(corpus)
    model.train()
    assert not torch.equal(model(batch), model(batch))
    model.eval()
    assert torch.equal(model(batch), model(batch))


def test_position_encoding_is_memn2ns() -> None:
    mask = position_encoding(3, 2)
    # j = 1, J = 3, k = 1, d = 2: (1 − 1/3) − (1/2)(1 − 2/3) = 1/2
    assert mask[0, 0].item() == pytest.approx(1 / 2)
    # j = 3, k = 2: (1 − 1) − 1·(1 − 2) = 1
    assert mask[2, 1].item() == pytest.approx(1.0)


def test_tiny_network_fits_ten_stories() -> None:
    people, places = ["Mary", "John", "Sandra"], ["garden", "kitchen", "office", "hallway"]
    stories = [
        Story(
            (f"{people[i % 3]} went to the {places[i % 4]}.", f"{people[(i + 1) % 3]} left."),
            (Question(2, f"Where is {people[i % 3]}?", places[i % 4]),),
        )
        for i in range(10)
    ]
    model, corpus = network(stories, width=16, weight_scale=0.1, embedding_scale=0.1, key_scale=0.1)
    engine = TorchEngine(model, TrainConfig())
    for _ in range(150):
        engine.step(whole(corpus), 0.01)
    predictions, _ = engine.predict(whole(corpus))
    assert predictions.tolist() == whole(corpus).answers.tolist()


def test_a_slot_that_answers_alone_says_what_it_holds() -> None:
    """Alone, the slot named in a question answers R φ(H h_j): other slots and the question have no part."""
    told = ("John went to the office.", "Mary got the milk.")
    asked = (Question(2, "Where is the milk?", "office"), Question(2, "Where is it?", "office"))
    model, corpus = network([Story(told, asked)], keys="tied", key_words=("john", "mary", "milk"))
    batch = whole(corpus)
    named = model.named_slots(batch.question_words)
    assert named.tolist() == [[False, False, True], [False, False, False]]
    usual, alone = model.answer(batch), model.answer(batch, named)
    state = model.initial_state()
    for words in batch.words:
        state, _ = model.step(state, words.unsqueeze(0))
    said = model.readout.project(state.memory[0, 2], model.memory.slope)
    torch.testing.assert_close(alone.scores[0], said @ model.readout.R.T)
    assert alone.attention[0].tolist() == [0, 0, 1]
    assert not torch.allclose(alone.scores[0], usual.scores[0])
    torch.testing.assert_close(alone.scores[1], usual.scores[1])


@pytest.mark.slow
def test_slots_are_trained_to_answer_alone(stories: list[Story]) -> None:
    """A network of which half the questions are put to a slot alone comes to answer so, too."""
    keys = ("john", "mary", "milk")
    wrong = {}
    for share in (0.0, 0.5):
        model, corpus = network(stories, keys="tied", key_words=keys, width=24)
        batch = whole(corpus)
        engine = TorchEngine(model, TrainConfig(slot_supervision=share))
        torch.manual_seed(1)
        for _ in range(300):
            engine.step(batch, 0.01)
        model.eval()
        scores = model.answer(batch, model.named_slots(batch.question_words)).scores
        wrong[share] = torch.nn.functional.cross_entropy(scores, batch.answers).item()
    assert wrong[0.5] < 0.2 * wrong[0.0]


def test_slots_without_names_cannot_answer_alone(stories: list[Story]) -> None:
    model, _ = network(stories)
    with pytest.raises(EntNetError, match="tied keys"):
        TorchEngine(model, TrainConfig(slot_supervision=0.5))


class Doubled(EntNet):
    """A network with a loss of its own."""

    def loss(self, batch: RaggedBatch) -> tuple[Tensor, Tensor]:
        losses, scores = super().loss(batch)
        return 2 * losses, scores


def test_training_lowers_the_networks_own_loss(stories: list[Story]) -> None:
    """Twice the loss at half the learning rate is the same step; evaluation does not use it."""
    model, corpus = network(stories)
    doubled = Doubled(model.config, model.vocab)
    doubled.load_state_dict(model.state_dict())
    config = TrainConfig(optimizer="sgd", max_grad_norm=0.0)
    plain, own = TorchEngine(model, config), TorchEngine(doubled, config)
    batch = whole(corpus)
    assert own.predict(batch)[1] == plain.predict(batch)[1]
    assert own.step(batch, 0.01).loss == pytest.approx(2 * plain.step(batch, 0.02).loss)
    for one, other in zip(model.parameters(), doubled.parameters(), strict=True):
        torch.testing.assert_close(one, other)
