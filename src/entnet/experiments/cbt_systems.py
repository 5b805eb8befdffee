"""Every system of Table 4: how it is made from the training questions, and what it scores.

A system is run for a kind of question and a seed, and gives scores of the ten candidates for validation and
test questions. Settings that the paper leaves out were chosen on validation; docs/cbt.md says how.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from entnet.data.cbt import CbtQuestion, Kind, cbt_file_name, read_cbt
from entnet.data.cbt_windows import WindowedQuestions, encode_with, load_training, with_fresh
from entnet.experiments.cbt_training import (
    NativeTrainee,
    Outcome,
    Tell,
    TorchTrainee,
    Trainee,
    WindowTraining,
    train_windows,
)
from entnet.models.base import StoryModel
from entnet.models.cbt.frequency import ContextFrequency, CorpusFrequency, WordDistance
from entnet.models.cbt.kneser_ney import KneserNey
from entnet.models.cbt.language import NGramScorer
from entnet.models.cbt.lstm_language import LanguageConfig, LanguageScorer, train_language_model
from entnet.models.cbt.memnn import WindowMemory, WindowMemoryConfig
from entnet.models.cbt.native import NativeSimple, is_built, simple_config
from entnet.models.cbt.scorer import Floats, Scorer, accuracy, answers_of, training_sentences
from entnet.models.entnet import EntNet
from entnet.text import Vocab

LEAST = 5
"""Networks on windows know the words that their training questions have so often."""

Options = dict[str, Any]
Chosen = TypeVar("Chosen", bound=Scorer)


@dataclass
class CbtData:
    """The questions of one kind, read when they are first needed."""

    directory: Path
    kind: Kind

    @cached_property
    def valid(self) -> list[CbtQuestion]:
        return read_cbt(self.directory / cbt_file_name(self.kind, "valid"))

    @cached_property
    def test(self) -> list[CbtQuestion]:
        return read_cbt(self.directory / cbt_file_name(self.kind, "test"))

    @cached_property
    def _training(self) -> tuple[WindowedQuestions, Vocab]:
        return load_training(self.directory / cbt_file_name(self.kind, "train"), LEAST)

    @property
    def train(self) -> WindowedQuestions:
        return self._training[0]

    @property
    def vocab(self) -> Vocab:
        return self._training[1]

    @cached_property
    def valid_windows(self) -> WindowedQuestions:
        return encode_with(self.valid, self.vocab)

    @cached_property
    def test_windows(self) -> WindowedQuestions:
        return encode_with(self.test, self.vocab)

    @cached_property
    def sentences(self) -> list[list[str]]:
        return list(training_sentences(self.directory / cbt_file_name(self.kind, "train")))

    @cached_property
    def kneser_ney(self) -> KneserNey:
        return KneserNey(self.sentences)

    @property
    def is_rebuilt(self) -> bool:
        """Whether our builder made the questions; official ones have no note of it."""
        return (self.directory / "build.json").is_file()


@dataclass
class SystemRun:
    """What a system came to."""

    valid_scores: Floats
    test_scores: Floats
    about: Options = field(default_factory=dict)
    """For the line of results: settings, epochs, time."""


@dataclass(frozen=True)
class System:
    """A row of the table."""

    name: str
    title: str
    single_pass: bool
    """Whether it reads the story once, before it knows the question."""
    run: Callable[[CbtData, int, Path, Tell], SystemRun]
    seeds: tuple[int, ...] = (1,)
    """More than one where chance plays a part that the table should show."""


# Systems that count.


def _scored(scorer: Scorer, data: CbtData, **about: Any) -> SystemRun:
    return SystemRun(scorer.scores(data.valid), scorer.scores(data.test), about)


def _corpus(data: CbtData, seed: int, runs: Path, tell: Tell) -> SystemRun:
    return _scored(CorpusFrequency(data.sentences), data)


def _context(data: CbtData, seed: int, runs: Path, tell: Tell) -> SystemRun:
    return _scored(ContextFrequency(), data)


def _distance(data: CbtData, seed: int, runs: Path, tell: Tell) -> SystemRun:
    made = [
        WordDistance(reach=reach, frequency_weight=w) for reach in (2, 5) for w in (0.5, 1.0, 2.0)
    ]
    best = _choose(made, data)
    return _scored(best, data, reach=best.reach, frequency_weight=best.frequency_weight)


def _ngrams(data: CbtData, seed: int, runs: Path, tell: Tell) -> SystemRun:
    return _scored(NGramScorer(data.kneser_ney), data, order=data.kneser_ney.order)


def _ngrams_with_cache(data: CbtData, seed: int, runs: Path, tell: Tell) -> SystemRun:
    made = [NGramScorer(data.kneser_ney, weight) for weight in (0.02, 0.05, 0.1, 0.2, 0.3)]
    best = _choose(made, data)
    return _scored(best, data, order=data.kneser_ney.order, cache_weight=best.cache_weight)


def _choose(made: Sequence[Chosen], data: CbtData) -> Chosen:
    """The one that is best on validation."""
    answers = answers_of(data.valid)
    return max(made, key=lambda scorer: accuracy(scorer.scores(data.valid), answers))


# Networks on windows.

SIMPLE: dict[Kind, tuple[Options, Options]] = {
    "NE": ({}, {"epochs": 20, "rate": 0.02, "decay": 0.93, "disguise": 0.2}),
    "CN": ({}, {"epochs": 30, "rate": 0.02, "decay": 0.95, "query_width": 9}),
}
"""Network and training of the simple EntNet, by kind; V and P take those of CN."""

GENERAL_NETWORK: Options = {
    "U": "trained",
    "V": "trained",
    "W": "trained",
    "activation": "prelu",
    "normalise": True,
    "embedding_scale": 0.1,
}


def train_simple(
    data: CbtData, seed: int, runs: Path, tell: Tell
) -> tuple[Trainee, Outcome, Options]:
    """Train the simple network; in compiled code where that is built."""
    network, changes = SIMPLE.get(data.kind, SIMPLE["CN"])
    training = WindowTraining(**{**changes, "seed": seed})
    torch.manual_seed(seed)
    vocab = with_fresh(data.vocab, training.fresh)
    config = simple_config(len(vocab), sentence_length=training.query_width, **network)
    model = EntNet(config, vocab)
    trainee: Trainee
    if is_built():
        net = NativeSimple(model, adaptive=training.optimiser == "adagrad")
        trainee = NativeTrainee(net, data.train, training)
    else:
        trainee = TorchTrainee(model, data.train, training)
    outcome = _train(trainee, training, data, runs, "entnet-simple", tell)
    return trainee, outcome, {"network": config.to_dict(), "training": training.to_dict()}


def network_directory(runs: Path, kind: Kind, name: str, seed: int) -> Path:
    """Where a run keeps the network that was best on validation."""
    return runs / f"{kind}-{name}-{seed}"


def _train(
    trainee: Trainee, training: WindowTraining, data: CbtData, runs: Path, name: str, tell: Tell
) -> Outcome:
    place = network_directory(runs, data.kind, name, training.seed)
    file = place.with_name(f"{place.name}.npz")
    outcome = train_windows(trainee, training, data.valid_windows, data.test_windows, file, tell)
    trainee.network().save_pretrained(place)
    return outcome


def _simple(data: CbtData, seed: int, runs: Path, tell: Tell) -> SystemRun:
    _, outcome, settings = train_simple(data, seed, runs, tell)
    return _finished(outcome, settings, data)


def _general(data: CbtData, seed: int, runs: Path, tell: Tell) -> SystemRun:
    training = WindowTraining(
        epochs=6,
        questions=40_000,
        rate=0.002,
        optimiser="adam",
        batch=128,
        disguise=0.2,
        seed=seed,
    )
    torch.manual_seed(seed)
    vocab = with_fresh(data.vocab, training.fresh)
    model = EntNet(simple_config(len(vocab), **GENERAL_NETWORK), vocab)
    return _on_windows(model, training, data, runs, "entnet-general", tell)


def _memory(
    name: str, epochs: int, **options: Any
) -> Callable[[CbtData, int, Path, Tell], SystemRun]:
    def run(data: CbtData, seed: int, runs: Path, tell: Tell) -> SystemRun:
        reach = 11 if options.get("query") == "lstm" else 5
        training = WindowTraining(
            epochs=epochs,
            questions=20_000,
            rate=0.002,
            optimiser="adam",
            batch=256,
            disguise=0.2,
            query_width=reach,
            seed=seed,
        )
        torch.manual_seed(seed)
        vocab = with_fresh(data.vocab, training.fresh)
        config = WindowMemoryConfig(
            vocabulary=len(vocab), sentence_length=reach, dropout=0.5, **options
        )
        return _on_windows(WindowMemory(config, vocab), training, data, runs, name, tell)

    return run


def _on_windows(
    model: StoryModel, training: WindowTraining, data: CbtData, runs: Path, name: str, tell: Tell
) -> SystemRun:
    trainee = TorchTrainee(model, data.train, training)
    outcome = _train(trainee, training, data, runs, name, tell)
    settings = {"network": model.config.to_dict(), "training": training.to_dict()}
    return _finished(outcome, settings, data)


def _finished(outcome: Outcome, settings: Options, data: CbtData) -> SystemRun:
    progress = outcome.progress
    training = WindowTraining.from_dict(settings["training"])
    passes = training.passes(len(data.train), progress.epoch)
    seconds = 1e5 * progress.cpu_seconds / (passes * len(data.train))
    about = {
        **settings,
        "epochs": round(passes, 2),
        "best_epoch": progress.best_epoch,
        "curve": progress.curve,
        "cpu_seconds": round(progress.cpu_seconds, 1),
        "cpu_seconds_per_100k_questions": round(seconds, 2),
    }
    return SystemRun(outcome.valid_scores, outcome.test_scores, about)


# The language model.


def _language(data: CbtData, seed: int, runs: Path, tell: Tell) -> SystemRun:
    config = LanguageConfig(seed=seed)
    model, reached = train_language_model(data.sentences, config, tell)
    return _scored(LanguageScorer(model), data, network=config.to_dict(), **reached)


# Several networks together.


def ensemble(scores: Sequence[Floats]) -> Floats:
    """Mean of the networks' probabilities, as scores."""
    p = [torch.from_numpy(np.array(one)).softmax(1).numpy() for one in scores]
    mean: Floats = np.log(np.mean(p, axis=0) + 1e-12)
    return mean


