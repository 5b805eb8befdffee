"""Reading in a stream on the compiled kernel equals reading in PyTorch, and sees every change."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from entnet import EntNet
from entnet.models import compiled
from entnet.models.memory import MemoryState
from kernels import poisoned_kernel, runnable_kernels
from random_batches import LENGTH, OPTIONS, WORDS, random_batch, random_network

Walk = list[torch.Tensor]


def story_keys(model: EntNet) -> torch.Tensor | None:
    wanted = model.config.keys == "story"
    return torch.arange(1, model.config.slots + 1).unsqueeze(0) if wanted else None


def walk(model: EntNet, sentences: torch.Tensor, question: torch.Tensor) -> Walk:
    """Memory and gates after each sentence, then scores and attention."""
    state = model.initial_state(story_keys(model))
    seen: Walk = []
    for words in sentences:
        state, gates = model.step(state, words.unsqueeze(0))
        seen += [state.memory, gates]
    reading = model.read(state, question.unsqueeze(0))
    return [*seen, reading.scores, reading.attention]


def both_ways(model: EntNet) -> tuple[Walk, Walk]:
    batch = random_batch(model.config, seed=3)
    sentences, question = batch.words[:6], batch.question_words[0]
    with torch.enable_grad():
        plain = [tensor.detach() for tensor in walk(model, sentences, question)]
    with torch.inference_mode():
        assert compiled.stream_of(model, plain[0], sentences[:1]) is not None
        return plain, walk(model, sentences, question)


@pytest.mark.parametrize("kernel", runnable_kernels())
def test_every_option_equals_pytorch(kernel: str) -> None:
    with poisoned_kernel(kernel):
        for options in OPTIONS.values():
            model = random_network(options).eval()
            for wanted, got in zip(*both_ways(model), strict=True):
                torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


def test_states_are_values() -> None:
    model = random_network({}).eval()
    words = torch.randint(1, WORDS, (1, LENGTH))
    with torch.no_grad():
        start = model.initial_state()
        before = start.memory.clone()
        after, _ = model.step(start, words)
    assert torch.equal(start.memory, before)
    assert not torch.equal(after.memory, before)


def test_changed_weights_are_seen() -> None:
    model = random_network({}).eval()
    words = torch.randint(1, WORDS, (1, LENGTH))
    with torch.no_grad():
        state = model.initial_state()
        first, _ = model.step(state, words)
        model.memory.W.mul_(2)  # type: ignore[union-attr]
        second, _ = model.step(state, words)
    assert not torch.equal(first.memory, second.memory)
    with torch.enable_grad():
        plain, _ = model.step(state, words)
    torch.testing.assert_close(second.memory, plain.memory.detach(), rtol=1e-4, atol=1e-5)


def test_what_training_changed_is_seen() -> None:
    from entnet import TrainConfig
    from entnet.training.native_engine import NativeEngine

    model = random_network({})
    words = torch.randint(1, WORDS, (1, LENGTH))
    engine = NativeEngine(model, TrainConfig())
    with torch.no_grad():
        state = model.initial_state()
        before, _ = model.step(state, words)
        engine.step(random_batch(model.config, 1), 0.1)
        after, _ = model.step(state, words)
    assert not torch.equal(before.memory, after.memory)


def test_gradients_and_several_memories_take_pytorch() -> None:
    model = random_network({})
    words = torch.randint(1, WORDS, (2, LENGTH))
    one = model.initial_state()
    state, _ = model.step(one, words[:1])
    assert state.memory.requires_grad
    with torch.no_grad():
        two = MemoryState(one.memory.expand(2, -1, -1), one.keys)
        state, gates = model.step(two, words)
    assert state.memory.shape[0] == gates.shape[0] == 2


def test_bags_of_words_may_be_longer_than_usual() -> None:
    model = random_network({"encoder": "bow"}).eval()
    words = torch.randint(1, WORDS, (1, LENGTH + 5))
    state = model.initial_state()
    plain, _ = model.step(state, words)
    with torch.no_grad():
        got, _ = model.step(state, words)
    torch.testing.assert_close(got.memory, plain.memory.detach(), rtol=1e-4, atol=1e-5)


def test_a_network_with_a_stream_can_be_copied() -> None:
    import copy

    model = random_network({}).eval()
    words = torch.randint(1, WORDS, (1, LENGTH))
    with torch.no_grad():
        wanted, _ = model.step(model.initial_state(), words)
        other = copy.deepcopy(model)
        got, _ = other.step(other.initial_state(), words)
    assert torch.equal(got.memory, wanted.memory)


def test_threads_share_a_network() -> None:
    model = random_network({"width": 100, "slots": 20}).eval()
    stories = [random_batch(model.config, seed).words for seed in range(8)]
    question = torch.randint(1, WORDS, (LENGTH,))

    def read(sentences: torch.Tensor) -> Walk:
        with torch.inference_mode():
            return walk(model, sentences, question)

    wanted = [read(story) for story in stories]
    with ThreadPoolExecutor(4) as pool:
        for got, right in zip(pool.map(read, stories * 3), wanted * 3, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(got, right, strict=True))
