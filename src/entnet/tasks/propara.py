"""ProPara: paragraphs on processes, scored by document and by sentence.

A run is for a system. It trains on the 391 paragraphs of training, is chosen on development, and its test
scores are taken at the end. ``scores`` says whether they are: trials go without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from entnet.config import Config, TrainConfig
from entnet.data.propara.document import document_score
from entnet.data.propara.encode import Paragraph, Places, build_vocab, collate, encode
from entnet.data.propara.exchange import exchange
from entnet.data.propara.files import read_grids
from entnet.data.propara.generate import generate_processes
from entnet.data.propara.process import Process
from entnet.data.propara.sentence import sentence_score
from entnet.data.propara.vectors import read_vectors
from entnet.data.sources import data_root
from entnet.errors import EntNetError
from entnet.models import model_class
from entnet.models.processes.base import ProcessModel
from entnet.tasks.spec import Result, RunSpec
from entnet.training.engine import TorchEngine
from entnet.training.schedule import ScheduledTask
from entnet.training.trainer import Callback, Epoch, Trainer, TrainingScore, ValidationScore

ChooseBy = Literal["f1", "both"]
PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class ProparaOptions(Config):
    """What is read besides the paragraphs of training."""

    least_count: int = 2
    """Words that training has less often are read as new ones."""
    vectors: str = ""
    """A file of word vectors, one word and its numbers per line, to start the embeddings from."""
    generated: int = 0
    """Generated paragraphs to train on before the real ones."""
    generated_epochs: int = 0
    """The first so many epochs read generated paragraphs."""
    exchange: float = 0.0
    """Share of the real paragraphs in which, each time, participants have one another's names."""
    choose_by: ChooseBy = "f1"
    """Of the epochs, the one kept has the best document-level F1 on development, or the best mean of it
    and the sentence-level macro mean."""
    test: bool = True
    """Whether the test paragraphs are scored at the end; trials leave them alone."""

    def check(self) -> None:
        self.at_least(0, "least_count", "generated", "generated_epochs")
        self.require(0 <= self.exchange <= 1, f"exchange is {self.exchange}, but must be in [0, 1]")
        self.require(
            bool(self.generated) == bool(self.generated_epochs),
            "generated and generated_epochs go together",
        )


def grids_path(part: str, directory: Path | str | None = None) -> Path:
    """The file of state grids of train, dev or test, or an error that says how to get it."""
    folder = data_root(directory) / "propara"
    path = folder / f"grids.v1.{part}.json"
    if not path.is_file():
        raise EntNetError(
            f"{path.name} is not under {folder}; `entnet data download propara` fetches it, "
            "or set ENTNET_DATA to where it is"
        )
    return path


class ProcessSource:
    """Shuffled paragraphs in batches; the first epochs are of generated ones."""

    def __init__(
        self,
        real: Sequence[Paragraph],
        generated: Sequence[Paragraph],
        options: ProparaOptions,
        config: TrainConfig,
        exchanged: Callable[[int], Sequence[Paragraph]] | None = None,
    ) -> None:
        self.real, self.generated, self.options, self.config = real, generated, options, config
        self.exchanged = exchanged

    def epoch(self, number: int) -> Epoch:
        seed, size = self.config.seed, self.config.batch_size
        paragraphs = self.real
        if number <= self.options.generated_epochs:
            # They are short and many: batches twice as large waste less.
            paragraphs, size = self.generated, 2 * size
        elif self.exchanged:
            paragraphs = self.exchanged(number)
        order = np.random.default_rng([seed, number]).permutation(len(paragraphs))
        groups = [order[first : first + size] for first in range(0, len(order), size)]
        batches = (collate([paragraphs[i] for i in group]) for group in groups)
        return Epoch(batches, len(groups), seed * 100_003 + number, complete=False)


