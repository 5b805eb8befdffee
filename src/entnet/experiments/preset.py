"""Presets: one file per table of the paper, saying what is trained, how and how often.

title = "…"
benchmark = "babi"          # babi, gridworld or cbt
data = "en-10k"             # of bAbI the official set: en (1k) or en-10k
tasks = [1, 2, 3]           # tasks of bAbI, lengths of the grid's stories, kinds of question of CBT
kind = "entnet"             # the system; a variant may have another
joint = false               # one network for all tasks at once
seeds = 10                  # of each variant, from 1 on
stop_at_zero = true         # no further seeds for a task once a run ends with validation error 0
tied = false                # true: keys tied to the entities in a task's vocabulary; "authors": to those
                            # that the authors' code has a list of
paper = ["table2", "EntNet"]   # the column of the paper's figures that this stands beside, if any

[model]                     # options of the network, as in `entnet train --set`
[train]                     # options of its training
[source]                    # what is said of the data beyond its name (gridworld, cbt)
[task.3.model]              # what one task has different; also [task.3.train]
[variant.NAME.model]        # named settings; also .train, .source, seeds, kind and tied, as above
                            # [variant.NAME.task.3.train]: what one task has different in this variant
                            # group = "…": variants of a group compete with their first seed; only the
                            # best on validation goes on with the other seeds
                            # was = "NAME": its name in older results
                            # extends = "NAME": inherit from an earlier variant
                            # tasks = [3]: run on these tasks, in place of the variants without `tasks`
                            # Precedence: preset < variant < task; on a variant's own `tasks`:
                            # preset < task < variant

This is what `entnet reproduce TABLE` runs and what the table's figures rest on. Variants that were tried
besides are in TABLE.trials.toml, in the same form, and may extend those of the table. `--trials` runs them,
and the report lists them apart. With a ``title`` of its own, the report adds a table chosen among all of
them, the table's own variants included.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from entnet.config import TrainConfig
from entnet.errors import EntNetError
from entnet.tasks import benchmark
from entnet.tasks.entities import LISTS, Tied
from entnet.tasks.spec import Options

TaskOptions = dict[int | str, dict[str, Options]]
PARTS = ("model", "train", "source")

ALL_TASKS = tuple(range(1, 21))


@dataclass(frozen=True)
class Variant:
    """One of the settings that a preset tries."""

    name: str
    seeds: int
    model: Options = field(default_factory=dict)
    train: Options = field(default_factory=dict)
    tasks: tuple[int | str, ...] = ()
    """Those that it is meant for; none for all that no other variant is meant for."""
    tied: Tied | None = None
    """As the preset's; None if it is the same."""
    kind: str = ""
    """As the preset's; empty if it is the same."""
    group: str = ""
    """Variants of a group compete with their first seed; the best goes on with the others."""
    source: Options = field(default_factory=dict)
    task_options: TaskOptions = field(default_factory=dict)
    """What single tasks have different in this variant."""
    was: str = ""
    """Its name in older results, which are never rewritten."""

    def part(self, name: str) -> Options:
        options: Options = getattr(self, name)
        return options


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
    tasks: tuple[int | str, ...]
    model: Options
    train: Options
    task_options: TaskOptions
    variants: tuple[Variant, ...]
    """What the table rests on."""
    trials: tuple[Variant, ...] = ()
    """What was tried besides."""
    search_title: str | None = None
    """Of the table chosen among the runs of all variants; None if there is no such table."""
    benchmark: str = "babi"
    source: Options = field(default_factory=dict)

    @property
    def all_variants(self) -> tuple[Variant, ...]:
        return self.variants + self.trials

    def tasks_of(self, variant: Variant) -> tuple[int | str, ...]:
        """The tasks that a variant is run on, unless others are asked for by name."""
        if variant.tasks or variant in self.trials:
            return variant.tasks or self.tasks
        taken = {task for other in self.variants for task in other.tasks}
        return tuple(task for task in self.tasks if task not in taken)

    def options(self, part: str, variant: Variant, task: int | str) -> Options:
        """Options of a run: the preset's, changed by its variant, changed by its task.

        What a variant that is meant for the task says comes last.
        """
        common: Options = getattr(self, part)
        of_variant = variant.part(part)
        of_task = self.task_options.get(task, {}).get(part, {})
        last = variant.task_options.get(task, {}).get(part, {})
        if task in variant.tasks:
            return merged(common, of_task, of_variant, last)
        return merged(common, of_variant, of_task, last)

    def chosen(self, names: Sequence[str]) -> list[Variant]:
        """The variants of these names; a group's name stands for all of its variants."""
        found: dict[str, Variant] = {}
        for name in names:
            members = [variant for variant in self.all_variants if variant.group == name != ""]
            for variant in members or [self.variant(name)]:
                found[variant.name] = variant
        return list(found.values())

    def tied_in(self, variant: Variant) -> Tied:
        """What a variant's keys are tied to."""
        return self.tied if variant.tied is None else variant.tied

    def variant(self, name: str) -> Variant:
        for variant in self.all_variants:
            if name and name in (variant.name, variant.was):
                return variant
        known = ", ".join(variant.name for variant in self.all_variants)
        raise EntNetError(f"{self.name} has no variant {name!r}; it has {known}")


