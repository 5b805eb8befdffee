"""The compiled engine does what TorchEngine does: losses, gradients, updates, state on disk."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from entnet import Corpus, EntNet, EntNetConfig, Story, TrainConfig, Vocab
from entnet.data.babi import read_babi
from entnet.data.story import Entries, longest_sentence, story_words
from entnet.errors import EntNetError
from entnet.models.lstm import LSTM, LSTMConfig
from entnet.ops import plain_pytorch
from entnet.training.engine import Engine, TorchEngine, choose_engine
from entnet.training.native_engine import NativeEngine
from kernels import poisoned_kernel, runnable_kernels
from random_batches import OPTIONS, random_batch, random_network, twin
from small_networks import make_stories

TOLERANCE = 5e-4
"""Largest difference of a gradient, in units of its largest entry."""

TRAINING = [
    TrainConfig(),
    TrainConfig(loss="mean", max_grad_norm=0.05),
    TrainConfig(optimizer="sgd", max_grad_norm=1.0),
    TrainConfig(max_grad_norm=0),
    TrainConfig(betas=(0.7, 0.95), epsilon=1e-5),
]


@pytest.fixture(autouse=True)
def reference_scan() -> Iterator[None]:
    """TorchEngine is to be plain PyTorch through and through."""
    with plain_pytorch():
        yield


@pytest.fixture(params=runnable_kernels())
def kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each build of the kernel in turn."""
    with poisoned_kernel(request.param):
        yield request.param


def assert_same_update(plain: TorchEngine, native: NativeEngine) -> None:
    """The same gradients, and the same weights after them."""
    clip = plain.config.max_grad_norm
    norm = float(native.gradients.norm())
    scale = min(1.0, clip / (norm + 1e-6)) if clip > 0 else 1.0
    for name, parameter in plain.model.named_parameters():
        if not parameter.requires_grad:
            continue
        wanted = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        got = native.gradient(name) * scale
        largest = max(float(wanted.abs().max()), 1e-3)
        off = float((wanted - got).abs().max())
        assert off <= TOLERANCE * largest, f"{name}: off by {off}"
        # Adam makes whole steps of gradients that are nothing but rounding: look at the others.
        real = (wanted == 0) | (wanted.abs() > 1e-3 * largest)
        moved = native.trained[name].detach()
        torch.testing.assert_close(moved[real], parameter.detach()[real], rtol=1e-4, atol=1e-5)


def assert_same_steps(
    options: dict[str, object], config: TrainConfig, seed: int, same_ends: bool = False
) -> None:
    model = random_network(options, seed)
    plain, native = TorchEngine(model, config), NativeEngine(twin(model), config)
    for number in range(3):
        batch = random_batch(model.config, seed=10 * seed + number)
        if same_ends:
            others = random_batch(model.config, seed=10 * seed + number + 5)
            batch = replace(batch, same_ends=others)
        answers, loss = plain.predict(batch)
        got_answers, got_loss = native.predict(batch)
        assert torch.equal(got_answers, answers)
        assert got_loss == pytest.approx(loss, rel=1e-4)
        results = []
        for engine in (plain, native):
            torch.manual_seed(number)  # dropout, noise
            results.append(engine.step(batch, 0.01))
        assert results[1].loss == pytest.approx(results[0].loss, rel=1e-4)
        assert results[1][1:] == results[0][1:]
        assert_same_update(plain, native)
        native.model.load_state_dict(model.state_dict())
        native.load_state(plain.state())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", OPTIONS)
def test_steps_are_those_of_pytorch(name: str, threads: int) -> None:
    torch.set_num_threads(threads)
    number = list(OPTIONS).index(name) + threads
    assert_same_steps(OPTIONS[name], TRAINING[number % len(TRAINING)], seed=number)


@pytest.mark.parametrize("config", TRAINING, ids=["adam", "mean", "sgd", "unlimited", "betas"])
def test_every_kind_of_training_is_that_of_pytorch(config: TrainConfig) -> None:
    assert_same_steps({}, config, seed=5)
    assert_same_steps(OPTIONS["simple"], config, seed=6)