def _ensemble(data: CbtData, seed: int, runs: Path, tell: Tell) -> SystemRun:
    """The simple networks of all seeds, trained before."""
    members = [train_simple(data, one, runs, tell)[1] for one in SIMPLE_SEEDS]
    return SystemRun(
        ensemble([member.valid_scores for member in members]),
        ensemble([member.test_scores for member in members]),
        {"members": list(SIMPLE_SEEDS)},
    )


SIMPLE_SEEDS = (1, 2, 3)

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System("corpus-frequency", "most frequent in the training books", True, _corpus),
        System("context-frequency", "most frequent in the 20 sentences", True, _context),
        System("word-distance", "frequency and the query's neighbours", False, _distance),
        System("kneser-ney", "Kneser-Ney, 5-grams", True, _ngrams),
        System("kneser-ney-cache", "Kneser-Ney and cache", True, _ngrams_with_cache),
        System("lstm", "LSTM, context and query", True, _language),
        System("window-lstm", "LSTM and windows", True, _memory("window-lstm", 3, query="lstm")),
        System("entnet-general", "EntNet, general", True, _general),
        System("entnet-simple", "EntNet, simple", True, _simple, SIMPLE_SEEDS),
        System("entnet-simple-ensemble", "EntNet, simple, 3 together", True, _ensemble),
        System("memnn", "MemNN, windows", False, _memory("memnn", 8)),
        System(
            "memnn-self",
            "MemNN, windows, self-supervised",
            False,
            _memory("memnn-self", 12, self_supervised=True),
        ),
    )
}


def run_system(system: System, data: CbtData, seed: int, runs: Path, tell: Tell) -> Options:
    """Run a system and return its line of results, without what tells which run it is."""
    began, cpu = time.monotonic(), time.process_time()
    done = system.run(data, seed, runs, tell)
    valid, test = answers_of(data.valid), answers_of(data.test)
    return {
        "valid": round(accuracy(done.valid_scores, valid), 4),
        "test": round(accuracy(done.test_scores, test), 4),
        "valid_questions": len(valid),
        "test_questions": len(test),
        "questions": "rebuilt" if data.is_rebuilt else "official",
        "seconds": round(time.monotonic() - began, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "peak_memory_mb": peak_memory_mb(),
        **done.about,
    }


def peak_memory_mb() -> int | None:
    """The most memory that this process has held so far; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(held / (1e6 if sys.platform == "darwin" else 1e3))
