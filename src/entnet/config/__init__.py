"""What a network is and how it is trained, as frozen dataclasses.

Impossible values fail when a configuration is built, with the field, what was given and what would be
right. Where the paper's text and its authors' code differ, the field says so, and which is the default.
"""

from entnet.config.base import Config, ConfigError
from entnet.config.model import EntNetConfig, Matrix, ModelConfig
from entnet.config.stories import Oversample, Permute, Prune, Stage
from entnet.config.train import TrainConfig

__all__ = [
    "Config",
    "ConfigError",
    "EntNetConfig",
    "Matrix",
    "ModelConfig",
    "Oversample",
    "Permute",
    "Prune",
    "Stage",
    "TrainConfig",
]
