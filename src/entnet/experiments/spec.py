"""A run of a sweep: everything that a process needs to know to do it, as plain values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from entnet.config import TrainConfig
from entnet.experiments.entities import Tied
from entnet.experiments.legacy import old_train_options
from entnet.experiments.preset import Options, Preset, merged

LONGEST_NAME = 120
"""Of a variant: it names a directory, and file systems have limits."""

JOINT = 0
"""The task number of a network that is trained on all tasks at once."""

TaskName = int | str
"""1 … 20 or ``JOINT`` of bAbI, a length of the grid's stories, a kind of question of CBT."""

RunKey = tuple[str, TaskName, str, int]


@dataclass(frozen=True)
class RunSpec:
    """One (table, task, variant, seed)."""

    table: str
    task: TaskName
    variant: str
    seed: int
    data: str
    kind: str
    tied: Tied
    model: Options
    train: Options
    tasks: tuple[TaskName, ...]
    """The tasks trained on: this one, or all of them."""
    directory: str
    benchmark: str = "babi"
    source: Options = field(default_factory=dict)
    """What is said of the data beyond its name: lengths of stories, widths of windows."""
    group: str = ""
    """Variants of a group compete with their first seed; the best goes on with the others."""
    data_root: str | None = None
    """The data directory, if it is not the usual one."""
    checkpoint_seconds: float = 10.0

    @property
    def key(self) -> RunKey:
        return (self.table, self.task, self.variant, self.seed)

    @property
    def name(self) -> str:
        return f"{task_label(self.task, self.benchmark)} {self.variant} seed {self.seed}"

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
            "train": old_train_options(self.train),
            "tasks": list(self.tasks),
        }
        if self.benchmark != "babi":
            decisive |= {"benchmark": self.benchmark, "source": self.source}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:12]

    def about(self) -> dict[str, Any]:
        """Which run this is, for its line of results."""
        return {
            "table": self.table,
            "task": self.task,
            "variant": self.variant,
            "data": self.data,
            "recipe": self.recipe,
        }

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        values: dict[str, Any] = json.loads(text)
        values["tasks"] = tuple(values["tasks"])
        return cls(**values)


def task_label(task: TaskName, benchmark: str = "babi") -> str:
    """qa3, joint, T20, NE."""
    if isinstance(task, str):
        return task
    if benchmark == "gridworld":
        return f"T{task}"
    return "joint" if task == JOINT else f"qa{task}"


def specs_of(
    preset: Preset,
    runs: Path,
    tasks: Sequence[TaskName] | None = None,
    seeds: Sequence[int] | None = None,
    variants: Sequence[str] | None = None,
    model: Options | None = None,
    train: Options | None = None,
    data_root: Path | None = None,
    source: Options | None = None,
    trials: bool = False,
) -> list[RunSpec]:
    """The runs of a preset's table, or of its trials, or of the given tasks, seeds and variants.

    A variant given by name is run on any task; else each is run on the tasks that the preset runs it on.
    ``model``, ``train`` and ``source`` override the preset's options; such runs get a variant name that
    says so.
    """
    meant_to_run = preset.trials if trials else preset.variants
    chosen = preset.chosen(variants) if variants else list(meant_to_run)
    trained = tuple(tasks or preset.tasks)
    train = TrainConfig.renamed(train or {})
    given = {"model": model or {}, "train": train, "source": source or {}}
    changes = {**given["model"], **given["train"], **given["source"]}
    if preset.joint and trained != preset.tasks:
        changes["tasks"] = "+".join(map(str, trained))
    specs = []
    for variant in chosen:
        name = changed_name(variant.name, changes)
        meant = trained if variants else preset.tasks_of(variant)
        for task in (JOINT,) if preset.joint else (task for task in trained if task in meant):
            options = {
                part: merged(preset.options(part, variant, task), changed)
                for part, changed in given.items()
            }
            options["train"].pop("seed", None)
            label = task_label(task, preset.benchmark)
            for seed in seeds or range(1, variant.seeds + 1):
                specs.append(
                    RunSpec(
                        preset.name,
                        task,
                        name,
                        seed,
                        preset.data,
                        variant.kind or preset.kind,
                        preset.tied_in(variant),
                        options["model"],
                        options["train"],
                        trained if preset.joint else (task,),
                        str(runs / preset.name / label / name / f"seed{seed}"),
                        preset.benchmark,
                        options["source"],
                        variant.group,
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
