"""Builds the compiled kernel, where a C++ compiler is at hand; all else is in pyproject.toml.

native/kernel.cpp is compiled once for every instruction set, and all of them go into one library, which
chooses among them when it is loaded. Without a compiler, the package installs and runs without it.
"""

from __future__ import annotations

import os
import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

COMMON = ["-O3", "-g0", "-std=c++17", "-fvisibility=hidden", "-fno-math-errno"]
# GCC sees unset variables in its own AVX-512 headers; vectors never cross between files.
COMMON += ["-Wno-maybe-uninitialized", "-Wno-uninitialized", "-Wno-psabi"]
KERNELS = {"baseline": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    COMMON.append("-DENTNET_X86")
    KERNELS["avx2"] = ["-mavx2", "-mfma"]
    KERNELS["avx512"] = [
        *("-mavx2", "-mfma", "-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw"),
        "-mprefer-vector-width=512",
    ]


class BuildKernel(build_ext):
    """Compiles one source several times, and names the library plainly: it is no Python module."""

    def get_ext_filename(self, fullname: str) -> str:
        return str(Path(*fullname.split("."))) + ".so"

    def build_extension(self, ext: Extension) -> None:
        out = Path(self.get_ext_fullpath(ext.name))
        sources = ["native/library.cpp", "native/plan.cpp", "native/pool.cpp", "native/running.cpp"]
        plain = ["-fno-exceptions", "-fno-rtti"]
        with ThreadPoolExecutor(
            os.cpu_count()
        ) as pool:  # the compiler runs in processes of its own
            parts = [
                *(
                    pool.submit(
                        self._compile,
                        ["native/kernel.cpp"],
                        [*flags, f"-DENTNET_ISA={name}", *plain],
                        name,
                    )
                    for name, flags in KERNELS.items()
                ),
                *(pool.submit(self._compile, [source], []) for source in sources),
            ]
            objects = [name for part in parts for name in part.result()]
        out.parent.mkdir(parents=True, exist_ok=True)
        self.compiler.link_shared_object(
            objects, str(out), libraries=["pthread", "m"], target_lang="c++"
        )

    def _compile(self, sources: list[str], flags: list[str], name: str = "shared") -> list[str]:
        found: list[str] = self.compiler.compile(
            sources,
            output_dir=str(Path(self.build_temp) / name),
            extra_postargs=[*COMMON, *flags],
            depends=[str(path) for path in Path("native").glob("*.h")],
        )
        return found


class AnyPython(bdist_wheel):
    """The kernel is called through ctypes, so a wheel is for one kind of machine and every Python 3."""

    def get_tag(self) -> tuple[str, str, str]:
        return ("py3", "none", super().get_tag()[2])


setup(
    ext_modules=[
        Extension("entnet.ops._kernel", ["native/kernel.cpp"], language="c++", optional=True)
    ],
    cmdclass={"build_ext": BuildKernel, "bdist_wheel": AnyPython},
)
