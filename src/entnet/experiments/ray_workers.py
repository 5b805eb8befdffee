"""Workers on a Ray cluster. Run directories and data must lie on storage that all its nodes share."""

from __future__ import annotations

import os
from typing import Any

from entnet.errors import EntNetError
from entnet.experiments.running import run_one
from entnet.experiments.workers import RunOutcome
from entnet.locks import BusyError
from entnet.tasks.spec import RunSpec


class RayWorkers:
    """One Ray task per run, one processor each. Ray starts a task again when its worker dies, and the run
    goes on from its last checkpoint."""

    def __init__(self, max_workers: int | None = None, tries: int = 3) -> None:
        """Joins the cluster that RAY_ADDRESS names, else starts a local one."""
        self._ray = _import_ray()
        self._own = not self._ray.is_initialized()
        if self._own:
            self._join(max_workers)
        processors = int(self._ray.cluster_resources().get("CPU", 1))
        self.max_workers = max_workers or processors
        self._do = self._ray.remote(num_cpus=1, max_retries=tries, max_calls=1)(_do_run)
        self._running: dict[Any, RunSpec] = {}

    def _join(self, max_workers: int | None) -> None:
        address = os.environ.get("RAY_ADDRESS")
        if address:
            self._ray.init(address=address, log_to_driver=False)
            return
        # Ray runs its workers at low priority, where a busy machine leaves them next to nothing.
        os.environ.setdefault("RAY_worker_niceness", "0")
        self._ray.init(num_cpus=max_workers, include_dashboard=False, log_to_driver=False)

    def start(self, spec: RunSpec) -> None:
        self._running[self._do.remote(spec.to_json())] = spec

    def ended(self) -> list[RunOutcome]:
        if not self._running:
            return []
        ready, _ = self._ray.wait(list(self._running), num_returns=len(self._running), timeout=0)
        return [self._outcome(reference) for reference in ready]

    def stop(self) -> None:
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running.clear()
        if self._own:
            self._ray.shutdown()

    def _outcome(self, reference: Any) -> RunOutcome:
        spec = self._running.pop(reference)
        try:
            return RunOutcome(spec, self._ray.get(reference))
        except self._ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None) or error
            if isinstance(cause, BusyError):
                return RunOutcome(spec, None, busy=True)
            return RunOutcome(spec, None, str(cause).strip().splitlines()[0])


def _do_run(spec: str) -> dict[str, Any]:
    return run_one(RunSpec.from_json(spec))


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise EntNetError('--engine ray needs Ray: pip install "entnet[ray]"') from error
    return ray
