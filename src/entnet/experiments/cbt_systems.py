"""Every system of Table 4: how it is made from the training questions, and what it scores.

A system is run for a kind of question and a seed, and gives scores of the ten candidates for validation and
test questions. Settings that the paper leaves out were chosen on validation; docs/cbt.md says how.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from entnet.config import Config, EntNetConfig
from entnet.data.cbt import CbtQuestion, Kind, cbt_file_name, read_cbt
from entnet.data.cbt_windows import (
    WINDOW,
    WindowedQuestions,
    encode_with,
    load_training,
    with_fresh,
)
from entnet.experiments.cbt_language import LanguageRun
from entnet.experiments.cbt_training import (
    NativeTrainee,
    Outcome,
    Tell,
    TorchTrainee,
    Trainee,
    WindowTraining,
    train_windows,
)
from entnet.experiments.spec import changed_name
from entnet.models.base import StoryModel
from entnet.models.cbt.frequency import ContextFrequency, CorpusFrequency, WordDistance
from entnet.models.cbt.kneser_ney import KneserNey
from entnet.models.cbt.language import NGramScorer
from entnet.models.cbt.lstm_language import LanguageConfig, LanguageScorer
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
class Job:
    """A system to be run: on which questions, from which seed, where, with which settings changed."""

    data: CbtData
    seed: int
    runs: Path
    tell: Tell
    changes: Options = field(default_factory=dict)


@dataclass(frozen=True)
class System:
    """A row of the table."""

    name: str
    title: str
    single_pass: bool
    """Whether it reads the story once, before it knows the question."""
    run: Callable[[Job], SystemRun]
    seeds: tuple[int, ...] = (1,)
    """More than one where chance plays a part that the table should show."""
    settings: tuple[type[Config], ...] = ()
    """What can be set: the configurations of its network and of its training."""


# Systems that count.


def _scored(scorer: Scorer, data: CbtData, **about: Any) -> SystemRun:
    return SystemRun(scorer.scores(data.valid), scorer.scores(data.test), about)


def _corpus(job: Job) -> SystemRun:
    return _scored(CorpusFrequency(job.data.sentences), job.data)


def _context(job: Job) -> SystemRun:
    return _scored(ContextFrequency(), job.data)


def _distance(job: Job) -> SystemRun:
    made = [
        WordDistance(reach=reach, frequency_weight=w) for reach in (2, 5) for w in (0.5, 1.0, 2.0)
    ]
    best = _choose(made, job.data)
    return _scored(best, job.data, reach=best.reach, frequency_weight=best.frequency_weight)


def _ngrams(job: Job) -> SystemRun:
    model = job.data.kneser_ney
    return _scored(NGramScorer(model), job.data, order=model.order)


def _ngrams_with_cache(job: Job) -> SystemRun:
    model = job.data.kneser_ney
    made = [NGramScorer(model, weight) for weight in (0.02, 0.05, 0.1, 0.2, 0.3)]
    best = _choose(made, job.data)
    return _scored(best, job.data, order=model.order, cache_weight=best.cache_weight)


def _choose(made: Sequence[Chosen], data: CbtData) -> Chosen:
    """The one that is best on validation."""
    answers = answers_of(data.valid)
    return max(made, key=lambda scorer: accuracy(scorer.scores(data.valid), answers))


# Networks on windows.

ADAM: Options = {"optimiser": "adam", "rate": 0.002, "decay": 0.75, "epochs": 8}
MEMORY: Options = {**ADAM, "dropout": 0.5, "batch": 64}
SETTINGS: dict[str, Options] = {
    "entnet-simple": {"rate": 0.02},
    "entnet-general": {
        **ADAM,
        "U": "trained",
        "V": "trained",
        "W": "trained",
        "activation": "prelu",
        "normalise": True,
        "embedding_scale": 0.1,
    },
    "memnn": MEMORY,
    "memnn-self": {**MEMORY, "self_supervised": True},
    "window-lstm": {**MEMORY, "query": "lstm", "query_width": 11, "epochs": 4, "decay": 0.6},
}
"""What each system has different from the defaults of its network and training."""

NAMES: Options = {"disguise": 0.2}
NOUNS: Options = {"query_width": 9}
KIND_SETTINGS: dict[str, dict[Kind, Options]] = {
    "entnet-simple": {
        "NE": {**NAMES, "epochs": 20, "decay": 0.93},
        "CN": {**NOUNS, "epochs": 30, "decay": 0.95},
    },
    "entnet-general": {"NE": NAMES, "CN": NOUNS},
    "memnn": {"NE": NAMES, "CN": NOUNS},
    "memnn-self": {"NE": NAMES, "CN": NOUNS},
    "window-lstm": {"NE": NAMES, "CN": {}},
}
"""What depends on the kind of question; V and P take those of CN."""


def settings_of(name: str, job: Job) -> tuple[Options, WindowTraining]:
    """A network's options and its training: the system's, those of the kind, then what was changed."""
    by_kind = KIND_SETTINGS.get(name, {})
    values = {
        **SETTINGS[name],
        **by_kind.get(job.data.kind, by_kind.get("CN", {})),
        **job.changes,
        "seed": job.seed,
    }
    of_training = {field.name for field in dataclasses.fields(WindowTraining)}
    training = WindowTraining(**{k: v for k, v in values.items() if k in of_training})
    return {k: v for k, v in values.items() if k not in of_training}, training


def _prepared(name: str, job: Job) -> tuple[Options, WindowTraining, Vocab]:
    """A network's options, with its size, its training and its words; torch's seed is the run's."""
    network, training = settings_of(name, job)
    torch.manual_seed(job.seed)
    vocab = with_fresh(job.data.vocab, training.fresh)
    size = {"vocabulary": len(vocab), "sentence_length": max(WINDOW, training.query_width)}
    return {**size, **network}, training, vocab


