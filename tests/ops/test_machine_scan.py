"""The compiled memory machines against the plain ones, in values and all gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from entnet.errors import EntNetError
from entnet.models.layers import pack
from entnet.ops.machine import Machine, Norms, Start, machine_scan_reference
from entnet.ops.machine_native import machine_scan

MACHINES = {
    "dnc": Machine("dnc", 7, 3, 2),
    "dnc-large": Machine("dnc", 33, 17, 5),
    "dnc-one-slot": Machine("dnc", 1, 1, 1),
    "dnc-masking": Machine("dnc", 9, 5, 3, masking=True, deallocation=True),
    "dnc-sharp": Machine("dnc", 16, 4, 4, deallocation=True, sharpness=True),
    "dnc-detached": Machine("dnc", 6, 4, 1, usage_gradient=False),
    "adnc": Machine("dnc", 20, 8, 4, links=False),
    "ntm": Machine("ntm", 7, 3, 2, links=False, memory_start=1e-6),
    "ntm-large": Machine("ntm", 40, 20, 5, links=False, memory_start=1e-6),
    "ntm-write-first": Machine("ntm", 12, 4, 1, links=False, read_first=False),
}
LENGTHS = [[1], [4, 2, 3], [0, 3, 3, 1], [34, 5, 40, 16, 17]]


def arguments(
    machine: Machine,
    lengths: list[int],
    units: int,
    extras: bool = False,
    dtype: torch.dtype = torch.float32,
) -> dict[str, Any]:
    torch.manual_seed(1)
    rows, S, read = sum(lengths), len(lengths), machine.heads * machine.width
    I = machine.interface  # noqa: E741 -- the paper's letter

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=dtype).mul_(0.4).requires_grad_()

    weights = torch.rand(S, machine.weightings, machine.slots, dtype=dtype).softmax(-1)
    sizes = (4 * units, 4 * units, units, units, I, I)
    norms = [normal(size) for size in sizes]
    with torch.no_grad():
        for gain in norms[::2]:
            gain += 1
    return {
        "machine": machine,
        "inputs": normal(rows, 4 * units),
        "U": normal(4 * units, units + read),
        "B": normal(I, units),
        "interface": normal(rows, I),
        "start": Start(
            normal(S, units), normal(S, units), normal(S, read), weights.requires_grad_()
        ),
        "active": pack(torch.tensor(lengths)).active,
        "norms": Norms(*norms) if extras else None,
        "keep": (torch.rand(rows, units, dtype=dtype) < 0.8) / 0.8 if extras else None,
    }


def leaves(made: dict[str, Any]) -> list[Tensor]:
    given = [made[name] for name in ("inputs", "U", "B", "interface")]
    return [*given, *made["start"], *(made["norms"] or ())]


def outcome(scan: Any, made: dict[str, Any]) -> list[Tensor]:
    """Values, and gradients of a sum in which every value counts differently."""
    results = scan(**made)
    total = sum(
        (values * torch.arange(values.numel()).to(values).view_as(values).cos()).sum()
        for values in results
    )
    return [*results, *torch.autograd.grad(total, leaves(made), materialize_grads=True)]  # type: ignore[arg-type]


def names(made: dict[str, Any]) -> list[str]:
    given = ["hiddens", "reads", "inputs", "U", "B", "interface", *Start._fields]
    return given + (list(Norms._fields) if made["norms"] else [])


def assert_equal(made: dict[str, Any]) -> None:
    fast, plain = outcome(machine_scan, made), outcome(machine_scan_reference, made)
    for name, one, other in zip(names(made), fast, plain, strict=True):
        size = max(1.0, float(other.detach().abs().max()) if other.numel() else 1.0)
        torch.testing.assert_close(
            one, other, rtol=2e-3, atol=2e-4 * size, msg=lambda m, name=name: f"{name}: {m}"
        )


@pytest.mark.parametrize("extras", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS[:3])
@pytest.mark.parametrize("name", MACHINES)
def test_the_compiled_machine_equals_the_plain_one(
    kernel: str, name: str, lengths: list[int], extras: bool
) -> None:
    assert_equal(arguments(MACHINES[name], lengths, 7, extras))


@pytest.mark.parametrize("name", ["dnc", "dnc-masking", "dnc-sharp", "adnc", "ntm"])
def test_long_sequences_go_back_by_segments(kernel: str, name: str) -> None:
    """Longer than the sixteen steps between checkpoints, of different lengths."""
    assert_equal(arguments(MACHINES[name], LENGTHS[3], 18))


@pytest.mark.parametrize("extras", [False, True])
@pytest.mark.parametrize(
    "name", ["dnc", "dnc-masking", "dnc-sharp", "adnc", "ntm", "ntm-write-first"]
)
def test_gradients_of_the_plain_machine_are_right(name: str, extras: bool) -> None:
    made = arguments(MACHINES[name], [3, 0, 2], 2, extras, torch.float64)

    def run(*tensors: Tensor) -> tuple[Tensor, Tensor]:
        inputs, U, B, interface, *rest = tensors
        changed = {
            **made,
            **dict(zip(("inputs", "U", "B", "interface"), (inputs, U, B, interface), strict=True)),
            "start": Start(*rest[:4]),
            "norms": Norms(*rest[4:]) if extras else None,
        }
        return machine_scan(**changed)

    assert torch.autograd.gradcheck(run, leaves(made), atol=1e-4, fast_mode=True)


@pytest.mark.parametrize("name", ["dnc", "ntm"])
def test_without_a_way_back_results_are_the_same(kernel: str, name: str) -> None:
    made = arguments(MACHINES[name], LENGTHS[3], 5)
    with torch.no_grad():
        alone = machine_scan(**made)
    for one, other in zip(alone, machine_scan(**made), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", ["dnc", "ntm"])
def test_sequences_do_not_see_each_other(name: str) -> None:
    lengths = [6, 4, 2]
    made = arguments(MACHINES[name], lengths, 5)
    hiddens, reads = machine_scan(**made)
    packing = pack(torch.tensor(lengths))
    rows = packing.place[6:10]  # of the second sequence
    alone = {
        **made,
        "inputs": made["inputs"][rows],
        "interface": made["interface"][rows],
        "start": Start(*(part[1:2] for part in made["start"])),
        "active": [1] * 4,
    }
    for one, other in zip(machine_scan(**alone), (hiddens[rows], reads[rows]), strict=True):
        torch.testing.assert_close(one, other)


def test_a_missing_kernel_takes_the_plain_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    made = arguments(MACHINES["dnc"], [4, 2], 5)
    monkeypatch.setattr("entnet.ops.library.library", lambda: None)
    for one, other in zip(
        outcome(machine_scan, made), outcome(machine_scan_reference, made), strict=True
    ):
        assert torch.equal(one, other)


def test_impossible_calls_are_refused() -> None:
    made = arguments(MACHINES["dnc"], [2, 1], 3)
    with pytest.raises(EntNetError, match="longest first"):
        machine_scan(**{**made, "active": [1, 2]})
    with pytest.raises(EntNetError, match="as many as the rows"):
        machine_scan(**{**made, "active": [2, 2]})
    for name in ("inputs", "U", "B", "interface"):
        with pytest.raises(EntNetError, match=name):
            machine_scan(**{**made, name: made[name][:, :-1]})
