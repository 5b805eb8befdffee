"""The questions of the Children's Book Test: where they are, read when they are first needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from entnet.data.cbt.build import default_directory
from entnet.data.cbt.format import CbtQuestion, Kind, Split, cbt_file_name, read_cbt
from entnet.data.cbt.passages import Passages, encode_passages, load_passages
from entnet.data.cbt.windows import WindowedQuestions, encode_with, load_training
from entnet.data.sources import data_root
from entnet.errors import EntNetError
from entnet.models.baselines.kneser_ney import KneserNey
from entnet.models.readers.scorer import training_sentences
from entnet.tasks.questions import QuestionData

LEAST = 5
"""Networks on windows know the words that their training questions have so often."""


def find_questions(root: Path | str | None = None) -> Path:
    """Where questions are: the official ones under the data directory, else those that were built."""
    official = (Path(root) if root is not None else data_root()) / "cbt" / "data"
    for place in (official, default_directory()):
        if (place / cbt_file_name("NE", "train")).is_file():
            return place
    raise EntNetError(
        "no questions of the Children's Book Test; `entnet data build-cbt` builds them from tagged "
        "books, `entnet data download cbt` fetches the official ones"
    )


def find_official(kind: Kind, root: Path | str | None = None) -> Path | None:
    """The folder of official validation and test questions of a kind, where training ones are missing."""
    folder = (Path(root) if root is not None else data_root()) / "cbt" / "questions"
    both = [folder / cbt_file_name(kind, split) for split in ("valid", "test")]
    return folder if all(path.is_file() for path in both) else None


@dataclass
class CbtData:
    """The questions of one kind."""

    directory: Path
    kind: Kind
    official: Path | None = None
    """Where official validation and test questions are, if those of ``directory`` are rebuilt."""

    @classmethod
    def find(cls, kind: Kind, root: Path | str | None = None) -> CbtData:
        """The questions at hand: official ones where they are, rebuilt ones for training else."""
        found = cls(find_questions(root), kind)
        return replace(found, official=find_official(kind, root)) if found.rebuilt else found

    @cached_property
    def valid(self) -> list[CbtQuestion]:
        return self._read("valid")

    @cached_property
    def test(self) -> list[CbtQuestion]:
        return self._read("test")

    @cached_property
    def beside(self) -> dict[str, list[CbtQuestion]]:
        """Rebuilt validation and test questions, where the main ones are official."""
        if self.official is None:
            return {}
        rebuilt = CbtData(self.directory, self.kind)
        return {"rebuilt_valid": rebuilt.valid, "rebuilt_test": rebuilt.test}

    @cached_property
    def windows(self) -> QuestionData[WindowedQuestions]:
        """All questions as windows, with the vocabulary of the training questions."""
        train, vocab = load_training(self._file("train"), LEAST)
        asked = {"valid": self.valid, "test": self.test, **self.beside}
        cut = {name: encode_with(questions, vocab) for name, questions in asked.items()}
        return QuestionData(train, cut.pop("valid"), cut.pop("test"), vocab, cut)

    @cached_property
    def passages(self) -> QuestionData[Passages]:
        """All questions as whole sentences, with the vocabulary of the training books."""
        train, vocab = load_passages(self._file("train"), LEAST)
        asked = {"valid": self.valid, "test": self.test, **self.beside}
        whole = {name: encode_passages(questions, vocab)[0] for name, questions in asked.items()}
        return QuestionData(train, whole.pop("valid"), whole.pop("test"), vocab, whole)

    @cached_property
    def sentences(self) -> list[list[str]]:
        return list(training_sentences(self._file("train")))

    @property
    def running_text(self) -> list[list[str]]:
        """The books' sentences, as far as questions have them; those for common nouns have nearly all."""
        if self.kind == "CN" or not (self.directory / cbt_file_name("CN", "train")).is_file():
            return self.sentences
        return CbtData(self.directory, "CN").sentences

    @cached_property
    def kneser_ney(self) -> KneserNey:
        return KneserNey(self.sentences)

    @property
    def rebuilt(self) -> bool:
        """Whether our builder made the questions of ``directory``; it leaves a note."""
        return (self.directory / "build.json").is_file()

    @property
    def origin(self) -> str:
        """Which questions a system is chosen by and tested on: "official" or "rebuilt"."""
        return "rebuilt" if self.rebuilt and self.official is None else "official"

    @property
    def train_origin(self) -> str:
        return "rebuilt" if self.rebuilt else "official"

    def _read(self, split: Split) -> list[CbtQuestion]:
        return read_cbt(self._file(split))

    def _file(self, split: Split) -> Path:
        folder = self.directory if split == "train" or self.official is None else self.official
        path = folder / cbt_file_name(self.kind, split)
        if not path.is_file():
            raise EntNetError(f"{path}: no such file")
        return path
