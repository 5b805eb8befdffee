"""What the tests of compiled operators share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernels import poisoned_kernel, runnable_kernels


@pytest.fixture(params=runnable_kernels())
def kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each build of the kernel that this machine can run, its work space filled with NaN before use."""
    with poisoned_kernel(request.param):
        yield request.param
