"""Symmetries of stories: which words are interchangeable, alone or only together, told from the text."""

from entnet.symmetries.find import (
    Evidence,
    Symmetries,
    TooLittleError,
    confirmed,
    find_symmetries,
)
from entnet.symmetries.group import Swap

__all__ = ["Evidence", "Swap", "Symmetries", "TooLittleError", "confirmed", "find_symmetries"]
