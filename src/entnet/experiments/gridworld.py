"""Tables 1a and 1b of the paper: the world model task, and how its networks are trained.

A finished run is a line of results/table1a.jsonl or results/table1b.jsonl and is never done again, so
seeds can be added at any time. Errors are shares of questions, 0 to 1, as in the paper.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from entnet.errors import EntNetError
from entnet.experiments.gridworld_run import GridRun, GridSpec, Tell
from entnet.experiments.results import add_result, read_results, results_path
from entnet.experiments.spec import changed_name

Line = dict[str, Any]
Item = TypeVar("Item")
Made = TypeVar("Made")
Recipe = dict[str, Any]

KINDS = ("entnet", "lstm", "memn2n")
LENGTHS = (10, 20, 40)
RATES = (0.1, 0.01, 0.001)
"""Those of the paper."""
OWN_RATES = {"memn2n": (0.003,)}
"""Tried beside them: at 0.01 MemN2N settles at a high error for T = 10 and 40, at 0.001 it is slow."""
SEEDS = (1, 2, 3, 4, 5)
TEST_LENGTHS = (20, 30, 40, 50, 60, 70, 80, 160, 320)
OPENING = 4
"""Sentences until both agents have a place and a direction: from here on questions make sense."""

PAPER_1A: dict[str, dict[int, float]] = {
    "memn2n": {10: 0.09, 20: 0.633, 40: 0.896},
    "lstm": {10: 0.0, 20: 0.157, 40: 0.226},
    "entnet": {10: 0.0, 20: 0.0, 40: 0.0},
}
PAPER_1B: dict[int, float] = {20: 0.0, 30: 0.0, 40: 0.0, 50: 0.01, 60: 0.03, 70: 0.05, 80: 0.08}

_EVERYWHERE: Recipe = {"ask_from": OPENING, "ask_agents": "one", "average": 0.99, "give_up": 0.9}
RECIPES: dict[str, Recipe] = {
    "entnet": {
        **_EVERYWHERE,
        # The paper's equations as they stand; biases make generalisation to longer stories worse.
        "model": {"width": 20, "slots": 5, "gate_bias": False, "candidate_bias": False},
    },
    "lstm": {**_EVERYWHERE, "model": {"units": 50}},
    "memn2n": {
        "average": 0.99,
        "give_up": 0.97,
        # As strict as its own paper's 40 for the sum over a batch of 32; with more it falls back at times.
        "clip": 1.0,
        # Noise in time is against learning stories by heart; these are all fresh, and their order matters.
        "model": {"width": 20, "time_noise": 0.0},
    },
}
"""How each network is trained. What differs from the paper is said in docs/gridworld.md."""

LENGTH_RECIPES: dict[str, dict[int, Recipe]] = {
    "entnet": {
        10: {"updates": 300_000, "halve_every": 50_000},
        20: {"updates": 150_000, "halve_every": 25_000},
        # On long stories alone it stays at an error of .7.
        40: {"updates": 240_000, "halve_every": 40_000, "shortest": 10},
    },
    "lstm": {
        # Short stories ask little, so there are more of them in a batch.
        10: {"updates": 60_000, "halve_every": 12_000, "stories": 96},
        20: {"updates": 60_000, "halve_every": 12_000},
        40: {"updates": 60_000, "halve_every": 12_000, "shortest": 10},
    },
    "memn2n": {
        10: {"updates": 120_000, "halve_every": 24_000},
        # On long stories alone it learns little.
        20: {"updates": 40_000, "halve_every": 8_000, "shortest": 5},
        40: {"updates": 10_000, "halve_every": 2_000, "shortest": 5},
    },
}
"""What differs from length to length."""


def table1a_spec(kind: str, length: int, rate: float, seed: int) -> GridSpec:
    """A run of Table 1a: trained and tested on stories of one length."""
    recipe = {**RECIPES[kind], **LENGTH_RECIPES[kind][length]}
    if kind == "memn2n":
        # A matrix between hops fades what the first of many hops found; with few it does better.
        tying = "layer-wise" if length == 10 else "adjacent"
        told = {"tying": tying, "hops": length - 2, "times": length}
        recipe["model"] = {**recipe["model"], **told}
    # EntNet at T = 20 also fills Table 1b, so it is tested where that table is.
    both = kind == "entnet" and length == TEST_LENGTHS[0]
    return GridSpec(
        table="table1a",
        kind=kind,
        length=length,
        rate=rate,
        seed=seed,
        test_lengths=TEST_LENGTHS if both else (length,),
        **recipe,
    )


def table1b_spec(seed: int, rate: float = 0.01) -> GridSpec:
    """A run of Table 1b: EntNet at T = 20, which is asked, and so trained, at all lengths up to 20."""
    return table1a_spec("entnet", TEST_LENGTHS[0], rate, seed).replace(table="table1b")


def variant(spec: GridSpec) -> str:
    """How results tell apart the runs of one length and seed."""
    return f"{spec.kind} rate {spec.rate:g}"


def run_spec(
    spec: GridSpec,
    results: Path,
    runs: Path,
    tell: Tell = print,
    changes: dict[str, Any] | None = None,
) -> Line:
    """Do a run, or find its line among the results if it was done before, for either table.

    With ``changes`` to its settings it is another run, in a folder of its own.
    """
    path = results_path(results, spec.table)
    changes = changes or {}
    name = changed_name(variant(spec), changes)
    if changes:
        spec = spec.replace(**changes)
        runs = runs / changed_name("changed", changes)
    done = _find(read_results(path), spec, name)
    if done is not None:
        return done
    line = None if changes else _twin(spec, results)
    if line is None:
        run = GridRun(spec)
        run.train(runs, tell)
        line = run.result()
        line |= {"task": spec.length, "variant": name}
        run.model.save_pretrained(runs / spec.name)
        tell(
            f"{spec.name}: test error {_told(line['test'])}, "
            f"{line['processor_seconds']:.0f} s of processor time"
        )
    add_result(path, line)
    return line


def _twin(spec: GridSpec, results: Path) -> Line | None:
    """The same run, done for the other table, as a line of this one."""
    other = "table1a" if spec.table == "table1b" else "table1b"
    line = _find(read_results(results_path(results, other)), spec, variant(spec))
    if line is None or GridSpec.from_dict(line["spec"]).replace(table=spec.table) != spec:
        return None
    return {**line, "table": spec.table, "spec": spec.to_dict()}


def _find(lines: Iterable[Line], spec: GridSpec, name: str) -> Line | None:
    key = (spec.length, name, spec.seed)
    for line in lines:
        if (line["task"], line["variant"], line["seed"]) == key:
            return line
    return None


def _told(errors: dict[str, float]) -> str:
    return ", ".join(f"{error:.4f} at {length}" for length, error in errors.items())


def reproduce_table1a(
    results: Path = Path("results"),
    runs: Path = Path("runs/gridworld"),
    seeds: Sequence[int] = SEEDS,
    kinds: Sequence[str] = KINDS,
    lengths: Sequence[int] = LENGTHS,
    rates: Sequence[float] | None = None,
    every_rate: bool = False,
    jobs: int = 1,
    tell: Tell = print,
    changes: dict[str, Any] | None = None,
) -> list[Line]:
    """Train every network on every length, and return the lines of all runs.

    The first seed tries every rate: the paper's and our own, unless others are given. The others run at
    the rate that did best for it on validation, or, with ``every_rate``, at all of them. Up to ``jobs``
    networks and lengths are worked on at a time. ``changes`` are settings of the runs, ``GridSpec``'s;
    with a rate among them it is the only one.
    """
    changes = dict(changes or {})
    if "rate" in changes:
        rates = (changes.pop("rate"),)
    _require_known("network", kinds, KINDS)
    _require_known("length", lengths, LENGTHS)
    fill = partial(_fill_cell, results, runs, seeds, rates, every_rate, tell, changes)
    # Long stories first: they take longest.
    cells = [(kind, length) for length in sorted(lengths, reverse=True) for kind in kinds]
    return [line for lines in _each(fill, cells, jobs) for line in lines]


def _require_known(what: str, given: Sequence[object], known: Sequence[object]) -> None:
    for one in given:
        if one not in known:
            raise EntNetError(f"no such {what}: {one}; Table 1a has {', '.join(map(str, known))}")


def _fill_cell(
    results: Path,
    runs: Path,
    seeds: Sequence[int],
    rates: Sequence[float] | None,
    every_rate: bool,
    tell: Tell,
    changes: dict[str, Any],
    cell: tuple[str, int],
) -> list[Line]:
    """All runs of one network on one length."""

    def run(rate: float, seed: int) -> Line:
        return run_spec(table1a_spec(*cell, rate, seed), results, runs, tell, changes)

    if rates is None:
        rates = (*RATES, *OWN_RATES.get(cell[0], ()))
    first = [run(rate, seeds[0]) for rate in rates]
    best = min(first, key=validation)["rate"]
    chosen = rates if every_rate else [best]
    return first + [run(rate, seed) for rate in chosen for seed in seeds[1:]]


def reproduce_table1b(
    results: Path = Path("results"),
    runs: Path = Path("runs/gridworld"),
    seeds: Sequence[int] = SEEDS,
    jobs: int = 1,
    tell: Tell = print,
) -> list[Line]:
    """Train on lengths up to 20, test far beyond, and return the lines of all runs."""
    run = partial(run_spec, results=results, runs=runs, tell=tell)
    return list(_each(run, [table1b_spec(seed) for seed in seeds], jobs))


def _each(work: Callable[[Item], Made], items: Sequence[Item], jobs: int) -> Iterable[Made]:
    """What each item comes to, in processes of their own if there may be several at a time."""
    if jobs == 1:
        return map(work, items)
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        return list(pool.map(work, items))


def validation(line: Line) -> float:
    """What runs are chosen by: the error on validation stories of the length that was trained on.

    For Table 1b, which asks how far it generalises, the mean over the lengths 20 to 80.
    """
    lengths = [str(line["length"])] if line["table"] == "table1a" else [str(n) for n in PAPER_1B]
    return statistics.fmean(line["valid"][length] for length in lengths)
