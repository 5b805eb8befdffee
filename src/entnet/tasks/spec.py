"""A run of a sweep: everything that a process needs to know to do it, as plain values."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from entnet.config.hashed import old_source_options, old_train_options
from entnet.tasks.entities import Tied

Options = dict[str, Any]
"""Settings by name, as a preset has them."""

Result = dict[str, Any]
"""What came of a run, as results/TABLE.jsonl has it."""

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
    model_files: tuple[str, ...] = ()
    """Files of one's own that define the kind of network."""
    code: str = ""
    """A hash of what is in them: with other code it is another run."""

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
        if self.benchmark != "babi" or self.source:
            decisive |= {"benchmark": self.benchmark, "source": old_source_options(self.source)}
        if self.code:
            decisive["code"] = self.code
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
        for name in ("tasks", "model_files"):
            values[name] = tuple(values[name])
        return cls(**values)


def task_label(task: TaskName, benchmark: str = "babi") -> str:
    """qa3, joint, T20, NE."""
    if isinstance(task, str):
        return task
    if benchmark in ("gridworld", "copying"):
        return f"T{task}"
    return "joint" if task == JOINT else f"qa{task}"