TRIALS = ".trials.toml"


def current_variant(table: str, variant: str) -> str:
    """Today's name of a variant in a line of results; what follows a + are its changed settings."""
    name, plus, changes = variant.partition("+")
    return _renamed(table).get(name, name) + plus + changes


@functools.cache
def _renamed(table: str) -> dict[str, str]:
    if table not in preset_names():
        return {}
    return {variant.was: variant.name for variant in load_preset(table).all_variants if variant.was}


def preset_names() -> list[str]:
    """The tables that can be reproduced from a preset."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in _folder().iterdir()
        if entry.name.endswith(".toml") and not entry.name.endswith(TRIALS)
    )


def _folder() -> Traversable:
    return resources.files("entnet.experiments") / "presets"


@functools.cache
def load_preset(name: str) -> Preset:
    """The preset of this name that comes with the package."""
    if name not in preset_names():
        raise EntNetError(f"no preset {name!r}; there are {', '.join(preset_names())}")
    trials = _folder() / f"{name}{TRIALS}"
    return parse_preset(
        name,
        (_folder() / f"{name}.toml").read_text("utf-8"),
        trials.read_text("utf-8") if trials.is_file() else "",
    )


def read_preset(path: Path) -> Preset:
    """A preset of one's own, in the same form; its results bear the file's name."""
    if path.stem in preset_names():
        raise EntNetError(
            f"{path}: {path.stem} is a table of the package; give the file another name"
        )
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise EntNetError(f"{path}: cannot be read: {error.strerror}") from error
    return parse_preset(path.stem, text)


def parse_preset(name: str, text: str, trials_text: str = "") -> Preset:
    """A preset from the text of its file, and of its trials' file; anything unknown or impossible in them
    is an error."""
    values = _toml(name, text)
    seeds = values.pop("seeds", 1)
    variants = _variants(name, values.pop("variant", {}), seeds) or (Variant("paper", seeds),)
    tried = _toml(f"{name}, trials", trials_text)
    trials = _variants(name, tried.pop("variant", {}), seeds, variants)
    search_title = tried.pop("title", None)
    _refuse_unknown(f"{name}, trials", tried)
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
        train=TrainConfig.renamed(values.pop("train", {})),
        task_options=_task_options(values.pop("task", {})),
        variants=variants,
        trials=trials,
        search_title=search_title,
        benchmark=values.pop("benchmark", "babi"),
        source=values.pop("source", {}),
    )
    _refuse_unknown(name, values)
    _check(preset)
    return preset


def _toml(name: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise EntNetError(f"preset {name}: not TOML: {error}") from error


def _variants(
    name: str, tables: dict[str, Any], seeds: int, before: tuple[Variant, ...] = ()
) -> tuple[Variant, ...]:
    """The variants of a file, which may extend each other and those ``before`` them."""
    known = {variant.name: variant for variant in before}
    variants = []
    for variant, values in tables.items():
        values = dict(values)
        if rest := next(filter(str.isdigit, values), ""):
            raise EntNetError(
                f'preset {name}: a variant\'s name with a dot needs quotes: [variant."{variant}.{rest}"]'
            )
        if variant in known:
            raise EntNetError(f"preset {name}, variant {variant}: the table has one of this name")
        extends = values.pop("extends", None)
        if extends is not None and extends not in known:
            raise EntNetError(f"preset {name}, variant {variant}: no variant {extends!r} before it")
        basis = known[extends] if extends is not None else Variant(variant, seeds)
        known[variant] = Variant(
            variant,
            values.pop("seeds", basis.seeds),
            {**basis.model, **values.pop("model", {})},
            merged(basis.train, TrainConfig.renamed(values.pop("train", {}))),
            tuple(values.pop("tasks", basis.tasks)),
            values.pop("tied", basis.tied),
            values.pop("kind", basis.kind),
            values.pop("group", basis.group),
            {**basis.source, **values.pop("source", {})},
            _joined(basis.task_options, _task_options(values.pop("task", {}))),
            values.pop("was", ""),
        )
        variants.append(known[variant])
        _refuse_unknown(f"{name}, variant {variant}", values)
    return tuple(variants)


def _task_options(tables: dict[str, dict[str, Options]]) -> TaskOptions:
    """Tables of single tasks, with today's names of settings; tasks of bAbI have numbers."""
    return {
        int(task) if task.isdigit() else task: {
            part: TrainConfig.renamed(options) if part == "train" else options
            for part, options in parts.items()
        }
        for task, parts in tables.items()
    }


