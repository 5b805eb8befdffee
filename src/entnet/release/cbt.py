"""The simple networks for the Children's Book Test that come with the package, in half precision."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entnet.data.cbt.format import KIND_NAMES, CbtQuestion, Kind
from entnet.errors import EntNetError
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import load_preset
from entnet.experiments.results import read_results, results_path
from entnet.models.base import StoryModel
from entnet.models.readers.reader import NetworkScorer, save_half
from entnet.models.readers.scorer import accuracy, answers_of
from entnet.release.card import Card, put, require_network
from entnet.tasks.cbt import TABLE, TABLE_KINDS, accuracy_of
from entnet.tasks.cbt_data import CbtData

SHIPPED: dict[str, Kind] = {f"cbt-{kind.lower()}": kind for kind in TABLE_KINDS}
"""Names of the shipped networks, and the questions that they are for."""
SYSTEM = "entnet-simple"


def release_cbt(
    name: str, results: Path, runs: Path, data: Path | None = None, root: Path | None = None
) -> Card | None:
    """Ship the run that is best on validation; None if there is no finished run.

    The run's own network must give the accuracy that the results say. The card has the errors of what is
    shipped, which are measured anew after its weights were halved.
    """
    kind = SHIPPED[name]
    lines = [
        line
        for line in read_results(results_path(results, TABLE))
        if (line["task"], line["variant"]) == (kind, SYSTEM)
    ]
    if not lines:
        return None
    line = max(lines, key=lambda line: accuracy_of(line, "valid"))
    (spec,) = specs_of(load_preset(TABLE), runs, [kind], [line["seed"]], [SYSTEM])
    source = Path(spec.directory) / "model"
    require_network(name, source, f"{TABLE} {SYSTEM} seed {line['seed']}")
    network = StoryModel.from_pretrained(source)
    questions = CbtData.find(kind, data)
    _check(name, network, line, questions)
    with tempfile.TemporaryDirectory() as scratch:
        save_half(network, Path(scratch))
        halved = StoryModel.from_pretrained(scratch)
        card = _card(name, kind, line, halved, questions)
        return put(card, Path(scratch), root)


def error_of(network: StoryModel, questions: Sequence[CbtQuestion]) -> float:
    """Percentage of questions answered wrongly."""
    reached = accuracy(NetworkScorer(network).scores(questions), answers_of(questions))
    return round(100 * (1 - reached), 4)


def _check(name: str, network: StoryModel, line: dict[str, Any], data: CbtData) -> None:
    got = error_of(network, data.test)
    recorded = line["best"]["test_error"]
    # The compiled code and PyTorch add in another order, which may turn a question that is a tie.
    if abs(got - recorded) > 100 / len(data.test) + 0.005:
        raise EntNetError(
            f"{name}: the run's network has {got:.2f}% error on the test questions, the results "
            f"say {recorded:.2f}%"
        )


def _card(name: str, kind: Kind, line: dict[str, Any], network: StoryModel, data: CbtData) -> Card:
    return Card(
        name=name,
        title=f"Children's Book Test, {KIND_NAMES[kind]}, {line['questions']} questions",
        task=kind,
        table=TABLE,
        variant=SYSTEM,
        seed=line["seed"],
        data=f"cbt, {line['questions']}",
        train_data=f"cbt, {data.train_origin}",
        epoch=line["best_epoch"],
        validation_error=error_of(network, data.valid),
        test_error=error_of(network, data.test),
        test_questions=len(data.test),
        task_test_errors={},
        parameters=network.parameter_count(),
    )
