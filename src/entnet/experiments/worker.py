"""A worker process of a local sweep: ``python -m entnet.experiments.worker < specification``.

It does one run, then exits. Standard input stays open for as long as the sweep lives; when it closes, the
worker ends at once, so that no run goes on unwatched. Nothing is lost by that but seconds: a run goes on
from its last checkpoint.
"""

from __future__ import annotations

import os
import sys
import threading

from entnet.errors import EntNetError
from entnet.experiments.running import run_one
from entnet.locks import BusyError
from entnet.tasks.spec import RunSpec

FAILED, BUSY = 3, 4
"""Exit status of a run that cannot be done and would fail again, and of one that another process is at."""


def main() -> int:
    spec = RunSpec.from_json(sys.stdin.readline())
    threading.Thread(target=_end_with_the_sweep, daemon=True).start()
    try:
        run_one(spec)
    except BusyError as error:
        print(f"note: {error}", file=sys.stderr, flush=True)
        return BUSY
    except (EntNetError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return FAILED
    return 0


def _end_with_the_sweep() -> None:
    sys.stdin.read()
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
