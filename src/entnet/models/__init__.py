"""Networks that read stories."""

from entnet.models.base import StoryModel, list_pretrained, model_class
from entnet.models.entnet import EntNet
from entnet.models.lstm import LSTM
from entnet.models.memn2n import MemN2N

__all__ = ["LSTM", "EntNet", "MemN2N", "StoryModel", "list_pretrained", "model_class"]
