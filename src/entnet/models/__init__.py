"""Networks that read stories."""

from entnet.models.base import StoryModel, list_pretrained, model_class
from entnet.models.entnet import EntNet

__all__ = ["EntNet", "StoryModel", "list_pretrained", "model_class"]