@pytest.mark.parametrize(
    "name", ["paper", "gates-threshold", "gates-stretched", "gates-mostly-shut"]
)
def test_a_penalty_on_open_gates_is_that_of_pytorch(name: str) -> None:
    for seed, loss in enumerate(("sum", "mean")):
        config = TrainConfig(gate_penalty=0.3, loss=loss, max_grad_norm=0)
        assert_same_steps(OPTIONS[name], config, seed)


def test_a_penalty_shuts_gates() -> None:
    config = TrainConfig(gate_penalty=1.0)
    model = random_network({"gate": "stretched", "gate_threshold": 0.2})
    engine, batch = NativeEngine(model, config), random_batch(model.config, seed=1, stories=20)
    sentence = batch.words[batch.quiet][:1]
    before = model.step(model.initial_state(), sentence)[1].sum()
    for _ in range(30):
        engine.step(batch, 0.01)
    assert model.step(model.initial_state(), sentence)[1].sum() < before / 2


@pytest.mark.parametrize("name", ["paper", "memory-noise", "gates-stretched", "two-encoders"])
def test_a_penalty_on_ends_that_differ_is_that_of_pytorch(name: str) -> None:
    for seed, loss in enumerate(("sum", "mean")):
        config = TrainConfig(end_penalty=0.7, loss=loss, max_grad_norm=0)
        assert_same_steps(OPTIONS[name], config, seed, same_ends=True)


def test_a_penalty_draws_ends_together() -> None:
    config = TrainConfig(end_penalty=5.0)
    model = random_network({})
    engine, batch = NativeEngine(model, config), random_batch(model.config, seed=1, stories=8)
    others = random_batch(model.config, seed=2, stories=8)
    batch = replace(batch, same_ends=others)

    def apart() -> float:
        with torch.no_grad():
            return float((model.ends(batch) - model.ends(others)).square().sum())

    before = apart()
    for _ in range(40):
        engine.step(batch, 0.01)
    assert apart() < before / 2


def test_every_kernel_computes_the_same(kernel: str) -> None:
    names = ("paper", "tied-keys-dropout", "simple", "odd-size", "narrow")
    for seed, name in enumerate((*names, "named-slots", "gates-stretched", "memory-noise")):
        assert_same_steps(OPTIONS[name], TRAINING[seed % 2], seed)


def entries_of(stories: list[Story]) -> tuple[Entries, EntNetConfig, Vocab]:
    vocab = Vocab.build(story_words(stories))
    length = longest_sentence(stories)
    config = EntNetConfig(vocabulary=len(vocab), sentence_length=length, width=24, slots=5)
    return Corpus.encode(stories, vocab, length).entries(memory_limit=70), config, vocab


def epoch_loss(engine: Engine, entries: Entries, epoch: int) -> float:
    order = np.random.default_rng(epoch).permutation(len(entries))
    results = [engine.step(entries.batch(group), 0.01) for group in entries.groups(32, order)]
    return sum(r.loss for r in results) / sum(r.questions for r in results)


def assert_same_training(stories: list[Story]) -> None:
    entries, config, vocab = entries_of(stories)
    torch.manual_seed(1)
    model = EntNet(config, vocab)
    plain, native = TorchEngine(model, TrainConfig()), NativeEngine(twin(model), TrainConfig())
    for epoch in range(5):
        wanted = epoch_loss(plain, entries, epoch)
        assert epoch_loss(native, entries, epoch) == pytest.approx(wanted, abs=1e-4)


def test_five_epochs_give_the_same_losses() -> None:
    assert_same_training(make_stories(150, seed=1))


@pytest.mark.slow
def test_five_epochs_on_an_official_task_give_the_same_losses(official_data: Path) -> None:
    stories = read_babi(official_data / "babi/en/qa2_two-supporting-facts_train.txt")
    assert_same_training(stories[:60])


