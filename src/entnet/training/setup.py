"""From stories and settings to a run that can start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from entnet.config import TrainConfig
from entnet.data.babi import split_validation
from entnet.data.story import Corpus, Story, longest_sentence, story_words
from entnet.errors import EntNetError
from entnet.models.base import StoryModel, model_class
from entnet.text import Vocab
from entnet.training.loop import RunData


@dataclass(frozen=True)
class Prepared:
    """Data in numbers, and how to build the network for it."""

    data: RunData
    vocab: Vocab
    build: Callable[[], StoryModel]


def prepare(
    train: Sequence[Story],
    valid: Sequence[Story] | None,
    test: Sequence[Story] | None,
    config: TrainConfig,
    kind: str = "entnet",
    model_options: dict[str, Any] | None = None,
    vocab: Vocab | None = None,
) -> Prepared:
    """Encode stories and configure a network of this kind for them.

    Without validation stories, the last of the training stories are set aside. The vocabulary is that of
    training and validation stories, unless given.
    """
    if valid is None:
        train, valid = split_validation(train, config.validation)
    if not train or not valid:
        raise EntNetError("too few stories: at least one to train on and one to validate with")
    options = dict(model_options or {})
    lowercase = bool(options.get("lowercase", True))
    vocab = vocab or Vocab.build(story_words(train, lowercase) | story_words(valid, lowercase))
    everything = [*train, *valid, *(test or [])]
    length = int(options.pop("sentence_length", 0)) or longest_sentence(everything)
    network = model_class(kind)
    model_config = network.config_class.from_dict(
        {**options, "vocabulary": len(vocab), "sentence_length": length}
    )
    train_corpus = Corpus.encode(train, vocab, length, lowercase)
    data = RunData(
        train_corpus,
        Corpus.encode(valid, vocab, length, lowercase),
        Corpus.encode(test, vocab, length, lowercase) if test else None,
    )
    if getattr(model_config, "answer_set", None) == "answers":
        seen = sorted({int(answer) for answer in train_corpus.answers})
        model_config = model_config.replace(answer_words=tuple(seen))
    return Prepared(data, vocab, lambda: network(model_config, vocab))
