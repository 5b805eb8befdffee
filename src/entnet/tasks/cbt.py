"""The Children's Book Test (Table 4): systems that count, networks on windows, a language model, ensembles.

A run is for a kind of question. Settings that the paper leaves out were chosen on validation; docs/cbt.md
says how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np
import torch

from entnet.config import Config, TrainConfig
from entnet.data.cbt.format import Kind
from entnet.locks import sole_use
from entnet.models.base import StoryModel, model_class
from entnet.models.baselines.frequency import ContextFrequency, CorpusFrequency, WordDistance
from entnet.models.baselines.language import NGramScorer
from entnet.models.baselines.lstm_language import LanguageConfig, LanguageModel, LanguageScorer
from entnet.models.readers.reader import WindowScorer
from entnet.models.readers.scorer import Floats, Scorer, accuracy, answers_of
from entnet.tasks.cbt_data import CbtData
from entnet.tasks.language import LanguageOptions, language_trainer
from entnet.tasks.spec import Result, RunSpec
from entnet.tasks.windows import WindowData, WindowOptions, window_trainer
from entnet.training.trainer import Callback

TABLE = "table4"
TABLE_KINDS: tuple[Kind, ...] = ("NE", "CN")


Part = Literal["valid", "test", "rebuilt_valid", "rebuilt_test"]


def accuracy_of(line: Result, part: Part = "test") -> float:
    """The share of questions that a run's network got right."""
    return round(1 - float(line["best"][f"{part}_error"]) / 100, 8)


def run(spec: RunSpec, callback: Callback | None) -> Result:
    data = CbtData.find(cast("Kind", spec.task), spec.data_root)
    if spec.kind in COUNTING:
        scorer, about = COUNTING[spec.kind](data)
        line = {**_about(spec), **about, **_scored(scorer, data)}
    else:
        line = _RUNS.get(spec.kind, _windows)(spec, data, callback)
    return {**line, "questions": data.origin, "train_data": data.train_origin}


def settings(kind: str) -> list[type[Config]]:
    if kind in COUNTING or kind == "ensemble":
        return []
    if kind == LanguageConfig.kind:
        return [LanguageConfig, TrainConfig, LanguageOptions]
    return [model_class(kind).config_class, TrainConfig, WindowOptions]


def _about(spec: RunSpec) -> Result:
    return {**spec.about(), "seed": spec.seed, "kind": spec.kind}


def _scored(scorer: Scorer, data: CbtData) -> Result:
    """Errors of a system, in percent, in the places of a trained network's."""
    errors: Result = {}
    for name, asked in {"valid": data.valid, "test": data.test, **data.beside}.items():
        right = accuracy(scorer.scores(asked), answers_of(asked))
        errors |= {f"{name}_error": round(100 * (1 - right), 4), f"{name}_questions": len(asked)}
    return {"best": errors, "last": errors}


# Systems that count.


def _corpus(data: CbtData) -> tuple[Scorer, Result]:
    return CorpusFrequency(data.sentences), {}


def _context(data: CbtData) -> tuple[Scorer, Result]:
    return ContextFrequency(), {}


def _distance(data: CbtData) -> tuple[Scorer, Result]:
    made = [
        WordDistance(reach=reach, frequency_weight=w) for reach in (2, 5) for w in (0.5, 1.0, 2.0)
    ]
    best = _choose(made, data)
    return best, {"reach": best.reach, "frequency_weight": best.frequency_weight}


def _ngrams(data: CbtData) -> tuple[Scorer, Result]:
    return NGramScorer(data.kneser_ney), {"order": data.kneser_ney.order}


def _ngrams_with_cache(data: CbtData) -> tuple[Scorer, Result]:
    model = data.kneser_ney
    best = _choose([NGramScorer(model, weight) for weight in (0.02, 0.05, 0.1, 0.2, 0.3)], data)
    return best, {"order": model.order, "cache_weight": best.cache_weight}


Chosen = TypeVar("Chosen", bound=Scorer)


def _choose(made: Sequence[Chosen], data: CbtData) -> Chosen:
    """The one that is best on validation."""
    answers = answers_of(data.valid)
    return max(made, key=lambda scorer: accuracy(scorer.scores(data.valid), answers))


COUNTING: dict[str, Callable[[CbtData], tuple[Scorer, Result]]] = {
    "corpus-frequency": _corpus,
    "context-frequency": _context,
    "word-distance": _distance,
    "kneser-ney": _ngrams,
    "kneser-ney-cache": _ngrams_with_cache,
}


# Networks.


def _windows(spec: RunSpec, data: CbtData, callback: Callback | None) -> Result:
    config = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
    options = WindowOptions.from_dict(spec.source)
    trainer = window_trainer(
        spec.directory,
        spec.kind,
        spec.model,
        options,
        config,
        WindowData(
            data.train, data.valid_windows, data.test_windows, data.vocab, data.windows_beside
        ),
        {**spec.about(), "source": options.to_dict()},
        spec.checkpoint_seconds,
    )
    line = trainer.train(callback)
    return {**line, "passes": round(options.passes(len(data.train), line["epochs"]), 2)}


def _language(spec: RunSpec, data: CbtData, callback: Callback | None) -> Result:
    """One model of the books' text serves all kinds of question, so it has a directory of its own."""
    config = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
    options = LanguageOptions.from_dict(spec.source)
    run = Path(spec.directory)
    directory = run.parents[2] / "text" / run.parent.name / run.name
    about = {**spec.about(), "source": options.to_dict()}
    with sole_use(directory):
        line = language_trainer(
            directory,
            data.running_text,
            LanguageConfig.from_dict(spec.model),
            options,
            config,
            about,
        ).train(callback)
    model = LanguageModel.from_pretrained(directory / "model")
    passes = round(line["epochs"] / options.parts, 2)
    return {**line, **about, "passes": passes, **_scored(LanguageScorer(model), data)}


def ensemble(scores: Sequence[Floats]) -> Floats:
    """Mean of the networks' probabilities, as scores."""
    p = [torch.from_numpy(np.array(one)).softmax(1).numpy() for one in scores]
    mean: Floats = np.log(np.mean(p, axis=0) + 1e-12)
    return mean


@dataclass(frozen=True)
class _Ensemble:
    """Networks that answer together."""

    members: Sequence[Scorer]

    def scores(self, questions: Any) -> Floats:
        return ensemble([member.scores(questions) for member in self.members])


def _ensemble(spec: RunSpec, data: CbtData, callback: Callback | None) -> Result:
    """The networks of several seeds of a variant, which lie beside this run."""
    variant, seeds = spec.source["of"], list(spec.source["seeds"])
    beside = Path(spec.directory).parents[1] / variant
    networks = [
        WindowScorer(StoryModel.from_pretrained(beside / f"seed{seed}" / "model")) for seed in seeds
    ]
    return {**_about(spec), "members": seeds, **_scored(_Ensemble(networks), data)}


_RUNS = {LanguageConfig.kind: _language, "ensemble": _ensemble}
