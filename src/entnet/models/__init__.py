"""Networks that read stories."""

from entnet.models.base import StoryModel, list_pretrained
from entnet.models.entnet import EntNet
from entnet.models.lstm import LSTM
from entnet.models.memn2n import MemN2N
from entnet.models.registry import kinds, load_model_file, model_class, register

__all__ = [
    "LSTM",
    "EntNet",
    "MemN2N",
    "StoryModel",
    "kinds",
    "list_pretrained",
    "load_model_file",
    "model_class",
    "register",
]
