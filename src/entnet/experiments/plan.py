"""Which runs a preset asks for: its table's, its trials', or those of the tasks and settings given."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from entnet.config import TrainConfig
from entnet.experiments.preset import Preset, merged
from entnet.tasks.spec import JOINT, Options, RunSpec, TaskName, task_label

LONGEST_NAME = 120
"""Of a variant: it names a directory, and file systems have limits."""


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
    model_files: Sequence[Path] = (),
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
    files = tuple(str(file.resolve()) for file in model_files)
    code = hashlib.sha256(b"".join(file.read_bytes() for file in model_files)).hexdigest()
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
                        model_files=files,
                        code=code if files else "",
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
