"""The shipped network that reads running text: the best on validation of the joint BABILong runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from entnet.data.splits import task_stories
from entnet.errors import EntNetError
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import load_preset
from entnet.experiments.results import read_results, results_path
from entnet.models.base import StoryModel
from entnet.models.entnet import EntNet
from entnet.release.card import Card, put, require_network
from entnet.tasks.babilong import LongOptions, long_scores, validation

NAME, TABLE = "long", "babilong-joint"
WORDS = 1_000_000
"""The card's errors are those of documents of this length."""


def release_long(
    results: Path, runs: Path, data: Path | None = None, root: Path | None = None
) -> Card | None:
    """Ship it; None if there is no finished run. It must give the errors that the results say."""
    lines = [
        line for line in read_results(results_path(results, TABLE)) if "+" not in line["variant"]
    ]
    if not lines:
        return None
    line = min(lines, key=validation)
    (spec,) = specs_of(
        load_preset(TABLE), runs, seeds=[line["seed"]], variants=[line["variant"]], data_root=data
    )
    source = Path(spec.directory) / "model"
    require_network(NAME, source, f"{TABLE} {line['variant']} seed {line['seed']}")
    network = StoryModel.from_pretrained(source)
    assert isinstance(network, EntNet)
    options = LongOptions.from_dict({**spec.source, "test_words": [0], "test_samples": [200]})
    parts = {int(task): task_stories(spec.data, int(task), 0.1, data) for task in spec.tasks}
    _check(line, long_scores(network, parts, options, spec))
    return put(_card(line, network), source, root)


def _check(line: dict[str, Any], got: dict[str, dict[str, Any]]) -> None:
    """On some of the questions, the network must be about as good as the results say on all of them."""
    for task, cells in got.items():
        recorded, found = line["tasks"][task]["0"]["test_error"], cells["0"]["test_error"]
        if abs(recorded - found) > 5:
            raise EntNetError(
                f"{NAME}: the run's network has {found}% error on task {task}, the results say {recorded}%"
            )


def _card(line: dict[str, Any], network: EntNet) -> Card:
    cells = {task: lengths[str(WORDS)] for task, lengths in line["tasks"].items()}
    errors = {task: cell["test_error"] for task, cell in cells.items()}
    return Card(
        name=NAME,
        title="tasks 1 to 10 among 1,000,000 words of books",
        task=0,
        table=TABLE,
        variant=line["variant"],
        seed=line["seed"],
        data=line["data"],
        train_data=line["train_data"],
        epoch=line["best_epoch"],
        validation_error=line["best"]["valid_error"],
        test_error=round(sum(errors.values()) / len(errors), 4),
        test_questions=sum(cell["test_questions"] for cell in cells.values()),
        task_test_errors=errors,
        parameters=network.parameter_count(),
    )
