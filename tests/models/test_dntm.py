"""D-NTM: its heads, its memory, its extra losses, and what must not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from entnet.config import ConfigError
from entnet.data.story import Corpus, RaggedBatch, Story, story_words
from entnet.models.dntm import DNTM, DNTMConfig
from entnet.text import Vocab


def build(stories: list[Story], **options: Any) -> DNTM:
    torch.manual_seed(0)
    vocab = Vocab.build(story_words(stories))
    sizes = {"units": 5, "slots": 4, "content": 3, "address": 4, "word_units": 3}
    start = {"norm_sum": 0.0, "weight_scale": 0.5}
    values = {"vocabulary": len(vocab), "sentence_length": 5, **sizes, **start, **options}
    return DNTM(DNTMConfig.from_dict(values), vocab).eval()


def batch_of(model: DNTM, stories: list[Story], by_question: bool = False) -> RaggedBatch:
    corpus = Corpus.encode(stories, model.vocab, 5)
    entries = corpus.entries("question" if by_question else "story")
    return entries.batch(np.arange(len(entries)))


def test_gradients_of_the_loss_are_right(stories: list[Story]) -> None:
    model = build(stories, consistency=0.0).double()
    batch = batch_of(model, stories[:2])
    names = [name for name, _ in model.named_parameters()]

    def losses(*values: Tensor) -> Tensor:
        for name, value in zip(names, values, strict=True):
            owner, _, own = name.rpartition(".")
            module = model.get_submodule(owner)
            del module._parameters[own]
            setattr(module, own, value)
        try:
            return model.loss(batch)[0]
        finally:
            for name, parameter in zip(names, kept, strict=True):
                owner, _, own = name.rpartition(".")
                delattr(model.get_submodule(owner), own)
                model.get_submodule(owner)._parameters[own] = parameter

    kept = list(model.parameters())
    assert torch.autograd.gradcheck(losses, tuple(kept), atol=1e-4, fast_mode=True)


def test_questions_do_not_see_each_other(stories: list[Story]) -> None:
    model = build(stories)
    together = model(batch_of(model, stories))
    torch.testing.assert_close(model(batch_of(model, stories, by_question=True)), together)
    alone = torch.cat([model(batch_of(model, [story])) for story in stories])
    torch.testing.assert_close(alone, together)
    losses = model.loss(batch_of(model, stories))[0]
    alone = torch.cat([model.loss(batch_of(model, [story]))[0] for story in stories])
    torch.testing.assert_close(alone, losses)


def test_weightings_sum_to_one_and_shun_what_was_like_the_key(stories: list[Story]) -> None:
    model = build(stories)
    hidden, rows = torch.randn(6, 5), torch.randn(6, 4, 7)
    weights, used = model.reader(hidden, rows, torch.zeros(6, 4))
    torch.testing.assert_close(weights.sum(1), torch.ones(6))
    with torch.no_grad():
        model.reader.shun.bias.fill_(50.0)  # γ = 1: with v = S nothing is left to tell rows apart
    similar = used / 0.96
    even, _ = model.reader(hidden, rows, similar)
    torch.testing.assert_close(even, torch.full((6, 4), 0.25))


def test_addresses_are_trained_and_never_written(stories: list[Story]) -> None:
    model = build(stories)
    before = model.addresses.detach().clone()
    model.loss(batch_of(model, stories))[0].sum().backward()
    assert torch.equal(model.addresses, before)
    assert model.addresses.grad is not None
    assert model.addresses.grad.any()


def test_the_resting_rows(stories: list[Story]) -> None:
    """What is written to the last row alone is never read; the first row cannot be written."""
    model = build(stories)
    with torch.no_grad():  # the writer's key is the last row's address, and it insists
        model.writer.key.weight.zero_()
        model.writer.key.bias[:3] = 0
        model.addresses.copy_(torch.cat([torch.zeros(4, 4), torch.ones(1, 4)]))
        model.addresses[:4, 0] = -1
        model.writer.key.bias[3:] = 1
        model.writer.strength.bias.fill_(1e3)
        model.writer.shun.bias.fill_(-50.0)
    batch = batch_of(model, stories[:1])
    one = model(batch)
    with torch.no_grad():
        model.candidate.bias += 3
    torch.testing.assert_close(model(batch), one)


def test_the_share_of_words_falls(stories: list[Story]) -> None:
    model = build(stories, words_loss_hold=2, words_loss_fall=0.3)
    shares = []
    for _ in range(6):
        shares.append(model.words_weight)
        model.after_update()
    assert shares == pytest.approx([0.64, 0.64, 0.64, 0.34, 0.12, 0.12])


def test_the_words_of_facts_are_predicted(stories: list[Story]) -> None:
    """The loss of a network that says each word of its facts for sure is that of the answer alone."""
    model = build(stories[:1], words_loss=0.5, words_loss_end=0.5, consistency=0.0, address_l1=0.0)
    batch = batch_of(model, stories[:1])
    answer = torch.nn.functional.cross_entropy(model(batch), batch.answers, reduction="none")
    with torch.no_grad():
        model.bag.weight.zero_()
        model.bag.bias.zero_()
    expected = 0.5 * answer + 0.5 * np.log(2)
    torch.testing.assert_close(model.loss(batch)[0], expected)


def test_a_start_of_the_given_size(stories: list[Story]) -> None:
    model = build(stories, norm_sum=5.0)
    assert sum(float(p.detach().norm()) for p in model.parameters()) == pytest.approx(5.0)


@pytest.mark.parametrize(("field", "value"), [("slots", 0), ("words_loss", 1.0), ("norm_sum", -1)])
def test_impossible_values_are_refused(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=field):
        DNTMConfig.from_dict({field: value})
