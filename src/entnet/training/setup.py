"""From stories and settings to a run that can start."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from entnet.config import TrainConfig
from entnet.data.babi import split_validation
from entnet.data.story import Story, longest_sentence, story_words
from entnet.errors import EntNetError
from entnet.models.base import StoryModel, encode_stories, model_class
from entnet.models.processes.base import ProcessModel
from entnet.symmetries import Symmetries, TooLittleError, find_symmetries
from entnet.text import Vocab
from entnet.training.auto import MOST_UPDATES
from entnet.training.auto_source import UPDATES_PER_EPOCH
from entnet.training.loop import RunData

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prepared:
    """Data in numbers, and how to build the network for it."""

    data: RunData
    vocab: Vocab
    build: Callable[[], StoryModel]

    @property
    def most_epochs(self) -> int:
        """How many epochs the schedule ``auto`` may take with these stories."""
        return 2 * MOST_UPDATES // UPDATES_PER_EPOCH


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
    for option, unknown in unknown_words(config, vocab).items():
        log.warning("%s: not in the vocabulary, so ignored: %s", option, ", ".join(unknown))
    everything = [*train, *valid, *(test or [])]
    length = int(options.pop("sentence_length", 0)) or longest_sentence(everything)
    network = model_class(kind)
    if issubclass(network, ProcessModel):
        raise EntNetError(
            f"{kind} reads processes, not stories: `entnet reproduce propara` trains it"
        )
    model_config = network.config_class.from_dict(
        {**options, "vocabulary": len(vocab), "sentence_length": length}
    )
    train_corpus = encode_stories(train, vocab, model_config)
    data = RunData(
        train_corpus,
        encode_stories(valid, vocab, model_config),
        encode_stories(test, vocab, model_config) if test else None,
    )
    if config.schedule == "auto" and config.augment:
        data = replace(data, symmetries=_symmetries(train), held_out=tuple(valid))
    if getattr(model_config, "answer_set", None) == "answers":
        seen = sorted({int(answer) for answer in train_corpus.answers})
        model_config = model_config.replace(answer_words=tuple(seen))
    return Prepared(data, vocab, lambda: network(model_config, vocab))


def _symmetries(train: Sequence[Story]) -> Symmetries | None:
    """Words that are interchangeable in these stories; if that cannot be told, say why and go on."""
    try:
        found = find_symmetries(train)
    except TooLittleError as error:
        log.warning("no augmentation: %s", error)
        return None
    if not found:
        log.warning("no augmentation: no words are found to be interchangeable")
        return None
    return found


def unknown_words(config: TrainConfig, vocab: Vocab) -> dict[str, list[str]]:
    """Words that a setting names but no story has, by setting: one may be misspelt.

    Of words that go together the first is looked for; the others may occur in lists only.
    """
    permute = config.permute
    named = {
        "permute.groups": [m[0] for blocks in permute.blocks() for block in blocks for m in block],
        "permute.skip_if": permute.skip_if,
        "permute.only_if": permute.only_if,
        "oversample": [word for rule in config.oversample for word in rule.words],
        "curriculum": [word for stage in config.curriculum for word in stage.only],
    }
    unknown = {option: vocab.unknown(words) for option, words in named.items()}
    return {option: words for option, words in unknown.items() if words}