def _joined(basis: TaskOptions, more: TaskOptions) -> TaskOptions:
    """What tasks have different in a variant that is like another."""
    return {
        task: {
            part: merged(
                basis.get(task, {}).get(part, {}),
                more.get(task, {}).get(part, {}),
            )
            for part in basis.get(task, {}).keys() | more.get(task, {}).keys()
        }
        for task in basis.keys() | more.keys()
    }


def merged(*parts: Options) -> Options:
    """Options of which later ones count; of a table, such as ``permute``, its own entries."""
    options: Options = {}
    for part in parts:
        for name, value in part.items():
            known = options.get(name)
            both = isinstance(value, dict) and isinstance(known, dict)
            options[name] = {**known, **value} if both and known else value
    return options


def _pair(name: str, paper: Any) -> tuple[str, str]:
    if paper is None:
        return "", ""
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
    settings = benchmark(preset.benchmark).settings
    for task, parts in preset.task_options.items():
        strange = parts.keys() - set(PARTS)
        _refuse_unknown(f"{preset.name}, task {task}", dict.fromkeys(strange, 0))
    for variant in preset.all_variants:
        place = f"{preset.name}, variant {variant.name}"
        for task, parts in variant.task_options.items():
            strange = parts.keys() - set(PARTS)
            _refuse_unknown(f"{place}, task {task}", dict.fromkeys(strange, 0))
        unknown = {*variant.tasks, *variant.task_options} - set(preset.tasks)
        if unknown:
            raise EntNetError(f"preset {place}: no task {min(unknown, key=str)} in this preset")
        if preset.tied_in(variant) not in LISTS:
            raise EntNetError(
                f"preset {place}: tied is {preset.tied_in(variant)!r}, "
                'but must be false, true or "authors"'
            )
        for task in preset.tasks:
            for part, owner in zip(PARTS, settings(variant.kind or preset.kind), strict=False):
                owner.from_dict(preset.options(part, variant, task))
