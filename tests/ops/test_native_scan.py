"""The compiled scan equals the reference: states and every gradient, every option, odd sizes."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from entnet import ops
from entnet.errors import EntNetError
from entnet.ops import native, reference
from entnet.ops.reference import GateShape, ScanParameters

TOLERANCE = 2e-4
"""Largest difference from the reference in double precision, in units of the largest entry or of 1."""


class Options(NamedTuple):
    per_story: bool = False
    U: bool = True
    prelu: bool = True
    gate_bias: bool = True
    normalise: bool = True
    closed: bool = True
    norm_floor: float = 0.0
    gate_shape: GateShape | None = None


class Case(NamedTuple):
    floats: dict[str, Tensor]
    options: Options
    offsets: Tensor
    read_at: Tensor
    closed: Tensor | None
    weights: Tensor
    """What the states are summed with, so that every one has a gradient of its own."""


def make_case(m: int, d: int, lengths: list[int], options: Options, seed: int = 0) -> Case:
    dice = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=dice) * 0.5

    sentences = sum(lengths)
    keys = (len(lengths), m, d) if options.per_story else (m, d)
    floats = {
        "candidate_input": normal(sentences, d),
        "gate_input": normal(sentences, d),
        "keys": normal(*keys),
        "key_input": normal(*keys),
    }
    if options.U:
        floats["U"] = normal(d, d) / d**0.5
    if options.prelu:
        floats["slope"] = torch.rand(d, generator=dice)
    if options.gate_bias:
        floats["gate_bias"] = normal(m)
    reads = max(1, sentences // 2)
    return Case(
        floats,
        options,
        torch.tensor([0, *lengths]).cumsum(0),
        torch.randint(0, sentences, (reads,), generator=dice),
        torch.rand(sentences, generator=dice) < 0.3 if options.closed else None,
        normal(reads, m, d),
    )


def run(scan: object, case: Case, dtype: torch.dtype) -> dict[str, Tensor]:
    """States and gradients, by name."""
    f = {name: tensor.detach().to(dtype).requires_grad_() for name, tensor in case.floats.items()}
    parameters = ScanParameters(
        f.get("U"),
        f["key_input"],
        f.get("slope"),
        f.get("gate_bias"),
        case.options.normalise,
        case.options.norm_floor,
        case.options.gate_shape,
    )
    states = scan(  # type: ignore[operator]
        f["candidate_input"],
        f["gate_input"],
        f["keys"],
        parameters,
        case.offsets,
        case.read_at,
        case.closed,
    )
    (states * case.weights.to(dtype)).sum().backward()
    return {"states": states.detach(), **{name: tensor.grad for name, tensor in f.items()}}


def assert_equal(case: Case) -> None:
    wanted = run(reference.memory_scan, case, torch.float64)
    got = run(native.memory_scan, case, torch.float32)
    for name, value in wanted.items():
        # Autograd leaves None where nothing was read.
        right = torch.zeros_like(got[name]).double() if value is None else value
        scale = max(1.0, float(right.abs().max()))
        difference = float((got[name].double() - right).abs().max())
        assert difference <= TOLERANCE * scale, f"{name}: off by {difference}"


SIZES = [(1, 1), (1, 100), (3, 7), (20, 100), (5, 129), (17, 16), (33, 20)]
ALL_OPTIONS = [Options(*choice) for choice in itertools.product((False, True), repeat=6)]


@pytest.mark.parametrize(("m", "d"), SIZES)
def test_every_option_equals_the_reference(kernel: str, m: int, d: int) -> None:
    chosen = ALL_OPTIONS if m * d < 100 else ALL_OPTIONS[::5]
    for seed, options in enumerate(chosen):
        torch.set_num_threads(1 + seed % 2)
        assert_equal(make_case(m, d, [3, 1, 7, 2, 5], options, seed))


def test_a_norm_held_up_by_its_floor_is_a_constant(kernel: str) -> None:
    for floor in (1e-12, 0.5, 1.5):
        assert_equal(make_case(4, 20, [6, 3], Options(norm_floor=floor)))


SHUT = (
    GateShape(0.5, 1.0, 0.0, 0.45),
    GateShape(0.4, 1 / 0.6, -0.4 / 0.6, 0.01),
    GateShape(0.6, 1, 0, 0.58),
)


@pytest.mark.parametrize("shape", SHUT)
@pytest.mark.parametrize(("m", "d"), SIZES)
def test_gates_that_shut_equal_the_reference(kernel: str, m: int, d: int, shape: GateShape) -> None:
    for seed, options in enumerate(ALL_OPTIONS[:: 1 if m * d < 30 else 7]):
        torch.set_num_threads(1 + seed % 2)
        changed = options._replace(gate_shape=shape, norm_floor=0.5 * (seed % 2))
        assert_equal(make_case(m, d, [3, 1, 7, 2, 5], changed, seed))


def test_a_shut_slot_stays_as_it_is_to_the_bit(kernel: str) -> None:
    shape = GateShape(0.5, 2.0, -1.0, 0.3)
    case = make_case(8, 20, [4], Options(gate_shape=shape, closed=False))
    f = case.floats
    parameters = ScanParameters(
        f["U"], f["key_input"], f["slope"], f["gate_bias"], gate_shape=shape
    )
    states = native.memory_scan(
        f["candidate_input"], f["gate_input"], f["keys"], parameters, case.offsets, torch.arange(4)
    )
    before = f["keys"]
    kinds = set()
    for t, after in enumerate(states):
        pressed = reference.gate(f["gate_input"][t], before, f["keys"], f["gate_bias"])
        same = (after == before).all(-1)
        kinds |= set(same.tolist())
        clear = (pressed - 0.5).abs() > 1e-5
        assert torch.equal(same[clear], (pressed < 0.5)[clear])
        before = after
    assert kinds == {True, False}


def test_a_memory_of_zeros_stays_zero_and_has_a_gradient(kernel: str) -> None:
    case = make_case(4, 20, [3, 2], Options(gate_bias=False))
    case.floats["keys"].zero_()
    case.floats["key_input"].zero_()
    case.floats["candidate_input"].zero_()
    assert_equal(case)


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    m=st.integers(1, 9),
    d=st.integers(1, 40),
    threads=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
def test_any_sizes_equal_the_reference(
    lengths: list[int], m: int, d: int, threads: int, seed: int
) -> None:
    torch.set_num_threads(threads)
    options = ALL_OPTIONS[seed % len(ALL_OPTIONS)]
    assert_equal(make_case(m, d, lengths, options, seed))


def test_one_sentence_stories_and_long_ones(kernel: str) -> None:
    for lengths in ([1], [1, 1, 1], [1, 60, 1]):
        assert_equal(make_case(5, 24, lengths, Options()))


def test_reads_in_any_order_with_repeats_and_none_at_all(kernel: str) -> None:
    case = make_case(3, 8, [4, 2, 5], Options())
    for read_at in ([10, 0, 5, 5, 3, 10], [3]):
        weights = case.weights[:1].expand(len(read_at), -1, -1)
        assert_equal(case._replace(read_at=torch.tensor(read_at), weights=weights))
    nothing = case._replace(read_at=torch.zeros(0, dtype=torch.int64), weights=case.weights[:0])
    got = run(native.memory_scan, nothing, torch.float32)
    assert got.pop("states").shape == (0, 3, 8)
    assert all(gradient.abs().max() == 0 for gradient in got.values())


def test_stories_that_are_never_asked_have_no_gradient(kernel: str) -> None:
    case = make_case(3, 8, [4, 2, 5], Options())
    case = case._replace(read_at=torch.tensor([4]), weights=case.weights[:1])
    got = run(native.memory_scan, case, torch.float32)
    assert got["candidate_input"][:4].abs().max() == 0
    assert got["candidate_input"][4].abs().max() > 0
    assert got["candidate_input"][5:].abs().max() == 0


def test_one_thread_repeats_itself_to_the_bit(kernel: str) -> None:
    torch.set_num_threads(1)
    case = make_case(20, 100, [9, 4, 13, 1], Options())
    first, second = (run(native.memory_scan, case, torch.float32) for _ in range(2))
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


def test_the_number_of_threads_changes_rounding_only(kernel: str) -> None:
    case = make_case(20, 100, [9, 4, 13, 1], Options())
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        results.append(run(native.memory_scan, case, torch.float32))
    for other in results[1:]:
        assert torch.equal(other["states"], results[0]["states"])
        for name, value in results[0].items():
            torch.testing.assert_close(other[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_the_operator_is_a_good_citizen_of_pytorch() -> None:
    case = make_case(3, 8, [4, 2], Options())
    f = {name: tensor.detach().requires_grad_() for name, tensor in case.floats.items()}
    arguments = (
        *(f[name] for name in ("candidate_input", "gate_input", "keys", "key_input")),
        *(f[name] for name in ("U", "slope", "gate_bias")),
        *(case.offsets, case.read_at, case.closed, True, 0.0, []),
    )
    torch.library.opcheck(torch.ops.entnet.memory_scan.default, arguments)


def test_torch_compile_takes_the_scan_as_one_operator() -> None:
    case = make_case(3, 8, [4, 2], Options())
    compiled = torch.compile(native.memory_scan, backend="aot_eager", fullgraph=True)
    wanted = run(native.memory_scan, case, torch.float32)
    got = run(compiled, case, torch.float32)
    for name, value in wanted.items():
        assert torch.equal(got[name], value), name


def test_denormal_numbers_are_back_after_a_call() -> None:
    run(native.memory_scan, make_case(3, 8, [4], Options()), torch.float32)
    assert float(torch.tensor(1e-40) * 0.5) > 0


def test_double_precision_takes_the_reference() -> None:
    case = make_case(3, 8, [4, 2], Options())
    got = run(ops.memory_scan, case, torch.float64)
    wanted = run(reference.memory_scan, case, torch.float64)
    assert torch.equal(got["states"], wanted["states"])
    with pytest.raises(EntNetError, match="float32"):
        run(native.memory_scan, case, torch.float64)


def test_tensors_that_are_not_dense_are_taken(kernel: str) -> None:
    case = make_case(3, 8, [4, 2], Options())
    single = case._replace(floats={**case.floats, "slope": torch.tensor([0.3]).expand(8)})
    single.floats["U"] = single.floats["U"].T
    assert_equal(single)


def test_wrong_shapes_and_offsets_are_refused() -> None:
    case = make_case(3, 8, [4, 2], Options())
    short = {**case.floats, "gate_input": case.floats["gate_input"][:-1]}
    with pytest.raises(EntNetError, match="gate_input is"):
        run(native.memory_scan, case._replace(floats=short), torch.float32)
    for offsets, read_at, reason in (
        ([0, 4, 5], [1], "span"),
        ([0, 7, 6], [1], "backwards"),
        ([0, 4, 6], [6], "outside"),
        ([0, 4, 6], [-1], "outside"),
    ):
        wrong = case._replace(
            offsets=torch.tensor(offsets),
            read_at=torch.tensor(read_at),
            weights=case.weights[:1],
        )
        with pytest.raises(EntNetError, match=reason):
            run(native.memory_scan, wrong, torch.float32)
