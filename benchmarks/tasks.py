"""The stories that are trained on: official files where present, else generated ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from entnet.config import EntNetConfig
from entnet.data.babi import read_babi
from entnet.data.babi_tasks import generate
from entnet.data.sources import find_babi
from entnet.data.story import Corpus, Entries, longest_sentence, story_words
from entnet.text import Vocab

TASKS = (1, 2, 3, 5, 16, 17, 19)
QUESTIONS = 10_000


@dataclass(frozen=True)
class TaskData:
    corpus: Corpus
    vocab: Vocab
    config: EntNetConfig
    source: str
    """"official" or "generated"."""

    def entries(self, draw: Literal["story", "question"]) -> Entries:
        return self.corpus.entries(draw, self.config.memory_limit)


def load(task: int) -> TaskData:
    """A task's training stories, with the network that the paper trains on them."""
    path = find_babi("en-10k", task, "train")
    stories = generate(task, QUESTIONS, seed=1) if path is None else read_babi(path)
    vocab = Vocab.build(story_words(stories))
    config = EntNetConfig(
        vocabulary=len(vocab),
        sentence_length=longest_sentence(stories),
        memory_limit=130 if task == 3 else 70,
    )
    corpus = Corpus.encode(stories, vocab, config.sentence_length)
    return TaskData(corpus, vocab, config, "generated" if path is None else "official")
