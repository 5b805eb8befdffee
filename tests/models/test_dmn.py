"""DMN+: attention, the attention GRU, the fusion of both directions, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from entnet.config import ConfigError
from entnet.data.story import Corpus, Question, RaggedBatch, Story, story_words
from entnet.models.dmn import DMN, DMNConfig, Pass, lay, likeness
from entnet.models.past import past_of
from entnet.text import Vocab


def build(stories: list[Story], **options: object) -> DMN:
    torch.manual_seed(0)
    vocab = Vocab.build(story_words(stories))
    values = {"vocabulary": len(vocab), "sentence_length": 5, "width": 6, **options}
    return DMN(DMNConfig.from_dict(values), vocab).eval()


def batch_of(model: DMN, stories: list[Story], by_question: bool = False) -> RaggedBatch:
    corpus = Corpus.encode(stories, model.vocab, 5)
    entries = corpus.entries("question" if by_question else "story")
    return entries.batch(np.arange(len(entries)))


def test_gradients_are_right(stories: list[Story]) -> None:
    model = build(stories, width=3, passes=2).double()
    batch = batch_of(model, stories[:2])
    names = [name for name, _ in model.named_parameters()]

    def scores(*values: Tensor) -> Tensor:
        given = dict(zip(names, values, strict=True))
        result: Tensor = torch.func.functional_call(model, given, (batch,))
        return result

    assert torch.autograd.gradcheck(scores, tuple(model.parameters()))


def test_attention_is_a_distribution_over_a_question_s_own_facts(stories: list[Story]) -> None:
    model = build(stories)
    batch = batch_of(model, stories)
    laid = lay(batch)
    weights = model.rounds[0]
    assert isinstance(weights, Pass)
    g = weights.attention(torch.randn(len(laid.rows), 12), torch.randn(len(laid.rows), 12), laid)
    assert (g > 0).all()
    totals = torch.zeros(batch.questions).index_add(0, laid.question, g)
    torch.testing.assert_close(totals, torch.ones(batch.questions))


def test_facts_are_laid_by_time_and_mirrored(stories: list[Story]) -> None:
    model = build(stories)
    batch = batch_of(model, stories)
    laid, past = lay(batch), past_of(batch)
    assert sum(laid.packing.active) == len(laid.rows)
    for place, question in enumerate(laid.packing.order.tolist()):
        mine = laid.question == place
        told = past.flat[past.question == question]
        assert torch.equal(laid.rows[mine], told)
        assert torch.equal(laid.rows[laid.mirrored][mine], told.flip(0))
        assert laid.rows[laid.last[place]] == told[-1]


def test_without_a_memory_the_first_pass_likens_to_the_question_twice(stories: list[Story]) -> None:
    model = build(stories)
    laid = lay(batch_of(model, stories))
    weights = model.rounds[0]
    assert isinstance(weights, Pass)
    near = likeness(torch.randn(len(laid.rows), 6), torch.randn(len(laid.rows), 6))
    torch.testing.assert_close(
        weights.attention(near, None, laid), weights.attention(near, near, laid)
    )


def test_attention_is_the_paper_s(stories: list[Story]) -> None:
    """softmax of W₂ tanh(W₁ z + b₁) + b₂ with z = [f ⊙ q ; f ⊙ m ; |f − q| ; |f − m|]"""
    model = build(stories)
    laid = lay(batch_of(model, stories))
    weights = model.rounds[0]
    assert isinstance(weights, Pass)
    f, q, m = torch.randn(3, len(laid.rows), 6).unbind(0)
    z = torch.cat([f * q, f * m, (f - q).abs(), (f - m).abs()], 1)
    scores = ((z @ weights.W1.T + weights.b1).tanh() @ weights.W2.T + weights.b2).squeeze(1)
    g = weights.attention(likeness(f, q), likeness(f, m), laid)
    for place in range(len(laid.packing.order)):
        mine = laid.question == place
        torch.testing.assert_close(g[mine], scores[mine].softmax(0))


def test_one_hot_attention_reads_that_fact_alone(stories: list[Story]) -> None:
    """The state is zero before it and kept after it: the context is tanh(W f + b)."""
    model = build(stories)
    weights = model.rounds[0]
    assert isinstance(weights, Pass)
    facts = torch.randn(4, 6)
    for place in range(4):
        g = torch.eye(4)[place]
        inputs = weights.gru.inputs(facts)
        context = weights.gru.read(inputs, torch.tensor([4]), g)[-1]
        torch.testing.assert_close(context, inputs[place, 6:].tanh())


def test_one_pass_a_story_equals_a_pass_for_every_question(stories: list[Story]) -> None:
    model = build(stories)
    together = model(batch_of(model, stories))
    torch.testing.assert_close(model(batch_of(model, stories, by_question=True)), together)
    alone = torch.cat([model(batch_of(model, [story])) for story in stories])
    torch.testing.assert_close(alone, together)


def test_exchanging_the_directions_of_reversed_stories_gives_the_same_facts(
    stories: list[Story],
) -> None:
    model, mirrored = build(stories), build(stories)
    mirrored.load_state_dict(model.state_dict())
    mirrored.forward_gru, mirrored.backward_gru = mirrored.backward_gru, mirrored.forward_gru
    told = stories[0].sentences
    last = (Question(len(told), "Where is Mary?", "garden"),)
    plain = batch_of(model, [Story(told, last)])
    back = batch_of(model, [Story(told[::-1], last)])
    facts = model._facts(plain, lay(plain))
    torch.testing.assert_close(mirrored._facts(back, lay(back)).flip(0), facts)


def test_every_pass_has_weights_of_its_own(stories: list[Story]) -> None:
    counts = {
        untied: build(stories, untied=untied).parameter_count()
        for untied in ("all", "memory", "none")
    }
    update, attention = 6 * 18 + 6, 6 * 24 + 6 + 6 + 1 + 2 * 2 * 36 + 12
    assert counts["memory"] - counts["none"] == 2 * update
    assert counts["all"] - counts["memory"] == 2 * attention


def test_the_order_of_sentences_matters(stories: list[Story]) -> None:
    model = build(stories)
    question = (Question(2, "Where is Mary?", "garden"),)
    told = ("Mary went to the garden.", "John went to the kitchen.")
    one, other = (model(batch_of(model, [Story(t, question)])) for t in (told, told[::-1]))
    assert not torch.allclose(one, other)


def test_l2_counts_once_a_batch_and_leaves_biases_out(stories: list[Story]) -> None:
    model, free = build(stories, l2=0.5), build(stories, l2=0.0)
    batch = batch_of(model, stories)
    with torch.no_grad():
        more = model.loss(batch)[0].sum() - free.loss(batch)[0].sum()
    squares = sum(
        float((p.detach() ** 2).sum())
        for name, p in model.named_parameters()
        if not name.endswith(("bias", ".b1", ".b2"))
    )
    assert float(more) == pytest.approx(squares / 4, rel=1e-4)
    with torch.no_grad():
        model.output_bias += 1
        free.output_bias += 1
        again = model.loss(batch)[0].sum() - free.loss(batch)[0].sum()
    assert float(again) == pytest.approx(float(more), rel=1e-4)


def test_equal_fact_and_question_have_a_gradient(stories: list[Story]) -> None:
    """|f − q| at 0 has the gradient 0, not NaN."""
    model = build(stories)
    weights = model.rounds[0]
    assert isinstance(weights, Pass)
    laid = lay(batch_of(model, stories[:1]))
    q = torch.ones(len(laid.packing.order), 6, requires_grad=True)
    near = likeness(q[laid.question], q[laid.question])
    g = weights.attention(near, None, laid)
    (gradient,) = torch.autograd.grad((g * torch.arange(len(g))).sum(), q)
    assert torch.isfinite(gradient).all()


def test_dropout_is_for_training(stories: list[Story]) -> None:
    model = build(stories, dropout=0.5)
    batch = batch_of(model, stories)
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert not torch.equal(model(batch), model(batch))


@pytest.mark.parametrize(("field", "value"), [("passes", 0), ("dropout", 1.0), ("l2", -1.0)])
def test_impossible_values_are_refused(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=field):
        DMNConfig.from_dict({field: value})
