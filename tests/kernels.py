"""Which builds of the kernel can be tested here, and testing with one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from entnet.ops.library import KERNELS, library


def runnable_kernels() -> list[str]:
    """The builds of the kernel that this machine can run."""
    loaded = library()
    assert loaded is not None, "the kernel is not built: run python setup.py build_ext --inplace"
    best = loaded.entnet_kernel_name()
    found = [name for name in KERNELS if loaded.entnet_choose_kernel(name.encode()) is None]
    loaded.entnet_choose_kernel(best)
    return found


@contextmanager
def poisoned_kernel(name: str) -> Iterator[None]:
    """Use this build, with every buffer that it or PyTorch hands out full of NaN."""
    loaded = library()
    assert loaded is not None
    best = loaded.entnet_kernel_name()
    assert loaded.entnet_choose_kernel(name.encode()) is None
    loaded.entnet_poison(1)
    # With this on, torch.empty is filled with NaN.
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)
        loaded.entnet_poison(0)
        loaded.entnet_choose_kernel(best)
