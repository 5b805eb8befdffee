"""Small networks, trained in a few seconds on stories made here, for tests that need real ones."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import torch

from entnet import Corpus, EntNet, EntNetConfig, Question, Story, TrainConfig, Vocab
from entnet.data.story import longest_sentence, story_words
from entnet.training.engine import TorchEngine

PEOPLE = ("Mary", "John", "Sandra")
PLACES = ("garden", "kitchen", "office", "hallway")
VERBS = ("went", "moved", "travelled")


def make_stories(count: int, seed: int, sentences: int = 5) -> list[Story]:
    """People walk about; after every sentence it is asked where somebody seen before is."""
    dice = random.Random(seed)
    stories = []
    for _ in range(count):
        told: list[str] = []
        asked: list[Question] = []
        where: dict[str, str] = {}
        for _ in range(sentences):
            person, place = dice.choice(PEOPLE), dice.choice(PLACES)
            where[person] = place
            told.append(f"{person} {dice.choice(VERBS)} to the {place}.")
            sought = dice.choice(sorted(where))
            asked.append(Question(len(told), f"Where is {sought}?", where[sought]))
        stories.append(Story(tuple(told), tuple(asked)))
    return stories


def train(epochs: int = 8, seed: int = 1, **options: object) -> EntNet:
    """A network that has learned such stories."""
    stories = make_stories(500, seed)
    vocab = Vocab.build(story_words(stories))
    config = EntNetConfig(
        vocabulary=len(vocab),
        sentence_length=longest_sentence(stories),
        **{"width": 48, "slots": 5, **options},  # type: ignore[arg-type]
    )
    torch.manual_seed(seed)
    model = EntNet(config, vocab)
    engine = TorchEngine(model, TrainConfig())
    entries = Corpus.encode(stories, vocab, config.sentence_length).entries()
    order = np.random.default_rng(seed)
    for epoch in range(epochs):
        for group in entries.groups(32, order.permutation(len(entries))):
            engine.step(entries.batch(group), 0.01 if epoch < epochs - 2 else 0.003)
    return model.eval()


def train_all(directory: Path) -> dict[str, Path]:
    """Two networks on disk, by name: one that learns whom to follow, one with a slot for everybody."""
    keys = tuple(name.lower() for name in PEOPLE)
    tied = {"encoder": "bow", "keys": "tied", "key_words": keys, "slots": len(keys)}
    paths = {}
    for name, options in (("walks-free", {}), ("walks-tied", tied)):
        paths[name] = directory / name
        if not (paths[name] / "model.safetensors").is_file():
            train(**options).save_pretrained(paths[name])  # type: ignore[arg-type]
    return paths
