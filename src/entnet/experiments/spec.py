"""A run of a sweep: everything that a process needs to know to do it, as plain values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from entnet.experiments.entities import Tied
from entnet.experiments.preset import Options, Preset

LONGEST_NAME = 120
"""Of a variant: it names a directory, and file systems have limits."""

JOINT = 0
"""The task number of a network that is trained on all tasks at once."""

RunKey = tuple[str, int, str, int]


@dataclass(frozen=True)
class RunSpec:
    """One (table, task, variant, seed)."""

    table: str
    task: int
    """1 … 20, or ``JOINT``."""
    variant: str
    seed: int
    data: str
    kind: str
    tied: Tied
    model: Options
    train: Options
    tasks: tuple[int, ...]
    """The tasks trained on: this one, or all of them."""
    directory: str
    data_root: str | None = None
    checkpoint_seconds: float = 10.0

    @property
    def key(self) -> RunKey:
        return (self.table, self.task, self.variant, self.seed)

    @property
    def name(self) -> str:
        return f"{task_label(self.task)} {self.variant} seed {self.seed}"

    @property
    def epochs(self) -> int:
        return int(self.train.get("epochs", 200))

    @property
    def recipe(self) -> str:
        """A short hash of all that decides how the run goes, except its seed."""
        decisive = {
            "data": self.data,
            "kind": self.kind,
            "tied": self.tied,
            "model": self.model,
            "train": self.train,
            "tasks": list(self.tasks),
        }
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:12]

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        values: dict[str, Any] = json.loads(text)
        values["tasks"] = tuple(values["tasks"])
        return cls(**values)


def task_label(task: int) -> str:
    """qa3, or joint."""
    return "joint" if task == JOINT else f"qa{task}"


def specs_of(
    preset: Preset,
    runs: Path,
    tasks: Sequence[int] | None = None,
    seeds: Sequence[int] | None = None,
    variants: Sequence[str] | None = None,
    model: Options | None = None,
    train: Options | None = None,
    data_root: Path | None = None,
) -> list[RunSpec]:
    """The runs of a preset, or of the given tasks, seeds and variants of it.

    A variant that is meant for some tasks is run on others only if it is given by name.
    ``model`` and ``train`` override the preset's options; such runs get a variant name that says so.
    """
    chosen = [preset.variant(name) for name in variants] if variants else list(preset.variants)
    trained = tuple(tasks or preset.tasks)
    changes = {**(model or {}), **(train or {})}
    if preset.joint and trained != preset.tasks:
        changes["tasks"] = "+".join(map(str, trained))
    specs = []
    for variant in chosen:
        name = changed_name(variant.name, changes)
        meant = trained if variants or not variant.tasks else variant.tasks
        for task in (JOINT,) if preset.joint else (task for task in trained if task in meant):
            for seed in seeds or range(1, variant.seeds + 1):
                options = preset.options("train", variant, task) | (train or {})
                specs.append(
                    RunSpec(
                        preset.name,
                        task,
                        name,
                        seed,
                        preset.data,
                        preset.kind,
                        preset.tied_in(variant),
                        preset.options("model", variant, task) | (model or {}),
                        {k: v for k, v in options.items() if k != "seed"},
                        trained if preset.joint else (task,),
                        str(runs / preset.name / task_label(task) / name / f"seed{seed}"),
                        str(data_root) if data_root else None,
                    )
                )
    return specs


def is_changed(spec: RunSpec) -> bool:
    """Whether options were given that make this no run of its table."""
    return "+" in spec.variant


def changed_name(variant: str, changes: Options) -> str:
    """What a variant with changed settings is called."""
    if not changes:
        return variant
    said = ",".join(f"{key}={value}" for key, value in sorted(changes.items()))
    name = f"{variant}+{said.replace(' ', '')}".replace("/", "_")
    if len(name) <= LONGEST_NAME:
        return name
    return name[:LONGEST_NAME] + "…" + hashlib.sha256(name.encode()).hexdigest()[:8]


def parse_numbers(text: str, what: str) -> list[int]:
    """``1,4-6`` as [1, 4, 5, 6]."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"{what}: numbers such as 1,4-6 expected, not {text!r}")
        numbers.extend(range(int(first), int(last or first) + 1))
    return list(dict.fromkeys(numbers))
