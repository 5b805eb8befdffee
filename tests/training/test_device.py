"""Training and answering on a device of another kind equal those on the CPU: nothing assumes the CPU."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from elsewhere import Elsewhere, elsewhere

from entnet import Corpus, EntNet, EntNetConfig, EntNetError, Story, Tracker, TrainConfig, Vocab
from entnet.data.story import story_words
from entnet.export.weights import plain_network
from entnet.training.engine import TorchEngine, choose_engine


def built(stories: list[Story], **options: object) -> tuple[EntNet, Corpus]:
    vocab = Vocab.build(story_words(stories))
    torch.manual_seed(3)
    sizes = {"vocabulary": len(vocab), "sentence_length": 6, "width": 5, "slots": 3}
    return EntNet(EntNetConfig(**{**sizes, **options}), vocab), Corpus.encode(stories, vocab, 6)


@pytest.mark.parametrize(
    "options",
    [{}, {"dropout": 0.3}, {"encoder": "bow", "hops": 2}, {"activation": "identity"}],
    ids=str,
)
def test_training_is_the_same_elsewhere(stories: list[Story], options: dict[str, object]) -> None:
    found = []
    for away in (False, True):
        model, corpus = built(stories, **options)
        batch = corpus.entries().batch(np.arange(len(stories)))
        torch.manual_seed(1)
        if away:
            with elsewhere() as device:
                engine = TorchEngine(model, TrainConfig(engine="reference", device=device))
                results = [engine.step(batch, 0.01) for _ in range(4)]
                assert isinstance(next(engine.model.parameters()).data, Elsewhere)
                answers, loss = engine.predict(batch)
        else:
            engine = TorchEngine(model, TrainConfig(engine="reference"))
            results = [engine.step(batch, 0.01) for _ in range(4)]
            answers, loss = engine.predict(batch)
        found.append(([result.loss for result in results], loss, answers.tolist()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)
    assert found[0][2] == found[1][2]


def test_mixing_devices_is_noticed() -> None:
    """The device itself: what a GPU refuses, it refuses."""
    with elsewhere() as device:
        there = torch.ones(3).to(device)
        assert (there + 1).cpu().tolist() == [2, 2, 2]
        with pytest.raises(RuntimeError, match="some in main memory"):
            there + torch.ones(3)


def test_devices_that_are_not_there_are_named(stories: list[Story]) -> None:
    model, _ = built(stories)
    with pytest.raises(EntNetError, match="device 'cuda:9' cannot be used"):
        choose_engine(model, TrainConfig(device="cuda:9"))
    with pytest.raises(EntNetError, match="device 'toaster' cannot be used"):
        choose_engine(model, TrainConfig(device="toaster"))
    with pytest.raises(EntNetError, match="on the cpu"):
        choose_engine(model, TrainConfig(device="cuda", engine="native"))


@pytest.mark.parametrize(
    "options",
    [{}, {"encoder": "bow", "hops": 2}, {"gate": "stretched"}, {"keys": "tied"}, {"keys": "named"}],
    ids=str,
)
def test_reading_and_asking_is_the_same_elsewhere(
    stories: list[Story], options: dict[str, object]
) -> None:
    if "keys" in options:
        options = {**options, "key_words": ("mary", "john", "to"), "gate_bias": False}
    model, _ = built(stories, **options)
    sentences, asked = stories[0].sentences, stories[0].questions[0].text
    here = Tracker(model)
    ours, answer, slots = here.read_sentences(sentences), here.ask(asked), here.slots()
    arrays, snapshot = plain_network(model)["arrays"], here.snapshot()
    with elsewhere() as device:
        there = Tracker(copy.deepcopy(model).to(device))
        assert isinstance(there.state.memory, Elsewhere)
        for one, other in zip(ours, there.read_sentences(sentences), strict=True):
            np.testing.assert_allclose(other.gates, one.gates, rtol=1e-4)
            np.testing.assert_allclose(other.movement, one.movement, rtol=1e-4, atol=1e-6)
        assert there.ask(asked).probability == pytest.approx(answer.probability, rel=1e-4)
        np.testing.assert_allclose(there.ask(asked).attention, answer.attention, rtol=1e-4)
        assert [slot.key for slot in there.slots()] == [slot.key for slot in slots]
        assert plain_network(there.model)["arrays"] == arrays
    away = there.snapshot()
    with elsewhere():
        there.reset()
        there.restore(snapshot)
        assert isinstance(there.state.memory, Elsewhere)
        assert there.ask(asked).probability == pytest.approx(answer.probability, rel=1e-4)
    here.restore(away)
    assert here.ask(asked).probability == pytest.approx(answer.probability, rel=1e-4)
