"""Code of a network's own is really called, wherever compiled code would run the network it extends."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from entnet import Corpus, EntNet, EntNetError, RaggedBatch, Story, Tracker, TrainConfig
from entnet.models.compiled import stream_of, why_not_compiled
from entnet.models.encoder import Encoder
from entnet.models.lstm import LSTM, LSTMConfig
from entnet.models.memn2n import MemN2N, MemN2NConfig
from entnet.models.memory import Memory
from entnet.models.own_code import own_code
from entnet.models.readout import Reading, Readout
from entnet.ops import library, plain_pytorch
from entnet.ops.reference import ScanParameters
from entnet.training.engine import TorchEngine, choose_engine
from entnet.training.evaluate import score
from entnet.training.loop import Run
from entnet.training.native_engine import NativeEngine
from entnet.training.setup import prepare
from random_batches import OPTIONS, WORDS, random_batch, random_network

calls: list[str] = []


@pytest.fixture(autouse=True)
def nothing_called() -> None:
    calls.clear()


class OwnGate(Memory):
    """Slots that open half as far as the paper's."""

    def gate(self, *given: Any) -> Tensor:
        calls.append("gate")
        return super().gate(*given) / 2


class OwnCandidate(Memory):
    def candidate(self, c: Tensor, memory: Tensor, parameters: ScanParameters) -> Tensor:
        calls.append("candidate")
        return super().candidate(c, memory, parameters).tanh()


class OwnForget(Memory):
    def forget(self, memory: Tensor, norm_floor: float = 0.0) -> Tensor:
        calls.append("forget")
        return super().forget(memory, norm_floor) * 0.9


class OwnReadout(Readout):
    def forward(self, *given: Any) -> Reading:
        calls.append("readout")
        reading: Reading = super().forward(*given)
        return reading._replace(scores=reading.scores * 2)


class OwnEncoder(Encoder):
    def mask_for_story(self) -> Tensor | None:
        calls.append("encoder")
        mask = super().mask_for_story()
        return None if mask is None else mask * 2


class GateNet(EntNet):
    memory_class = OwnGate


class CandidateNet(EntNet):
    memory_class = OwnCandidate


class ForgetNet(EntNet):
    memory_class = OwnForget


class ReadoutNet(EntNet):
    readout_class = OwnReadout


class EncoderNet(EntNet):
    encoder_class = OwnEncoder


class ForwardNet(EntNet):
    def forward(self, batch: RaggedBatch) -> Tensor:
        calls.append("forward")
        return super().forward(batch) * 2


class AnswerNet(EntNet):
    def answer(self, batch: RaggedBatch, alone: Tensor | None = None) -> Reading:
        calls.append("answer")
        reading = super().answer(batch, alone)
        return reading._replace(scores=reading.scores * 2)


class KeysNet(EntNet):
    def keys(self, story_keys: Tensor | None = None) -> Tensor:
        calls.append("keys")
        return super().keys(story_keys) * 2


class LossNet(EntNet):
    def loss(self, batch: RaggedBatch) -> tuple[Tensor, Tensor]:
        calls.append("loss")
        losses, scores = super().loss(batch)
        return losses * 2, scores


IN_ALL = (GateNet, CandidateNet, ForgetNet, ReadoutNet, EncoderNet, KeysNet)
"""Whose code belongs to reading and asking, in whatever way it is done."""
IN_BATCHES = (*IN_ALL, ForwardNet, AnswerNet)


def network(kind: type[EntNet]) -> EntNet:
    model = random_network({})
    made = kind(model.config, model.vocab)
    made.load_state_dict(model.state_dict())
    return made


@pytest.mark.parametrize("kind", [*IN_BATCHES, LossNet])
def test_training_calls_it_and_gradients_follow_it(kind: type[EntNet]) -> None:
    model, plain = network(kind), network(EntNet)
    config = TrainConfig(optimizer="sgd", max_grad_norm=0.0)
    batch = random_batch(model.config, seed=1)
    engine = choose_engine(model, config)
    engine.step(batch, 0.1)
    assert calls
    choose_engine(plain, config).step(batch, 0.1)
    changed = [
        name
        for (name, one), other in zip(model.named_parameters(), plain.parameters(), strict=True)
        if not torch.allclose(one, other, atol=1e-5)
    ]
    assert "embedding" in changed


@pytest.mark.parametrize("kind", [GateNet, CandidateNet, ForgetNet])
def test_gradients_of_an_equation_of_ones_own_are_right(kind: type[EntNet]) -> None:
    model = network(kind).double()
    batch = random_batch(model.config, seed=1, stories=2, questions=3)

    def loss(gate_bias: Tensor, embedding: Tensor) -> Tensor:
        values = {"memory.gate_bias": gate_bias, "embedding": embedding}
        scores: Tensor = torch.func.functional_call(model, values, (batch,))
        return scores.logsumexp(-1).sum()

    bias = model.get_parameter("memory.gate_bias").detach().requires_grad_()
    embedding = model.embedding.detach().requires_grad_()
    assert torch.autograd.gradcheck(loss, (bias, embedding), fast_mode=True)


@pytest.mark.parametrize("kind", IN_BATCHES)
def test_evaluation_calls_it(kind: type[EntNet], stories: list[Story]) -> None:
    model = kind_for(kind, stories)
    entries = Corpus.encode(stories, model.vocab, model.config.sentence_length).entries()
    score(choose_engine(model, TrainConfig()), entries)
    assert calls


