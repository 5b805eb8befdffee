"""What bAbI's stories say of names, for the cards of networks: kinds of words, and where they stand."""

from __future__ import annotations

from functools import cache

from entnet.binding import Kind, Places, bind_story
from entnet.config import TrainConfig
from entnet.data.babi_tasks import TASKS, generate
from entnet.data.story import Story, longest_sentence
from entnet.kinds import find_kinds
from entnet.models.base import StoryModel, encode_stories
from entnet.renaming import rename
from entnet.symmetries import find_symmetries
from entnet.tasks.spec import JOINT
from entnet.training.engine import choose_engine
from entnet.training.evaluate import score

QUESTIONS = 5_000
"""Generated of each task: enough to meet every sentence, and to tell what is interchangeable."""

CHECKED = 800
"""Questions with which a network is asked whether it takes words of a kind for one another."""
ALLOWED = 1.5
"""Points that its error may rise by when all words of a kind are new."""


def places_of(task: int) -> Places:
    """Kinds and places of a task's stories, or of all tasks together."""
    if task != JOINT:
        stories, kinds = _kinds_of(task)
        return Places.learn(stories, kinds)
    members: dict[str, dict[str, None]] = {}
    everything: list[Story] = []
    for number in TASKS:
        stories, kinds = _kinds_of(number)
        everything += stories
        for kind in kinds:
            members.setdefault(kind.name, {}).update(dict.fromkeys(kind.members))
    joint = tuple(Kind(name, tuple(words)) for name, words in members.items())
    return Places.learn(everything, joint)


def confirmed_places(places: Places, task: int, network: StoryModel) -> Places:
    """The kinds whose words the network itself takes for one another: renamed, it answers as well.

    Symmetric stories need not make a symmetric network, and words may be bound to others (wolf and wolves).
    """
    stories = [
        story
        for number in (TASKS if task == JOINT else (task,))
        for story in generate(number, CHECKED if task else CHECKED // 4, seed=1, split="valid")
    ]
    if longest_sentence(stories) > network.config.longest_sentence:
        return Places((), {}, {})  # it was trained on shorter ones, so nothing can be confirmed
    usual = _error(network, stories)
    known = network.vocab.index
    kept = []
    for kind in places.kinds:
        again = rename(stories, kind.members, known)
        bound = [bind_story(places, story, known) for story in again]
        if _error(network, bound) <= usual + ALLOWED:
            kept.append(kind)
    if len(kept) == len(places.kinds):
        return places
    learned = [
        story for number in (TASKS if task == JOINT else (task,)) for story in _kinds_of(number)[0]
    ]
    return Places.learn(learned, kept)


def _error(network: StoryModel, stories: list[Story]) -> float:
    config = network.config
    corpus = encode_stories(stories, network.vocab, config)
    engine = choose_engine(network, TrainConfig())
    return score(engine, corpus.entries("story", config.memory_limit)).error_percent


@cache
def _kinds_of(task: int) -> tuple[list[Story], tuple[Kind, ...]]:
    stories = generate(task, QUESTIONS, seed=1)
    return stories, find_kinds(stories, find_symmetries(stories))
