"""bAbI: official stories task by task, or of all tasks at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entnet.config import Config, TrainConfig
from entnet.data.splits import TaskStories, joint_stories, require_task, task_stories
from entnet.data.story import Corpus, Story, story_words
from entnet.errors import EntNetError
from entnet.models.base import StoryModel, encode_stories, model_class
from entnet.tasks.entities import entities_of
from entnet.tasks.spec import JOINT, Options, Result, RunSpec
from entnet.text import Vocab
from entnet.training.engine import choose_engine
from entnet.training.evaluate import score
from entnet.training.loop import Run, RunData
from entnet.training.setup import prepare
from entnet.training.trainer import Callback


@dataclass(frozen=True)
class BabiSource(Config):
    """Where training begins."""

    network: str = ""
    """A run, of those in the same folder, whose network training begins with: TABLE/TASK/VARIANT/SEED."""


def run(spec: RunSpec, callback: Callback | None) -> Result:
    config = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
    parts = {
        int(task): task_stories(spec.data, int(task), config.validation, spec.data_root)
        for task in spec.tasks
    }
    joint = spec.task == JOINT
    stories = joint_stories(list(parts.values())) if joint else parts[int(spec.task)]
    source = BabiSource.from_dict(spec.source)
    if source.network:
        line = train_on(trained(spec, source.network), spec, config, stories, callback)
    else:
        vocab = Vocab.build(story_words(stories.train) | story_words(stories.valid))
        line = train(spec, config, stories, callback, vocab, _model_options(spec, vocab))
    if joint:
        line["tasks"] = task_scores(Path(spec.directory), config, parts)
    return line


def require_data(spec: RunSpec) -> None:
    for task in spec.tasks:
        require_task(spec.data, int(task), spec.data_root)


def settings(kind: str) -> list[type[Config]]:
    return [model_class(kind).config_class, TrainConfig, BabiSource]


def trained(spec: RunSpec, run: str) -> StoryModel:
    """The network of a finished run."""
    folder = Path(spec.directory).parents[3] / run / "model"
    if not folder.is_dir():
        table, task = run.split("/")[:2]
        raise EntNetError(
            f"{spec.name} begins with the network in {folder}, which is not there: "
            f"entnet reproduce {table} --tasks {task.removeprefix('qa')} trains it"
        )
    return StoryModel.from_pretrained(folder)


def train_on(
    network: StoryModel,
    spec: RunSpec,
    config: TrainConfig,
    stories: TaskStories,
    callback: Callback | None,
) -> Result:
    """Train a network further, which keeps its size and its words."""

    def encoded(part: list[Story]) -> Corpus:
        return encode_stories(part, network.vocab, network.config)

    data = RunData(encoded(stories.train), encoded(stories.valid), encoded(stories.test))
    about = {**spec.about(), "train_data": stories.train_data}
    run = Run(spec.directory, lambda: network, data, config, about, spec.checkpoint_seconds)
    return run.train(callback)


def train(
    spec: RunSpec,
    config: TrainConfig,
    stories: TaskStories,
    callback: Callback | None,
    vocab: Vocab,
    model_options: Options,
) -> Result:
    """Train a network on these stories, and return its line of results."""
    prepared = prepare(
        stories.train,
        stories.valid,
        stories.test,
        config,
        spec.kind,
        model_options,
        vocab,
    )
    about = {**spec.about(), "train_data": stories.train_data}
    run = Run(spec.directory, prepared.build, prepared.data, config, about, spec.checkpoint_seconds)
    return run.train(callback)


def _model_options(spec: RunSpec, vocab: Vocab) -> Options:
    if not spec.tied:
        return spec.model
    entities = entities_of(vocab, spec.tied)
    return {**spec.model, "keys": "tied", "key_words": entities, "slots": len(entities)}


def task_scores(
    directory: Path, config: TrainConfig, parts: dict[int, TaskStories]
) -> dict[str, dict[str, Any]]:
    """Errors of a jointly trained network on each of its tasks."""
    scores: dict[str, dict[str, Any]] = {str(task): {} for task in parts}
    for name, folder in {config.checkpoint: "model", "last": "last"}.items():
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
    corpus = encode_stories(stories, network.vocab, config)
    engine = choose_engine(network, train)
    return score(engine, corpus.entries("story", config.memory_limit)).error_percent
