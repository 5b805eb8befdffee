"""One run of a sweep, from its specification to its line of results. Any process can do it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from entnet.config import TrainConfig
from entnet.data.story import Corpus, Story, story_words
from entnet.errors import EntNetError
from entnet.experiments.entities import entities_of
from entnet.experiments.preset import Options
from entnet.experiments.spec import JOINT, RunSpec
from entnet.experiments.task_data import TaskStories, joint_stories, task_stories
from entnet.files import write_atomically
from entnet.models.base import StoryModel
from entnet.text import Vocab
from entnet.training.engine import choose_engine
from entnet.training.evaluate import score
from entnet.training.loop import Run, Watcher
from entnet.training.setup import prepare

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

CURVE_POINTS = 60

LOCK = ".lock"
"""In a run's directory: holds the number of the process that is at the run."""

Line = dict[str, Any]


class BusyError(EntNetError):
    """Another process is at the run."""


def run_one(spec: RunSpec, watcher: Watcher | None = None) -> Line:
    """Do a run, from wherever it stands, and return its line of results."""
    directory = Path(spec.directory)
    finished = directory / "line.json"
    if not is_outdated(spec) and finished.is_file():
        line: Line = json.loads(finished.read_text(encoding="utf-8"))
        return line
    with _sole_use(directory):
        config = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
        parts = {
            task: task_stories(spec.data, task, config.validation, spec.data_root)
            for task in spec.tasks
        }
        stories = parts[spec.task] if spec.task != JOINT else joint_stories(list(parts.values()))
        line = _train(spec, config, stories, watcher)
        if spec.task == JOINT:
            line["tasks"] = _task_scores(directory, config, parts)
        line["curve"] = learning_curve(directory / "metrics.jsonl")
        write_atomically(finished, json.dumps(line).encode())
    return line


def is_outdated(spec: RunSpec) -> bool:
    """Whether the run's directory holds a run with other settings."""
    path = Path(spec.directory) / "run.json"
    if not path.is_file():
        return False
    about = json.loads(path.read_text(encoding="utf-8")).get("about", {})
    return bool(about.get("recipe") != spec.recipe)


def _train(
    spec: RunSpec, config: TrainConfig, stories: TaskStories, watcher: Watcher | None
) -> Line:
    vocab = Vocab.build(story_words(stories.train) | story_words(stories.valid))
    prepared = prepare(
        stories.train,
        stories.valid,
        stories.test,
        config,
        spec.kind,
        _model_options(spec, vocab),
        vocab,
    )
    about = {
        "table": spec.table,
        "task": spec.task,
        "variant": spec.variant,
        "data": spec.data,
        "train_data": stories.train_data,
        "recipe": spec.recipe,
    }
    run = Run(spec.directory, prepared.build, prepared.data, config, about, spec.checkpoint_seconds)
    return run.train(watcher)


def _model_options(spec: RunSpec, vocab: Vocab) -> Options:
    if not spec.tied:
        return spec.model
    entities = entities_of(vocab, spec.tied)
    return {**spec.model, "keys": "tied", "key_words": entities, "slots": len(entities)}


def _task_scores(
    directory: Path, config: TrainConfig, parts: dict[int, TaskStories]
) -> dict[str, dict[str, Any]]:
    """Errors of a jointly trained network on each of its tasks."""
    scores: dict[str, dict[str, Any]] = {str(task): {} for task in parts}
    for name, folder in {config.select: "model", "last": "last"}.items():
        network = StoryModel.from_pretrained(directory / folder)
        for task, stories in parts.items():
            scores[str(task)][name] = {
                "valid_error": round(error_percent(network, stories.valid, config), 4),
                "test_error": round(error_percent(network, stories.test, config), 4),
            }
    return scores


def error_percent(network: StoryModel, stories: list[Story], train: TrainConfig) -> float:
    """A network's error on all questions of the stories, in percent."""
    config = network.config
    corpus = Corpus.encode(stories, network.vocab, config.sentence_length, config.lowercase)
    engine = choose_engine(network, train)
    return score(engine, corpus.entries("story", config.memory_limit)).error_percent


def learning_curve(metrics: Path, points: int = CURVE_POINTS) -> dict[str, list[float]]:
    """Training and validation error at evenly spread epochs, the first and the last among them."""
    lines = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    step = max((len(lines) - 1) / max(points - 1, 1), 1.0)
    places = {min(round(i * step), len(lines) - 1) for i in range(min(points, len(lines)))}
    kept = [lines[place] for place in sorted(places)]
    return {
        "epoch": [line["epoch"] for line in kept],
        "train_error": [round(line["train_error"], 2) for line in kept],
        "valid_error": [round(line["valid_error"], 2) for line in kept],
    }


def is_busy(spec: RunSpec) -> bool:
    """Whether a process is at the run now, of this sweep or of another."""
    path = Path(spec.directory) / LOCK
    if fcntl is None or not path.is_file():
        return False
    with path.open() as file:
        return not _lock(file)


@contextmanager
def _sole_use(directory: Path) -> Iterator[None]:
    """Keep a second process from working on the same run. The lock ends with the process that holds it."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / LOCK).open("a+") as file:
        tries = 0
        while not _lock(file):  # once more: ``is_busy`` holds the lock for a moment
            tries += 1
            if tries == 5:
                file.seek(0)
                holder = file.read().strip() or "unknown"
                raise BusyError(f"{directory}: process {holder} is at this run")
            time.sleep(0.05)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _lock(file: IO[str]) -> bool:
    if fcntl is None:  # no such locks on this system: the user's care is all there is
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
