"""The simple network in compiled code is the network in PyTorch: scores, updates, dropout, new words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn

from cbt_questions import telling_questions
from entnet.data.cbt.windows import WindowedQuestions, with_oov_rows
from entnet.data.story import RaggedBatch
from entnet.errors import EntNetError
from entnet.models.entnet import EntNet
from entnet.models.readers.native import NativeSimple, is_simple, simple_config
from entnet.models.readers.scorer import accuracy
from entnet.ops.windows import is_built
from entnet.text import Vocab
from kernels import poisoned_kernel, runnable_kernels

KNOWN = 60


@pytest.fixture(autouse=True, params=runnable_kernels())
def kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test runs on each build of the kernel, its work space filled with NaN before use."""
    with poisoned_kernel(request.param):
        yield request.param


def questions(count: int, new: int = 0, seed: int = 1) -> WindowedQuestions:
    """Random questions; the last ``new`` words are new ones."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(1, 9, count)
    total = int(lengths.sum())
    high = KNOWN + new
    windows = draw.integers(0, high, (total, 5), dtype=np.int32)
    windows[:, 2] = draw.integers(1, high, total)
    queries = draw.integers(0, high, (count, 21), dtype=np.int32)
    queries[:, 10] = 1
    return WindowedQuestions(
        windows=windows,
        centres=np.zeros(total, dtype=np.int32),
        offsets=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        candidates=np.stack(
            [draw.permutation(np.arange(1, high))[:10] for _ in range(count)]
        ).astype(np.int32),
        queries=queries,
        answers=draw.integers(0, 10, count).astype(np.int32),
        known=KNOWN,
    )


def network(width: int, oov_rows: int = 3, query: int = 5, **options: object) -> EntNet:
    torch.manual_seed(width)
    vocab = with_oov_rows(Vocab.build(f"w{n}" for n in range(KNOWN - 1)), oov_rows)
    config = simple_config(len(vocab), width=width, sentence_length=query, **options)
    model = EntNet(config, vocab)
    with torch.no_grad():  # masks of 1 would hide mistakes
        for mask in (
            model.encoder.story_mask,
            model.encoder.gate_mask,
            model.encoder.question_mask,
        ):
            assert mask is not None
            mask.add_(torch.randn_like(mask) * 0.3)
        if model.memory.gate_bias is not None:
            model.memory.gate_bias.add_(torch.randn(10) * 0.3)
    return model.eval()


def batch(
    data: WindowedQuestions, chosen: np.ndarray, oov_rows: int, query: int = 5
) -> RaggedBatch:
    return data.corpus(oov_rows, query).entries().batch(chosen)


def test_the_compiled_code_is_there() -> None:
    """The package builds it; without it, training takes hours and nothing would say so."""
    assert is_built()


@pytest.mark.parametrize("width", [1, 7, 16, 100, 129])
@pytest.mark.parametrize("bias", [False, True])
def test_scores_are_those_of_the_network(width: int, bias: bool) -> None:
    data = questions(12, new=5)
    model = network(width, gate_bias=bias)
    with torch.no_grad():
        expected = model(batch(data, np.arange(12), 3))
    torch.testing.assert_close(torch.from_numpy(NativeSimple(model).scores(data)), expected)


@pytest.mark.parametrize("query", [7, 21])
def test_a_wider_view_of_the_query(query: int) -> None:
    data = questions(9)
    model = network(20, query=query)
    with torch.no_grad():
        expected = model(batch(data, np.arange(9), 3, query))
    torch.testing.assert_close(torch.from_numpy(NativeSimple(model).scores(data)), expected)


def train_in_torch(
    model: EntNet,
    data: WindowedQuestions,
    order: np.ndarray,
    rate: float,
    clip: float,
    size: int,
    keep: np.ndarray | None,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[float, int]:
    """The same training, step by step: summed loss, clipped gradient, plain descent."""
    oov_rows = model.config.vocabulary - KNOWN
    loss_sum, errors = 0.0, 0
    for first in range(0, len(order), size):
        chosen = order[first : first + size]
        if keep is not None:
            factors = torch.from_numpy(keep[first : first + size])
            monkeypatch.setattr(model, "_kept_dimensions", lambda _, factors=factors: factors)
            model.train()
        one = batch(data, chosen, oov_rows)
        scores = model(one)
        loss = nn.functional.cross_entropy(scores, one.answers, reduction="sum")
        model.zero_grad()
        loss.backward()
        assert model.embedding.grad is not None
        model.embedding.grad[0] = 0  # the null word is no parameter, and counts in no norm
        trained = [p for p in model.parameters() if p.requires_grad]
        nn.utils.clip_grad_norm_(trained, clip)
        with torch.no_grad():
            for p in trained:
                if p.grad is not None:
                    p -= rate * p.grad
        model.after_update()
        loss_sum += loss.item()
        errors += int((scores.argmax(1) != one.answers).sum())
    return loss_sum, errors


@pytest.mark.parametrize(
    ("clip", "dropped", "bias"), [(40.0, False, False), (0.5, False, True), (40.0, True, True)]
)
def test_training_is_that_of_the_network(
    clip: float, dropped: bool, bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = questions(50, new=4)
    model = network(24, oov_rows=1, gate_bias=bias)  # one OOV row: every new word takes it
    native = NativeSimple(model)
    order = np.random.default_rng(5).permutation(50)[:45]  # the last batch is a short one
    draw = np.random.default_rng(6)
    keep = (draw.random((45, 24)) < 0.5).astype(np.float32) * 2 if dropped else None
    if not dropped:
        keep = np.ones((45, 24), dtype=np.float32)
    result = native.train_epoch(data, order, 0.05, batch=8, clip=clip, keep=keep)
    loss, errors = train_in_torch(
        model, data, order, 0.05, clip, 8, keep if dropped else None, monkeypatch
    )
    assert result.loss == pytest.approx(loss / 45, rel=1e-4)
    assert result.error == pytest.approx(100 * errors / 45)
    after = native.to_model()
    for (name, ours), (_, theirs) in zip(
        after.named_parameters(), model.named_parameters(), strict=True
    ):
        # Six steps on losses near 13 carry rounding of up to 2e-5; each build sums in its own order.
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=5e-5, msg=name)


def test_adaptive_training_is_adagrad() -> None:
    data = questions(40)
    model = network(24)
    native = NativeSimple(model, adaptive=True)
    keep = np.ones((40, 24), dtype=np.float32)
    native.train_epoch(data, np.arange(40), 0.05, batch=8, clip=0.0, keep=keep)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.Adagrad(trained, lr=0.05, eps=1e-8)
    for first in range(0, 40, 8):
        one = batch(data, np.arange(first, first + 8), 3)
        loss = nn.functional.cross_entropy(model(one), one.answers, reduction="sum")
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        model.after_update()
    for (name, ours), (_, theirs) in zip(
        native.to_model().named_parameters(), model.named_parameters(), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4, msg=name)


def test_the_null_word_and_the_padding_stay_zero() -> None:
    native = NativeSimple(network(20))
    native.train_epoch(questions(40), np.arange(40), 0.1)
    assert not native.embedding[0].any()
    assert not any(values[..., 20:].any() for values in native.parameters().values())


def test_the_same_seed_gives_the_same_network_and_another_does_not() -> None:
    data, order = questions(64, new=6), np.arange(64)
    results = []
    for seed in (1, 1, 2):
        native = NativeSimple(network(20, oov_rows=8))
        native.train_epoch(data, order, 0.05, oov_probability=0.3, seed=seed)
        results.append(native.embedding)
    assert (results[0] == results[1]).all()
    assert (results[0] != results[2]).any()


def test_candidates_in_disguise_are_read_through_the_fresh_rows() -> None:
    data = questions(30)
    # Words 1 to 30 occur as candidates alone, 31 to 59 anywhere else.
    draw = np.random.default_rng(1)
    candidates = np.stack([draw.permutation(np.arange(1, 31))[:10] for _ in range(30)])
    data = WindowedQuestions(
        np.where(data.windows, data.windows % 29 + 31, 0).astype(np.int32),
        data.centres,
        data.offsets,
        candidates.astype(np.int32),
        np.where(data.queries, data.queries % 29 + 31, 0).astype(np.int32),
        data.answers,
        KNOWN,
    )
    model = network(20, oov_rows=16)
    before = model.embedding.detach().numpy().copy()
    native = NativeSimple(model)
    native.train_epoch(data, np.arange(30), 0.05, oov_probability=1.0)
    moved = (native.embedding[:, :20] != before).any(1)
    assert not moved[1:31].any()
    assert moved[KNOWN:].all()


def test_training_learns_what_can_be_learnt() -> None:
    draw, data = np.random.default_rng(3), telling_questions(4000, KNOWN)
    native = NativeSimple(network(40, embedding_scale=0.3))
    untrained = accuracy(native.scores(data), data.answers)
    for epoch in range(12):
        native.train_epoch(data, draw.permutation(len(data)), 0.02, seed=epoch)
    assert untrained < 0.6
    assert accuracy(native.scores(data), data.answers) > 0.9


def test_only_the_simple_network_is_taken() -> None:
    assert is_simple(simple_config(20))
    vocab = Vocab.build(f"w{n}" for n in range(19))
    model = EntNet(simple_config(20, normalise=True), vocab)
    with pytest.raises(EntNetError, match="simple network"):
        NativeSimple(model)


def test_questions_numbered_for_another_vocabulary_are_refused() -> None:
    native = NativeSimple(network(20))
    data = questions(3)
    other = WindowedQuestions(
        data.windows, data.centres, data.offsets, data.candidates, data.queries, data.answers, 50
    )
    with pytest.raises(EntNetError, match="50 known words"):
        native.scores(other)
