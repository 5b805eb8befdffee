"""Parts of the training settings that are tables of their own: what is read how, and when to end early.

[train.permute]
groups = [["mary", "sandra"], ["john", "daniel"]]
skip_if = ["bored", "tired"]
from_epoch = 40

[[train.oversample]]
words = ["north", "south"]
times = 4

[[train.curriculum]]
epochs = 60
only = ["frog", "lion"]

[[train.prune]]
epoch = 12
metric = "valid_error"
above = 14.0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from entnet.config.base import Config

Blocks = tuple[tuple[tuple[str, ...], ...], ...]
"""The blocks of a group, their members, and the words of a member."""


@dataclass(frozen=True)
class Permute(Config):
    """Data augmentation: the words of each group are permuted consistently within a story."""

    groups: tuple[Any, ...] = ()
    """Words that may stand for one another: ["mary", "sandra"]. A member may be several words that go
    together: [["north", "n"], ["south", "s"]]. Lists of such lists are blocks, which may change places
    too: [[["north", "n"], ["south", "s"]], [["east", "e"], ["west", "w"]]]."""
    skip_if: tuple[str, ...] = ()
    """Stories with one of these words stay as they are: there the answer depends on the word itself."""
    only_if: tuple[str, ...] = ()
    """If given, stories with none of these words stay as they are."""
    only_if_until: int | None = None
    """The last epoch in which ``only_if`` holds; none for all epochs."""
    from_epoch: int = 1
    """The first epoch in which words are permuted."""

    def check(self) -> None:
        self.at_least(1, "from_epoch")
        self.require(
            self.only_if_until is None or bool(self.only_if),
            "only_if_until ends the limit of only_if, but there is none",
        )
        for word, count in Counter(self.words()).items():
            self.require(count == 1, f"{word!r} is in two groups, but must be in one")

    def blocks(self) -> list[Blocks]:
        """Every group in its longest form."""
        return [self._blocks(group) for group in self.groups]

    def words(self) -> Iterator[str]:
        for blocks in self.blocks():
            for block in blocks:
                for member in block:
                    yield from member

    def _blocks(self, group: Any) -> Blocks:
        self.require(
            isinstance(group, tuple),
            f'groups has {group!r}, but must be lists of words: [["mary", "sandra"], …]',
        )
        depth = _depth(group)
        blocks: Blocks = group
        if depth == 1:
            blocks = (tuple((word,) for word in group),)
        elif depth == 2:
            blocks = (group,)
        self.require(
            depth in (1, 2, 3),
            f"groups has {group!r}: words, lists of words or blocks of such lists, but not mixed",
        )
        self.require(
            len({len(member) for block in blocks for member in block}) == 1,
            f"groups has {group!r}: every member needs as many words",
        )
        self.require(
            len({len(block) for block in blocks}) == 1,
            f"groups has {group!r}: every block needs as many members",
        )
        return blocks


def _depth(group: object) -> int | None:
    """How deep the words lie in lists; None where they do not lie equally deep, or there are none."""
    if isinstance(group, str):
        return 0
    if not isinstance(group, tuple):
        return None
    depths = {_depth(part) for part in group}
    depth = depths.pop() if len(depths) == 1 else None
    return None if depth is None else depth + 1


@dataclass(frozen=True)
class Oversample(Config):
    """Stories with one of ``words`` are read ``times`` times per epoch."""

    words: tuple[str, ...] = ()
    times: int = 2

    def check(self) -> None:
        self.require(bool(self.words), "words: at least one is needed")
        self.at_least(1, "times")


@dataclass(frozen=True)
class Stage(Config):
    """A stage of a curriculum: for ``epochs``, only stories with one of the words ``only`` are read."""

    epochs: int = 1
    only: tuple[str, ...] = ()

    def check(self) -> None:
        self.require(bool(self.only), "only: at least one word is needed")
        self.at_least(1, "epochs")


@dataclass(frozen=True)
class Prune(Config):
    """A run ends with ``epoch`` if its ``metric``, in percent, is above ``above`` then."""

    epoch: int = 1
    metric: Literal["valid_error", "train_error"] = "valid_error"
    above: float = 100.0

    def check(self) -> None:
        self.at_least(1, "epoch")
