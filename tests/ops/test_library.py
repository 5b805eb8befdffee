"""Finding the kernel, choosing among its builds, and doing without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernels import runnable_kernels

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    wanted = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], env=wanted, capture_output=True, text=True, check=False
    )


SHOW = "from entnet.ops import kernel_name; print(kernel_name())"


@pytest.mark.parametrize("name", ["baseline", "reference"])
def test_the_environment_chooses_the_kernel(name: str) -> None:
    done = python(SHOW, ENTNET_KERNEL=name)
    assert done.stdout.strip() == name
    assert done.stderr == ""


def test_without_a_wish_the_best_is_taken() -> None:
    done = python(SHOW, ENTNET_KERNEL="")
    assert done.stdout.strip() == runnable_kernels()[0]


def test_a_kernel_that_does_not_exist_is_refused() -> None:
    done = python(SHOW, ENTNET_KERNEL="mmx")
    assert "EntNetError: ENTNET_KERNEL is 'mmx', but must be one of avx512" in done.stderr


OUTDATED = """
import _ctypes
from pathlib import Path
from entnet.ops import library, kernel_name
library._PATH = Path(_ctypes.__file__)  # a library that has none of our functions
kernel_name()
"""


def test_a_kernel_of_other_sources_is_refused() -> None:
    done = python(OUTDATED, ENTNET_KERNEL="")
    assert "EntNetError:" in done.stderr
    assert "was built from other sources than these" in done.stderr
    assert "python setup.py build_ext --inplace" in done.stderr


WITHOUT = """
from pathlib import Path
import torch
from entnet.ops import library, native, kernel_name, memory_scan, ScanParameters
library._PATH = Path("nowhere.so")
x, keys = torch.randn(3, 4), torch.randn(2, 4)
for _ in range(2):
    p = ScanParameters(None, keys, None, None)
    states = memory_scan(x, x, keys, p, torch.tensor([0, 3]), torch.tensor([2]))
print(kernel_name(), tuple(states.shape))
"""


def test_without_a_kernel_the_reference_runs_and_says_so_once() -> None:
    done = python(WITHOUT)
    assert done.stdout.strip() == "reference (1, 2, 4)"
    assert done.stderr.count("plain PyTorch") == 1


def test_without_a_kernel_asking_for_one_is_an_error() -> None:
    done = python(WITHOUT, ENTNET_KERNEL="baseline")
    assert "but there is no kernel" in done.stderr


def test_without_a_compiler_the_package_still_builds(tmp_path: Path) -> None:
    for part in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / part, tmp_path)
    shutil.copytree(ROOT / "native", tmp_path / "native")
    (tmp_path / "src/entnet/ops").mkdir(parents=True)
    (tmp_path / "src/entnet/ops/__init__.py").touch()
    missing = {"CC": "no-such-compiler", "CXX": "no-such-compiler", "LDSHARED": "no-such-linker"}
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=tmp_path,
        env={**os.environ, **missing},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("*.so"))


GROWN = """
import ctypes
from entnet.ops import library, kernel_name
grown = [*library.HopsStruct._fields_, ("more", ctypes.c_int64)]
class HopsStruct(ctypes.Structure):
    _fields_ = grown
places = [HopsStruct if known is library.HopsStruct else known for known in library.STRUCTURES]
library.STRUCTURES = tuple(places)
kernel_name()
"""


def test_a_kernel_whose_structures_have_other_sizes_is_refused() -> None:
    done = python(GROWN, ENTNET_KERNEL="")
    assert "EntNetError:" in done.stderr
    assert "(HopsStruct has another size there)" in done.stderr