def test_one_thread_repeats_itself_to_the_bit() -> None:
    weights = []
    for _ in range(2):
        engine = NativeEngine(random_network({}), TrainConfig())
        for seed in range(5):
            engine.step(random_batch(engine.model.config, seed), 0.01)
        weights.append(engine.network.flat.clone())
    assert torch.equal(weights[0], weights[1])


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("kinds", [(NativeEngine, NativeEngine), (TorchEngine, NativeEngine)])
def test_a_run_goes_on_from_its_state(
    kinds: tuple[type[Engine], type[Engine]], optimizer: str
) -> None:
    config = TrainConfig(optimizer=optimizer)  # type: ignore[arg-type]
    model = random_network({})
    batches = [random_batch(model.config, seed) for seed in range(6)]
    first = kinds[0](model, config)  # type: ignore[call-arg]
    for batch in batches[:3]:
        first.step(batch, 0.01)
    second = kinds[1](twin(model), config)  # type: ignore[call-arg]
    second.load_state(first.state())
    for batch in batches[3:]:
        wanted, got = first.step(batch, 0.01), second.step(batch, 0.01)
        if kinds[0] is kinds[1]:
            assert got == wanted
        else:
            assert got.loss == pytest.approx(wanted.loss, rel=1e-4)


def test_state_is_taken_by_torch_too() -> None:
    native = NativeEngine(random_network({}), TrainConfig())
    native.step(random_batch(native.model.config, 0), 0.01)
    plain = TorchEngine(twin(native.model), TrainConfig())
    plain.load_state(native.state())
    batch = random_batch(native.model.config, 1)
    assert plain.step(batch, 0.01).loss == pytest.approx(native.step(batch, 0.01).loss, rel=1e-4)
    assert plain.state().keys() == native.state().keys()


def test_it_is_chosen_where_it_can_run() -> None:
    assert choose_engine(random_network({}), TrainConfig()).name == "native"
    assert choose_engine(random_network({}), TrainConfig(engine="reference")).name == "torch"
    assert choose_engine(random_network({"hops": 2}), TrainConfig()).name == "native"


def test_networks_that_it_cannot_train_are_named() -> None:
    vocab = Vocab(["<null>", "a"])
    other = LSTM(LSTMConfig(vocabulary=2), vocab)
    assert "LSTM" in str(NativeEngine.supports(other, TrainConfig()))
    model = random_network({})
    model.embedding.requires_grad_(False)
    with pytest.raises(ValueError, match="embedding"):
        NativeEngine(model, TrainConfig())


def test_a_network_that_was_moved_is_noticed() -> None:
    engine = NativeEngine(random_network({}), TrainConfig())
    engine.model.embedding.data = engine.model.embedding.data.clone()
    with pytest.raises(RuntimeError, match="embedding was moved"):
        engine.step(random_batch(engine.model.config, 0), 0.01)


def test_numbers_out_of_range_are_refused() -> None:
    engine = NativeEngine(random_network({}), TrainConfig())
    before = engine.network.flat.clone()
    for field, value, reason in (
        ("words", 30, "vocabulary"),
        ("question_words", -1, "vocabulary"),
        ("answers", 99, "answer"),
        ("question_step", 10_000, "outside"),
    ):
        batch = random_batch(engine.model.config, 0)
        getattr(batch, field).view(-1)[0] = value
        with pytest.raises(EntNetError, match=reason):
            engine.step(batch, 0.01)
    assert torch.equal(engine.network.flat, before)


LONG_STORIES = """
import torch
from pathlib import Path
from entnet import EntNet, EntNetConfig, TrainConfig, Vocab
from entnet.data.story import RaggedBatch
from entnet.training.native_engine import NativeEngine

torch.set_num_threads(2)
vocab = Vocab(["<null>", *(str(i) for i in range(40))])
engine = NativeEngine(EntNet(EntNetConfig(vocabulary=41), vocab), TrainConfig())
stories, length, asked = 7, 228, 5
batch = RaggedBatch(
    torch.randint(1, 41, (stories * length, 8)),
    torch.arange(stories + 1) * length,
    torch.randint(1, 41, (stories * asked, 8)),
    torch.arange(stories).repeat_interleave(asked) * length + length - 1,
    torch.randint(1, 41, (stories * asked,)),
)
for _ in range(3):
    engine.step(batch, 0.01)
# The peak of this process alone: getrusage counts what the parent held when it started this one.
peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
print(int(peak) // 1024)
"""


@pytest.mark.slow
def test_long_stories_stay_under_a_gigabyte() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LONG_STORIES], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 1000