def _entnet(name: str, job: Job) -> tuple[EntNet, WindowTraining]:
    network, training, vocab = _prepared(name, job)
    return EntNet(simple_config(**network), vocab), training


def train_simple(job: Job) -> tuple[Trainee, Outcome, Options]:
    """Train the simple network; in compiled code where that is built."""
    model, training = _entnet("entnet-simple", job)
    trainee: Trainee
    if is_built():
        net = NativeSimple(model, adaptive=training.optimiser == "adagrad")
        trainee = NativeTrainee(net, job.data.train, training)
    else:
        trainee = TorchTrainee(model, job.data.train, training)
    outcome = _train(trainee, training, job, "entnet-simple")
    return trainee, outcome, {"network": model.config.to_dict(), "training": training.to_dict()}


def network_directory(runs: Path, kind: Kind, name: str, seed: int) -> Path:
    """Where a run keeps the network that was best on validation."""
    return runs / f"{kind}-{name}-{seed}"


def _train(trainee: Trainee, training: WindowTraining, job: Job, name: str) -> Outcome:
    data = job.data
    variant = changed_name(name, job.changes)
    place = network_directory(job.runs, data.kind, variant, training.seed)
    file = place.with_name(f"{place.name}.npz")
    outcome = train_windows(
        trainee, training, data.valid_windows, data.test_windows, file, job.tell
    )
    trainee.network().save_pretrained(place)
    return outcome


def _simple(job: Job) -> SystemRun:
    _, outcome, settings = train_simple(job)
    return _finished(outcome, settings, job.data)


def _general(job: Job) -> SystemRun:
    model, training = _entnet("entnet-general", job)
    return _on_windows(model, training, job, "entnet-general")


def _memory(name: str) -> Callable[[Job], SystemRun]:
    def run(job: Job) -> SystemRun:
        network, training, vocab = _prepared(name, job)
        model = WindowMemory(WindowMemoryConfig(**network), vocab)
        return _on_windows(model, training, job, name)

    return run


def _on_windows(model: StoryModel, training: WindowTraining, job: Job, name: str) -> SystemRun:
    outcome = _train(TorchTrainee(model, job.data.train, training), training, job, name)
    settings = {"network": model.config.to_dict(), "training": training.to_dict()}
    return _finished(outcome, settings, job.data)


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


def _language(job: Job) -> SystemRun:
    """One model of the books' text serves all kinds of question."""
    config = LanguageConfig(**{**job.changes, "seed": job.seed})
    run = LanguageRun(job.data.running_text, config)
    reached = run.train(
        job.runs / f"{changed_name('lstm', job.changes)}-{job.seed}.safetensors", job.tell
    )
    return _scored(LanguageScorer(run.model), job.data, network=config.to_dict(), **reached)


# Several networks together.


def ensemble(scores: Sequence[Floats]) -> Floats:
    """Mean of the networks' probabilities, as scores."""
    p = [torch.from_numpy(np.array(one)).softmax(1).numpy() for one in scores]
    mean: Floats = np.log(np.mean(p, axis=0) + 1e-12)
    return mean


def _ensemble(job: Job) -> SystemRun:
    """The simple networks of all seeds, trained before."""
    members = [train_simple(replace(job, seed=seed))[1] for seed in SIMPLE_SEEDS]
    return SystemRun(
        ensemble([member.valid_scores for member in members]),
        ensemble([member.test_scores for member in members]),
        {"members": list(SIMPLE_SEEDS)},
    )


SIMPLE_SEEDS = (1, 2, 3)
ENTNET_CONFIGS: tuple[type[Config], ...] = (EntNetConfig, WindowTraining)
MEMORY_CONFIGS: tuple[type[Config], ...] = (WindowMemoryConfig, WindowTraining)

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System("corpus-frequency", "most frequent in the training books", True, _corpus),
        System("context-frequency", "most frequent in the 20 sentences", True, _context),
        System("word-distance", "frequency and the query's neighbours", False, _distance),
        System("kneser-ney", "Kneser-Ney, 5-grams", True, _ngrams),
        System("kneser-ney-cache", "Kneser-Ney and cache", True, _ngrams_with_cache),
        System("lstm", "LSTM, context and query", True, _language, settings=(LanguageConfig,)),
        System(
            "window-lstm",
            "LSTM and windows",
            True,
            _memory("window-lstm"),
            settings=MEMORY_CONFIGS,
        ),
        System("entnet-general", "EntNet, general", True, _general, settings=ENTNET_CONFIGS),
        System("entnet-simple", "EntNet, simple", True, _simple, SIMPLE_SEEDS, ENTNET_CONFIGS),
        System("entnet-simple-ensemble", "EntNet, simple, 3 together", True, _ensemble),
        System("memnn", "MemNN, windows", False, _memory("memnn"), settings=MEMORY_CONFIGS),
        System(
            "memnn-self",
            "MemNN, windows, self-supervised",
            False,
            _memory("memnn-self"),
            settings=MEMORY_CONFIGS,
        ),
    )
}


def run_system(system: System, job: Job) -> Options:
    """Run a system and return its line of results, without what tells which run it is."""
    began, cpu = time.monotonic(), time.process_time()
    done = system.run(job)
    data = job.data
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
