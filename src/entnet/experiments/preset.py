"""Presets: one file a table of the paper, saying what is trained, how and how often.

title = "…"
data = "en-10k"             # the official set: en (1k) or en-10k
joint = false               # one network for all tasks at once
seeds = 10                  # at most, of each variant
stop_at_zero = true         # no further seeds for a task once a run ends with validation error 0
tied = false                # true: keys tied to the entities in a task's vocabulary; "authors": to those
                            # that the authors' code has a list of
paper = "EntNet"            # the row of the paper's figures that this stands beside

[model]                     # options of the network, as in `entnet train --set`
[train]                     # options of its training
[task.3.model]              # what one task has different; also [task.3.train]
[variant.NAME.model]        # settings among which runs are chosen on validation; also .train and seeds
                            # tied, as above, for this variant alone
                            # like = "NAME": as that variant, above, but for what is said
                            # tasks = [3]: run on these, unless it is asked for by name; on these its
                            # settings have the last word, elsewhere those of the task
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from entnet.config import TrainConfig
from entnet.errors import EntNetError
from entnet.experiments.entities import LISTS, Tied
from entnet.models import model_class

Options = dict[str, Any]

ALL_TASKS = tuple(range(1, 21))


@dataclass(frozen=True)
class Variant:
    """One of the settings that a preset tries."""

    name: str
    seeds: int
    model: Options = field(default_factory=dict)
    train: Options = field(default_factory=dict)
    tasks: tuple[int, ...] = ()
    """Those that it is meant for; none for all of the preset's."""
    tied: Tied | None = None
    """As the preset's; None if it is the same."""


@dataclass(frozen=True)
class Preset:
    """What it takes to fill a table."""

    name: str
    title: str
    data: str
    joint: bool
    seeds: int
    stop_at_zero: bool
    tied: Tied
    paper: tuple[str, str]
    kind: str
    tasks: tuple[int, ...]
    model: Options
    train: Options
    task_options: dict[int, dict[str, Options]]
    variants: tuple[Variant, ...]

    def options(self, part: str, variant: Variant, task: int) -> Options:
        """Options of a run: the preset's, changed by its variant, changed by its task.

        What a variant that is meant for the task says comes last.
        """
        common: Options = self.model if part == "model" else self.train
        of_variant = variant.model if part == "model" else variant.train
        of_task = self.task_options.get(task, {}).get(part, {})
        if task in variant.tasks:
            return {**common, **of_task, **of_variant}
        return {**common, **of_variant, **of_task}

    def tied_in(self, variant: Variant) -> Tied:
        """What a variant's keys are tied to."""
        return self.tied if variant.tied is None else variant.tied

    def variant(self, name: str) -> Variant:
        for variant in self.variants:
            if variant.name == name:
                return variant
        known = ", ".join(variant.name for variant in self.variants)
        raise EntNetError(f"{self.name} has no variant {name!r}; it has {known}")


def preset_names() -> list[str]:
    """The tables that can be reproduced from a preset."""
    folder = resources.files("entnet.experiments") / "presets"
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )


def load_preset(name: str) -> Preset:
    """The preset of this name that comes with the package."""
    if name not in preset_names():
        raise EntNetError(f"no preset {name!r}; there are {', '.join(preset_names())}")
    text = (resources.files("entnet.experiments") / "presets" / f"{name}.toml").read_text("utf-8")
    return parse_preset(name, text)


def parse_preset(name: str, text: str) -> Preset:
    """A preset from the text of its file; anything unknown or impossible in it is an error."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise EntNetError(f"preset {name}: not TOML: {error}") from error
    seeds = values.pop("seeds", 1)
    variants = _variants(name, values.pop("variant", {}), seeds)
    preset = Preset(
        name=name,
        title=values.pop("title", name),
        data=values.pop("data", "en-10k"),
        joint=values.pop("joint", False),
        seeds=seeds,
        stop_at_zero=values.pop("stop_at_zero", False),
        tied=values.pop("tied", False),
        paper=_pair(name, values.pop("paper", None)),
        kind=values.pop("kind", "entnet"),
        tasks=tuple(values.pop("tasks", ALL_TASKS)),
        model=values.pop("model", {}),
        train=values.pop("train", {}),
        task_options={int(task): parts for task, parts in values.pop("task", {}).items()},
        variants=variants,
    )
    _refuse_unknown(name, values)
    _check(preset)
    return preset


def _variants(name: str, tables: dict[str, Any], seeds: int) -> tuple[Variant, ...]:
    variants: dict[str, Variant] = {}
    for variant, values in tables.items():
        values = dict(values)
        like = values.pop("like", None)
        if like is not None and like not in variants:
            raise EntNetError(f"preset {name}, variant {variant}: no variant {like!r} before it")
        basis = variants[like] if like is not None else Variant(variant, seeds)
        variants[variant] = Variant(
            variant,
            values.pop("seeds", basis.seeds),
            {**basis.model, **values.pop("model", {})},
            {**basis.train, **values.pop("train", {})},
            tuple(values.pop("tasks", basis.tasks)),
            values.pop("tied", basis.tied),
        )
        _refuse_unknown(f"{name}, variant {variant}", values)
    return tuple(variants.values()) or (Variant("paper", seeds),)


def _pair(name: str, paper: Any) -> tuple[str, str]:
    if not isinstance(paper, list) or len(paper) != 2:
        raise EntNetError(
            f'preset {name}: paper must be a table and a column, as ["table2", "EntNet"]'
        )
    return str(paper[0]), str(paper[1])


def _refuse_unknown(name: str, left: dict[str, Any]) -> None:
    if left:
        raise EntNetError(f"preset {name}: unknown: {', '.join(sorted(left))}")


def _check(preset: Preset) -> None:
    """Build every configuration of the preset, so that a slip in a file is found before a run starts."""
    for task, parts in preset.task_options.items():
        _refuse_unknown(
            f"{preset.name}, task {task}", dict.fromkeys(parts.keys() - {"model", "train"}, 0)
        )
    network = model_class(preset.kind).config_class
    for variant in preset.variants:
        strange = set(variant.tasks) - set(preset.tasks)
        if strange:
            raise EntNetError(
                f"preset {preset.name}, variant {variant.name}: no task {min(strange)} in this preset"
            )
        if preset.tied_in(variant) not in LISTS:
            raise EntNetError(
                f"preset {preset.name}, variant {variant.name}: tied is {preset.tied_in(variant)!r}, "
                'but must be false, true or "authors"'
            )
        for task in preset.tasks:
            TrainConfig.from_dict(preset.options("train", variant, task))
            network.from_dict(preset.options("model", variant, task))
