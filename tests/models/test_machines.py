"""NTM and DNC: the stream of words, properties of addressing, exact recall, and what must not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from entnet.config import ConfigError
from entnet.data.story import Corpus, RaggedBatch, Story, story_words
from entnet.models.dnc import DNC, DNCConfig
from entnet.models.machine import MemoryMachine
from entnet.models.ntm import NTM, NTMConfig
from entnet.models.weaving import weave
from entnet.ops import addressing
from entnet.ops.machine import Machine, State, dnc_step, memory_start, ntm_step
from entnet.text import Vocab

KINDS: dict[str, tuple[type[MemoryMachine], Any, dict[str, Any]]] = {
    "ntm": (NTM, NTMConfig, {}),
    "ntm-write-first": (NTM, NTMConfig, {"read_first": False}),
    "dnc": (DNC, DNCConfig, {}),
    "dnc-mds": (
        DNC,
        DNCConfig,
        {
            "masking": True,
            "deallocation": True,
            "sharpness": True,
            "blank_steps": 3,
            "embedding": 5,
        },
    ),
    "adnc": (DNC, DNCConfig, {"links": False, "layer_norm": True, "backward_units": 3}),
}


def build(stories: list[Story], kind: str, **options: Any) -> MemoryMachine:
    torch.manual_seed(0)
    vocab = Vocab.build(story_words(stories))
    network, config, own = KINDS[kind]
    sizes = {"units": 6, "slots": 5, "width": 4, "heads": 2, "sentence_length": 5}
    values = {"vocabulary": len(vocab), **sizes, **own, **options}
    return network(config.from_dict(values), vocab).eval()


def batch_of(model: MemoryMachine, stories: list[Story]) -> RaggedBatch:
    entries = Corpus.encode(stories, model.vocab, 5).entries("story")
    return entries.batch(np.arange(len(entries)))


def test_the_stream_has_every_word_in_its_place(stories: list[Story]) -> None:
    model = build(stories, "dnc")
    batch, size = batch_of(model, stories), len(model.vocab)
    stream = weave(batch, size, blank_steps=2)
    marks = {size: ".", size + 1: "?", size + 2: "-", size + 3: "_"}
    words = [marks.get(t) or model.vocab.words[t] for t in stream.tokens.tolist()]
    expected, due = [], []
    for story in stories:
        before = len(expected)
        for number, text in enumerate(story.sentences, start=1):
            expected += [*text.lower().rstrip(".").split(), "."]
            for question in story.questions:
                if question.after == number:
                    expected += [*question.text.lower().rstrip("?").split(), "?", "_", "_", "-"]
                    due.append(len(expected) - 1)
        last = max(question.after for question in story.questions)
        if last < len(story.sentences):  # what follows the last question is not read
            cut = sum(len(text.split()) + 1 for text in story.sentences[last:])
            expected = expected[:-cut]
        assert len(expected) > before
    assert words == expected
    assert stream.answers.tolist() == due
    assert int(stream.lengths.sum()) == len(words)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_right(stories: list[Story], kind: str) -> None:
    model = build(stories, kind, units=3, slots=4, width=2).double()
    batch = batch_of(model, stories[:2])
    names = [name for name, _ in model.named_parameters()]

    def scores(*values: Tensor) -> Tensor:
        given = dict(zip(names, values, strict=True))
        result: Tensor = torch.func.functional_call(model, given, (batch,))
        return result

    assert torch.autograd.gradcheck(scores, tuple(model.parameters()), atol=1e-4, fast_mode=True)


@pytest.mark.parametrize("kind", KINDS)
def test_stories_do_not_see_each_other(stories: list[Story], kind: str) -> None:
    model = build(stories, kind)
    together = model(batch_of(model, stories))
    alone = torch.cat([model(batch_of(model, [story])) for story in stories])
    torch.testing.assert_close(alone, together, rtol=1e-4, atol=1e-5)


def test_bypass_dropout_is_for_training(stories: list[Story]) -> None:
    model = build(stories, "adnc", bypass_dropout=0.5)
    batch = batch_of(model, stories)
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert not torch.equal(model(batch), model(batch))


def test_a_backward_reader_sees_what_follows(stories: list[Story]) -> None:
    """Changing the last sentence changes an answer that is due before it, with the backward reader only."""
    told = stories[0]
    other = Story((*told.sentences[:-1], "Mary went to the garden ."), told.questions)
    for kind, sees in (("dnc", False), ("adnc", True)):
        model = build([*stories, other], kind)
        one, two = (model(batch_of(model, [story]))[0] for story in (told, other))
        assert torch.allclose(one, two) != sees


# -- addressing, as equations say


def test_allocation_fills_what_is_free() -> None:
    torch.manual_seed(1)
    usage = torch.rand(20, 6, dtype=torch.float64)
    a = addressing.allocation(usage)
    floored = addressing.EPSILON + (1 - addressing.EPSILON) * usage
    torch.testing.assert_close(a.sum(1), 1 - floored.prod(1))
    usage[:, 2] = 0
    torch.testing.assert_close(
        addressing.allocation(usage), torch.eye(6).double()[2].expand(20, 6), atol=1e-5, rtol=0
    )
    assert addressing.allocation(torch.ones(1, 6)).abs().max() < 1e-6


def test_links_follow_the_order_of_writing() -> None:
    N = 8
    links, precedence = torch.zeros(1, N, N), torch.zeros(1, N)
    for slot in (5, 2, 7):
        write = torch.eye(N)[slot : slot + 1]
        links = addressing.linked(links, precedence, write)
        precedence = (1 - write.sum(-1, keepdim=True)) * precedence + write
    expected = torch.zeros(N, N)
    expected[2, 5] = expected[7, 2] = 1
    torch.testing.assert_close(links[0], expected)
    torch.testing.assert_close(links[0] @ torch.eye(N)[5], torch.eye(N)[2])
    torch.testing.assert_close(links[0].T @ torch.eye(N)[7], torch.eye(N)[2])
    again = addressing.linked(links, precedence, torch.eye(N)[2:3])[0]
    assert again[2, 5] == 0
    assert again[7, 2] == 0
    assert again[2, 7] == 1


def test_shifts_go_the_right_way_around() -> None:
    weights = torch.eye(5)[4]
    for shift, place in ((0, 3), (1, 4), (2, 0)):
        moved = addressing.shifted(weights, torch.eye(3)[shift])
        assert torch.equal(moved, torch.eye(5)[place])


def test_sharpening_and_content_are_distributions() -> None:
    torch.manual_seed(1)
    weights = addressing.sharpened(
        torch.rand(4, 6).softmax(-1), torch.tensor([1.0, 2.0, 5.0, 20.0])
    )
    torch.testing.assert_close(weights.sum(-1), torch.ones(4))
    empty = addressing.content_weights(torch.zeros(1, 5, 3), torch.randn(1, 1, 3), torch.ones(1, 1))
    torch.testing.assert_close(empty, torch.full((1, 1, 5), 0.2))


def test_masked_units_do_not_count() -> None:
    torch.manual_seed(1)
    memory, keys, strengths = torch.randn(1, 5, 4), torch.randn(1, 1, 4), torch.full((1, 1), 3.0)
    masks = torch.tensor([[[1.0, 1.0, 0.0, 1.0]]])
    changed = memory.clone()
    changed[..., 2] += 10
    one, other = (addressing.content_weights(m, keys, strengths, masks) for m in (memory, changed))
    torch.testing.assert_close(one, other)


def test_states_of_a_dnc_stay_in_their_bounds() -> None:
    torch.manual_seed(1)
    machine = Machine("dnc", 6, 3, 2)
    state = memory_start(machine, torch.zeros(4, 3, 6))
    for _ in range(20):
        state, _ = dnc_step(machine, state, 2 * torch.randn(4, machine.interface))
        for bounded in (state.usage, state.links, state.weights, state.precedence):
            assert bounded.min() >= -1e-6
            assert bounded.max() <= 1 + 1e-5
        assert (state.links.diagonal(dim1=1, dim2=2) == 0).all()
        assert (state.links.sum(1) <= 1 + 1e-5).all()
        assert (state.links.sum(2) <= 1 + 1e-5).all()
        assert (state.weights.sum(-1) <= 1 + 1e-5).all()
        assert (state.precedence.sum(-1) <= 1 + 1e-5).all()


def step_with(machine: Machine, state: State, **parts: float | Tensor) -> tuple[State, Tensor]:
    """A step with an interface of zeros but for these parts."""
    values = []
    for name, size in machine.parts():
        given = parts.get(name, 0.0)
        values.append(given if isinstance(given, Tensor) else torch.full((size,), given))
    step = dnc_step if machine.kind == "dnc" else ntm_step
    return step(machine, state, torch.cat(values).unsqueeze(0))


@pytest.mark.parametrize("links", [True, False])
def test_what_is_written_is_read_back_by_its_content(links: bool) -> None:
    """Write to free slots, then look for each vector: it comes back."""
    torch.manual_seed(1)
    machine = Machine("dnc", 5, 6, 1, links=links)
    vectors, state = torch.randn(3, 6), memory_start(machine, torch.zeros(1, 2, 5))
    always = {"allocate": 20.0, "gate": 20.0, "free": -20.0}
    for vector in vectors:
        state, _ = step_with(machine, state, write=vector, erase=20.0, **always)
    modes = {"modes": torch.tensor([-20.0, 20.0, -20.0])} if links else {}
    for vector in vectors:
        keys = torch.cat([torch.zeros(6), 3 * vector])
        _, read = step_with(
            machine, state, keys=keys, strengths=20.0, gate=-20.0, free=-20.0, **modes
        )
        torch.testing.assert_close(read[0], vector, atol=0.02, rtol=0)
    if links:  # from the first on, forwards: the sequence comes back
        keys = torch.cat([torch.zeros(6), 3 * vectors[0]])
        kept = {"gate": -20.0, "free": -20.0}
        state, _ = step_with(machine, state, keys=keys, strengths=20.0, **kept, **modes)
        forward = torch.tensor([-20.0, -20.0, 20.0])
        for vector in vectors[1:]:
            state, read = step_with(machine, state, modes=forward, **kept)
            torch.testing.assert_close(read[0], vector, atol=0.05, rtol=0)


def test_a_freed_slot_is_the_next_to_be_written() -> None:
    machine = Machine("dnc", 4, 4, 1, deallocation=True)
    state = memory_start(machine, torch.zeros(1, 2, 4))
    content = {"modes": torch.tensor([-20.0, 20.0, -20.0])}
    vectors = 3 * torch.eye(4)
    for vector in vectors:
        state, _ = step_with(
            machine, state, write=vector, allocate=20.0, gate=20.0, free=-20.0, **content
        )
    keys = torch.cat([torch.zeros(4), vectors[1]])
    state, _ = step_with(
        machine, state, keys=keys, strengths=20.0, gate=-20.0, free=-20.0, **content
    )
    read = int(state.weights[0, 1].argmax())
    state, _ = step_with(machine, state, gate=20.0, allocate=20.0, free=20.0, **content)
    assert int(state.weights[0, 0].argmax()) == read
    assert state.weights[0, 0, read] > 0.9
    assert state.memory[0, read].abs().max() < 0.3  # and it was erased when it was freed


def test_gradients_through_usage_can_be_stopped() -> None:
    torch.manual_seed(1)
    for stopped in (True, False):
        machine = Machine("dnc", 4, 3, 1, usage_gradient=not stopped)
        state = memory_start(machine, torch.zeros(1, 2, 4))
        weights = torch.rand(1, 2, 4, requires_grad=True)
        state = state._replace(weights=weights, usage=torch.rand(1, 4))
        after, _ = dnc_step(machine, state, torch.randn(1, machine.interface))
        (gradient,) = torch.autograd.grad(after.usage.sum(), weights)
        assert (gradient[0, 0] == 0).all() == stopped


def test_the_order_of_slots_does_not_matter() -> None:
    torch.manual_seed(1)
    machine = Machine("dnc", 6, 3, 2)
    state = memory_start(machine, torch.rand(1, 3, 6).softmax(-1))
    state = state._replace(memory=torch.randn(1, 6, 3), usage=torch.rand(1, 6))
    mixed = torch.randperm(6)
    other = state._replace(
        memory=state.memory[:, mixed],
        usage=state.usage[:, mixed],
        weights=state.weights[..., mixed],
    )
    interface = torch.randn(1, machine.interface)
    one, two = dnc_step(machine, state, interface), dnc_step(machine, other, interface)
    torch.testing.assert_close(one[1], two[1])
    torch.testing.assert_close(one[0].memory[:, mixed], two[0].memory)


def test_an_ntm_steps_through_its_memory() -> None:
    """With the gate closed to content and a shift of one, the head moves on by a slot a step."""
    machine = Machine("ntm", 5, 2, 1, links=False, memory_start=1e-6)
    state = memory_start(machine, torch.eye(5)[:1].expand(1, 2, -1))
    onward = torch.tensor([-20.0, -20.0, 20.0]).repeat(2)
    for place in (1, 2, 3, 4, 0):
        state, _ = step_with(machine, state, gates=-20.0, shifts=onward, write=20.0, erase=20.0)
        assert int(state.weights[0, 0].argmax()) == place
        torch.testing.assert_close(state.memory[0, place], torch.ones(2), atol=1e-3, rtol=0)


@pytest.mark.parametrize(
    ("field", "value"),
    [("slots", 0), ("embedding", 0), ("blank_steps", -1), ("bypass_dropout", 1.0)],
)
def test_impossible_values_are_refused(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=field):
        DNCConfig.from_dict({field: value})
    with pytest.raises(ConfigError, match="sharpness"):
        DNCConfig.from_dict({"sharpness": True, "links": False})
