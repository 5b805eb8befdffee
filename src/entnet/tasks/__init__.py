"""The benchmarks, one file each: where batches come from, what is measured, how a run goes."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from entnet.config import Config
from entnet.errors import EntNetError
from entnet.tasks.spec import Result, RunSpec
from entnet.training.trainer import Callback


class Benchmark(Protocol):
    """What a file of this folder has."""

    def run(self, spec: RunSpec, callback: Callback | None) -> Result:
        """Do a run, from wherever it stands, and return its line of results."""

    def settings(self, kind: str) -> list[type[Config]]:
        """What can be set of a run with this kind of system: of its model, training and source."""


BENCHMARKS = {
    "babi": "entnet.tasks.babi",
    "gridworld": "entnet.tasks.gridworld",
    "babilong": "entnet.tasks.babilong",
    "cbt": "entnet.tasks.cbt",
    "copying": "entnet.tasks.copying",
    "propara": "entnet.tasks.propara",
    "stories": "entnet.tasks.stories",
    "world": "entnet.tasks.world",
}


def benchmark(name: str) -> Benchmark:
    """The benchmark of this name."""
    if name not in BENCHMARKS:
        raise EntNetError(f"no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    found: Any = import_module(BENCHMARKS[name])
    return found  # type: ignore[no-any-return]


def require_data(spec: RunSpec) -> None:
    """An error if what a run reads is not there, for benchmarks that can say so without reading it."""
    check = getattr(benchmark(spec.benchmark), "require_data", None)
    if check is not None:
        check(spec)