class ProcessTask(ScheduledTask):
    """Both official scores, on development and on test. Networks are chosen by the first, or by both."""

    def __init__(
        self,
        model: ProcessModel,
        parts: dict[str, list[Process]],
        config: TrainConfig,
        choose_by: ChooseBy = "f1",
    ) -> None:
        super().__init__(config)
        self.model, self.parts, self.choose_by = model, parts, choose_by

    def validate(self, engine: TorchEngine, epoch: int, training: TrainingScore) -> ValidationScore:
        found = scores(self.model, self.parts["dev"])
        error, lacks = _error(found), shortfall(found, self.choose_by)
        percent = {"valid_error": error, "train_error": training.error}
        better = self.progress.record(self.config, epoch, lacks, 0.0, percent=percent)
        return ValidationScore(None, error, better)

    def test(self, engine: TorchEngine) -> dict[str, Any]:
        line: dict[str, Any] = {}
        for part, name in (("dev", "valid"), ("test", "test")):
            if part in self.parts:
                found = scores(self.model, self.parts[part])
                line |= {name: found, f"{name}_error": _error(found)}
                line[f"{name}_questions"] = sum(
                    one.steps * len(one.participants) for one in self.parts[part]
                )
        return line


def _error(found: dict[str, Any]) -> float:
    return round(100 * (1 - float(found["document"]["f1"])), 4)


def shortfall(found: dict[str, Any], choose_by: ChooseBy) -> float:
    """What networks are chosen by: how much is missing, in percent, to full scores on development."""
    error = _error(found)
    return error if choose_by == "f1" else (error + 100 - float(found["sentence"]["macro"])) / 2


def scores(model: ProcessModel, processes: Sequence[Process]) -> dict[str, Any]:
    """Both official scores of a network's predictions."""
    predicted = model.predict_processes(processes)
    return {
        "document": document_score(predicted, processes).to_dict(),
        "sentence": sentence_score(predicted, processes).to_dict(),
    }


def propara_trainer(
    directory: Path | str,
    kind: str,
    model_options: dict[str, Any],
    options: ProparaOptions,
    config: TrainConfig,
    parts: dict[str, list[Process]],
    about: dict[str, Any] | None = None,
    checkpoint_seconds: float = 10.0,
) -> Trainer:
    """A run on paragraphs, ready to start. ``parts``: train, dev and, if it is to be scored, test."""
    train = parts["train"]
    generated = generate_processes(options.generated, config.seed)
    vectors = read_vectors(options.vectors, parts.values()) if options.vectors else None
    vocab = build_vocab(train, generated, options.least_count, vectors.words if vectors else ())
    table = torch.from_numpy(Places.count(train).table(vocab))
    network = model_class(kind)
    if not issubclass(network, ProcessModel):
        raise EntNetError(f"{kind} does not read processes; kinds that do begin with process-")
    size = {"vocabulary": len(vocab), "known_places": len(table)}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = network(network.config_class.from_dict({**model_options, **size}), vocab)
    model.get_buffer("place_table").copy_(table)
    if vectors is not None:
        model.start_from(vectors)

    def exchanged(epoch: int) -> list[Paragraph]:
        rng = np.random.default_rng([config.seed, epoch, 1])
        told = [exchange(one, rng) if rng.random() < options.exchange else one for one in train]
        return [encode(one, vocab, model.places, apart=True) for one in told]

    return Trainer(
        directory,
        model,
        TorchEngine(model, config),
        ProcessSource(
            [encode(one, vocab, model.places, apart=True) for one in train],
            [encode(one, vocab, model.places) for one in generated],
            options,
            config,
            exchanged if options.exchange else None,
        ),
        ProcessTask(model, parts, config, options.choose_by),
        config,
        about,
        checkpoint_seconds,
    )


def run(spec: RunSpec, callback: Callback | None) -> Result:
    config = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
    options = ProparaOptions.from_dict(spec.source)
    wanted = PARTS if options.test else PARTS[:2]
    parts = {part: read_grids(grids_path(part, spec.data_root)) for part in wanted}
    about = {**spec.about(), "source": options.to_dict()}
    return propara_trainer(
        spec.directory,
        spec.kind,
        spec.model,
        options,
        config,
        parts,
        about,
        spec.checkpoint_seconds,
    ).train(callback)


def require_data(spec: RunSpec) -> None:
    for part in PARTS:
        grids_path(part, spec.data_root)


def settings(kind: str) -> list[type[Config]]:
    return [model_class(kind).config_class, TrainConfig, ProparaOptions]
