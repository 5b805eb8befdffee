"""`world`: all house tasks in one story, generated; tested on the official files of these tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from entnet.binding import Kind
from entnet.config import Config, TrainConfig
from entnet.data.babi import read_babi
from entnet.data.sources import require_babi
from entnet.data.splits import TaskStories, joint_stories
from entnet.data.story import Story, story_words
from entnet.data.world import pools
from entnet.data.world.mixture import FILLED_SHARE, mixture
from entnet.data.world.story import LONG_SHARE
from entnet.models.base import model_class
from entnet.tasks import babi
from entnet.tasks.spec import Options, Result, RunSpec
from entnet.text import Vocab
from entnet.training.trainer import Callback

KINDS = tuple(
    Kind(name, tuple(word.lower() for word in words))
    for name, words in (
        ("person", pools.PEOPLE),
        ("thing", pools.THINGS),
        ("place", pools.PLACES),
    )
)

NAMES = tuple(word for kind in KINDS for word in kind.members)


@dataclass(frozen=True)
class WorldConfig(Config):
    """How many stories are made, and from which seed."""

    stories: int = 12_000
    validation_stories: int = 600
    seed: int = 1
    filled: float = FILLED_SHARE
    """Share of the stories that have unknown words in their sentences."""
    slots_for: tuple[str, ...] = ("person", "thing", "place")
    """Kinds of names that get slots, where keys are named."""
    long_share: float = LONG_SHARE
    """Share of the training stories that have 30 to 120 sentences."""
    varied_share: float = 0.0
    """Share of those of task 14 (time reasoning) that are told longer, shorter or in another order."""
    network: str = ""
    """A run, of those in the same folder, whose network training begins with: TABLE/TASK/VARIANT/SEED."""
    several: int = 4
    """Slots of each person and thing; a place has one."""

    def check(self) -> None:
        self.at_least(1, "several")
        known = [kind.name for kind in KINDS]
        self.require(set(self.slots_for) <= set(known), f"slots_for: kinds are {', '.join(known)}")


def settings(kind: str) -> list[type[Config]]:
    return [model_class(kind).config_class, TrainConfig, WorldConfig]


def run(spec: RunSpec, callback: Callback | None) -> Result:
    """Train on the mixture, choose on more of it, test on the official files."""
    config = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
    made = WorldConfig.from_dict(spec.source)
    train = mixture(
        made.stories,
        made.seed,
        "train",
        filled_share=made.filled,
        hard=True,
        long_share=made.long_share,
        varied_share=made.varied_share,
    )
    valid = mixture(made.validation_stories, made.seed, "valid", filled_share=made.filled)
    parts = {
        int(task): TaskStories(train, valid, _official(int(task), spec.data_root), "generated")
        for task in spec.tasks
    }
    stories = TaskStories(train, valid, joint_stories(list(parts.values())).test, "generated")
    if made.network:
        network = babi.trained(spec, made.network)
        line = babi.train_on(network, spec, config, stories, callback)
    else:
        words = vocabulary([*train, *valid])
        line = babi.train(spec, config, stories, callback, words, options(spec, made))
    line["tasks"] = babi.task_scores(Path(spec.directory), config, parts)
    return line


def vocabulary(stories: list[Story]) -> Vocab:
    """The words of the stories, all names, all lists; without the fillers."""
    words = story_words(stories) | set(NAMES) | set(pools.lists()) | {pools.UNKNOWN}
    return Vocab.build(words - set(pools.FILLERS))


def options(spec: RunSpec, made: WorldConfig) -> Options:
    """Options of the network: slots are named by the story, unless keys are free; it looks back on all."""
    if spec.model.get("keys") == "free":
        return {"memory_limit": None, **spec.model}
    slots = {
        word: 1 if kind.name == "place" else made.several
        for kind in KINDS
        if kind.name in made.slots_for
        for word in kind.members
    }
    named = {"memory_limit": None, **spec.model, "keys": "named", "key_words": tuple(slots)}
    if made.several > 1:
        named["key_slots"] = tuple(slots.values())
    if not spec.model.get("context_length"):
        return named
    people, things, places = (kind.members for kind in KINDS)
    return {
        **named,
        "context_people": people,
        "context_things": things,
        "context_places": places,
    }


def _official(task: int, data_root: str | None) -> list[Story]:
    return read_babi(require_babi("en-10k", task, "test", data_root))
