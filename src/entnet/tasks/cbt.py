"""The Children's Book Test (Table 4): systems that count, networks on windows, a language model, ensembles.

A run is for a kind of question. Settings that the paper leaves out were chosen on validation; docs/cbt.md
says how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray

from entnet.config import Config, TrainConfig
from entnet.data.cbt.format import Kind
from entnet.locks import sole_use
from entnet.models.base import StoryModel, model_class
from entnet.models.baselines.frequency import ContextFrequency, CorpusFrequency, WordDistance
from entnet.models.baselines.language import NGramScorer
from entnet.models.baselines.lstm_language import LanguageConfig, LanguageModel, LanguageScorer
from entnet.models.readers.passage import PassageReader
from entnet.models.readers.reader import NetworkScorer
from entnet.models.readers.scorer import Floats, Scorer, accuracy, answers_of
from entnet.tasks.cbt_data import CbtData
from entnet.tasks.language import LanguageOptions, language_trainer
from entnet.tasks.passages import PassageOptions, passage_trainer
from entnet.tasks.questions import QuestionData
from entnet.tasks.spec import Result, RunSpec
from entnet.tasks.windows import WindowOptions, window_trainer
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
        line = _RUNS.get(spec.kind, _network)(spec, data, callback)
    return {**line, "questions": data.origin, "train_data": data.train_origin}


def require_data(spec: RunSpec) -> None:
    CbtData.find(cast("Kind", spec.task), spec.data_root)


def settings(kind: str) -> list[type[Config]]:
    if kind in COUNTING or kind in ("ensemble", "mixture"):
        return []
    if kind == LanguageConfig.kind:
        return [LanguageConfig, TrainConfig, LanguageOptions]
    return [model_class(kind).config_class, TrainConfig, options_class(kind)]


def _about(spec: RunSpec) -> Result:
    return {**spec.about(), "seed": spec.seed, "kind": spec.kind}


def _scored(scorer: Scorer, data: CbtData) -> Result:
    """Errors of a system, in percent, in the places of a trained network's."""
    errors: Result = {}
    for name, asked in {"valid": data.valid, "test": data.test, **data.beside}.items():
        right = accuracy(scorer.scores(asked), answers_of(asked))
        errors |= _errors(name, right, len(asked))
    return {"best": errors, "last": errors}


def _errors(part: str, right: float, count: int) -> Result:
    return {f"{part}_error": round(100 * (1 - right), 4), f"{part}_questions": count}


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


def _network(spec: RunSpec, data: CbtData, callback: Callback | None) -> Result:
    """A network on windows or on whole passages."""
    config = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
    options = options_class(spec.kind).from_dict(spec.source)
    about = {**spec.about(), "source": options.to_dict()}
    given = (spec.directory, spec.kind, spec.model)
    asked: QuestionData[Any]
    if isinstance(options, PassageOptions):
        asked = data.passages
        begin = _begun(spec, options.begin) if options.begin else None
        trainer = passage_trainer(*given, options, config, asked, about, begin)
    else:
        asked = data.windows
        trainer = window_trainer(*given, options, config, asked, about, spec.checkpoint_seconds)
    line = trainer.train(callback)
    return {**line, "passes": round(options.passes(len(asked.train), line["epochs"]), 2)}


def _begun(spec: RunSpec, variant: str) -> StoryModel:
    """The network of another variant's run of the same seed, which lies beside this one."""
    beside = Path(spec.directory).parents[1] / variant / f"seed{spec.seed}"
    return StoryModel.from_pretrained(beside / "model")


def options_class(kind: str) -> type[PassageOptions] | type[WindowOptions]:
    """What can be set of the questions that a kind of network reads."""
    return PassageOptions if issubclass(model_class(kind), PassageReader) else WindowOptions


def _language(spec: RunSpec, data: CbtData, callback: Callback | None) -> Result:
    """One model of the books' text serves all kinds of question, so it has a directory of its own."""
    config = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
    options = LanguageOptions.from_dict(spec.source)
    directory = _text_run(spec, spec.variant, spec.seed)
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


def _text_run(spec: RunSpec, variant: str, seed: int = 1) -> Path:
    """Where a language model is trained: beside the kinds of question, as it serves them all."""
    return Path(spec.directory).parents[2] / "text" / variant / f"seed{seed}"


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
    return {**_about(spec), "members": list(spec.source["seeds"]), **_scored(_members(spec), data)}


def _members(spec: RunSpec) -> Scorer:
    """The networks of several seeds of a variant, which lie beside this run."""
    beside = Path(spec.directory).parents[1] / spec.source["of"]
    places = [beside / f"seed{seed}" / "model" for seed in spec.source["seeds"]]
    return _Ensemble([NetworkScorer(StoryModel.from_pretrained(place)) for place in places])


WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
"""What a language model's log-probabilities may count beside a network's."""


def mixed(parts: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """The first as it is, the others weighted; a candidate that a question lacks stays out."""
    total = parts[0].astype(np.float64)
    for part, weight in zip(parts[1:], weights, strict=True):
        total += weight * np.where(np.isfinite(part), part, 0.0)
    return total.astype(np.float32)


def best_weights(parts: Sequence[Floats], answers: NDArray[np.integer]) -> tuple[float, ...]:
    """Of all weights in ``WEIGHTS``, those that are best on these questions."""
    tried = product(WEIGHTS, repeat=len(parts) - 1)
    return max(tried, key=lambda weights: accuracy(mixed(parts, weights), answers))


def _mixture(spec: RunSpec, data: CbtData, callback: Callback | None) -> Result:
    """A variant's networks and language models, log-linearly; weights are chosen on validation."""
    scorers = [_members(spec)]
    about: Result = {"members": list(spec.source["seeds"])}
    for name in spec.source["language"]:
        if name == "lstm":
            scorers.append(
                LanguageScorer(LanguageModel.from_pretrained(_text_run(spec, name) / "model"))
            )
        else:
            scorers.append(COUNTING[name](data)[0])
    asked = {"valid": data.valid, "test": data.test, **data.beside}
    parts = {name: [one.scores(questions) for one in scorers] for name, questions in asked.items()}
    weights = best_weights(parts["valid"], answers_of(data.valid))
    errors: Result = {}
    for name, questions in asked.items():
        right = accuracy(mixed(parts[name], weights), answers_of(questions))
        errors |= _errors(name, right, len(questions))
    about["weights"] = dict(zip(spec.source["language"], weights, strict=True))
    return {**_about(spec), **about, "best": errors, "last": errors}


_RUNS = {LanguageConfig.kind: _language, "ensemble": _ensemble, "mixture": _mixture}