@pytest.mark.parametrize("kind", IN_BATCHES)
def test_a_tracker_and_a_step_call_it(kind: type[EntNet], stories: list[Story]) -> None:
    tracker = Tracker(kind_for(kind, stories))
    tracker.read("Mary went to the garden.")
    tracker.ask("Where is Mary?")
    assert calls
    calls.clear()
    with torch.no_grad():
        words = torch.randint(1, WORDS, (1, 6))
        model = network(kind).eval()
        state, _ = model.step(model.initial_state(), words)
        model.read(state, words)
    assert calls


def test_a_step_of_ones_own_is_what_a_tracker_takes(stories: list[Story]) -> None:
    class StepNet(EntNet):
        def step(self, *given: Any) -> Any:
            calls.append("step")
            return super().step(*given)

    Tracker(kind_for(StepNet, stories)).read("Mary went to the garden.")
    assert calls == ["step"]


def kind_for(kind: type[EntNet], stories: list[Story]) -> EntNet:
    model = prepare(stories, stories, None, TrainConfig(), model_options={"width": 6}).build()
    assert isinstance(model, EntNet)
    return kind(model.config, model.vocab).eval()


def test_a_run_says_so_in_one_line(
    tmp_path: Path, stories: list[Story], caplog: pytest.LogCaptureFixture
) -> None:
    prepared = prepare(stories, stories, stories, config := TrainConfig(epochs=2))

    def build() -> EntNet:
        model = prepared.build()
        assert isinstance(model, EntNet)
        return GateNet(model.config, model.vocab)

    with caplog.at_level(logging.INFO, "entnet"):
        result = Run(tmp_path, build, prepared.data, config).train()
    (line,) = [record.getMessage() for record in caplog.records if record.name == "entnet"]
    assert line.endswith("not in compiled code: memory has its own gate")
    assert result["engine"] == "torch"
    assert calls


def test_the_native_engine_refuses_it_when_asked_for_by_name() -> None:
    with pytest.raises(EntNetError, match="memory has its own gate"):
        choose_engine(network(GateNet), TrainConfig(engine="native"))


class Twice(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * x


def hook(model: EntNet) -> None:
    model.readout.register_forward_hook(lambda *_: calls.append("hook"))


def pre_hook(model: EntNet) -> None:
    model.register_forward_pre_hook(lambda *_: calls.append("hook"))


def parameter_hook(model: EntNet) -> None:
    model.embedding.register_hook(lambda gradient: 2 * gradient)


def another_readout(model: EntNet) -> None:
    model.readout = OwnReadout(model.config)


def another_method(model: EntNet) -> None:
    model.memory.gate = Twice()  # type: ignore[assignment]


def one_more_part(model: EntNet) -> None:
    model.extra = Twice()


def shared_weights(model: EntNet) -> None:
    model.readout.R = model.embedding


def frozen(model: EntNet) -> None:
    model.embedding.requires_grad_(False)


def another_setting(model: EntNet) -> None:
    model.memory.normalise = False


def another_shape(model: EntNet) -> None:
    model.memory.gate_bias = nn.Parameter(torch.zeros(1))


CHANGES = (
    hook,
    pre_hook,
    parameter_hook,
    another_readout,
    another_method,
    one_more_part,
    shared_weights,
    frozen,
    another_setting,
    another_shape,
)


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_is_changed_on_a_network_leaves_it_to_pytorch(
    change: Callable[[EntNet], None],
) -> None:
    model = random_network({})
    assert why_not_compiled(model) is None
    change(model)
    assert why_not_compiled(model) is not None
    assert isinstance(choose_engine(model, TrainConfig()), TorchEngine)


@pytest.mark.parametrize("change", [hook, another_readout, one_more_part])
def test_changes_after_a_network_was_compiled_are_noticed(
    change: Callable[[EntNet], None],
) -> None:
    model = random_network({}).eval()
    words = torch.randint(1, WORDS, (1, 6))
    with torch.no_grad():
        memory = model.initial_state().memory
        assert stream_of(model, memory, words) is not None
        change(model)
        assert stream_of(model, memory, words) is None
    model = random_network({})
    engine = NativeEngine(model, TrainConfig())
    change(model)
    with pytest.raises(EntNetError, match="after its engine was built"):
        engine.step(random_batch(model.config, seed=1), 0.1)


def test_networks_of_the_package_have_none() -> None:
    for options in OPTIONS.values():
        assert own_code(random_network(options), EntNet) is None


def test_what_decides_nothing_may_be_overridden() -> None:
    class Named(EntNet):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.readers = ["a", "b"]

        def shown(self) -> str:
            return "a method that EntNet does not have"

    assert own_code(network(Named), EntNet) is None


@pytest.mark.parametrize("kind", ["entnet", "lstm", "memn2n"])
def test_the_reference_engine_takes_no_compiled_operator(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = random_network({})
    model = {
        "entnet": lambda: plain,
        "lstm": lambda: LSTM(LSTMConfig(vocabulary=WORDS), plain.vocab),
        "memn2n": lambda: MemN2N(MemN2NConfig(vocabulary=WORDS), plain.vocab),
    }[kind]()
    batch = random_batch(plain.config, seed=1)

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("compiled code was called")

    for operator in (
        "entnet.ops.native.memory_scan",
        "entnet.ops.lstm._CompiledScan.forward",
        "entnet.ops.hops._CompiledHops.forward",
    ):
        monkeypatch.setattr(operator, fail)
    with pytest.raises(AssertionError, match="compiled"):
        TorchEngine(model, TrainConfig()).step(batch, 0.1)
    engine = choose_engine(model, TrainConfig(engine="reference"))
    engine.step(batch, 0.1)
    engine.predict(batch)


def test_plain_pytorch_ends_with_its_block() -> None:
    numbers = torch.zeros(1)
    assert library.can_run(numbers)
    with plain_pytorch():
        assert not library.can_run(numbers)
    assert library.can_run(numbers)
