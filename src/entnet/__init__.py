"""Recurrent Entity Networks: read a story once, track the state of the world, answer at any moment."""

from entnet.config import ConfigError, EntNetConfig, TrainConfig
from entnet.data.babi import read_babi, write_babi
from entnet.data.jsonl import read_jsonl, write_jsonl
from entnet.data.reading import read_stories
from entnet.data.story import Corpus, Question, RaggedBatch, Story
from entnet.errors import DataError, EntNetError, ModelFileError
from entnet.models import EntNet, StoryModel, list_pretrained
from entnet.symmetries import Symmetries, find_symmetries
from entnet.text import Vocab, tokenise
from entnet.tracker import Tracker

__all__ = [
    "ConfigError",
    "Corpus",
    "DataError",
    "EntNet",
    "EntNetConfig",
    "EntNetError",
    "ModelFileError",
    "Question",
    "RaggedBatch",
    "Story",
    "StoryModel",
    "Symmetries",
    "Tracker",
    "TrainConfig",
    "Vocab",
    "find_symmetries",
    "list_pretrained",
    "read_babi",
    "read_jsonl",
    "read_stories",
    "tokenise",
    "write_babi",
    "write_jsonl",
]
