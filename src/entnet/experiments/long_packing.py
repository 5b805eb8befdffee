"""The shipped network that reads running text: the best on validation of the joint BABILong runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from entnet.errors import EntNetError
from entnet.experiments.packing import FILES, Card
from entnet.experiments.preset import load_preset
from entnet.experiments.results import read_results, results_path
from entnet.experiments.spec import specs_of
from entnet.experiments.task_data import task_stories
from entnet.files import write_atomically
from entnet.models.base import StoryModel, pretrained_root
from entnet.models.card import CARD
from entnet.models.entnet import EntNet
from entnet.tasks.babilong import LongOptions, long_scores

NAME, TABLE = "long", "babilong-joint"
WORDS = 1_000_000
"""The card's errors are those of documents of this length."""


def pack_long(
    results: Path, runs: Path, data: Path | None = None, root: Path | None = None
) -> Card | None:
    """Ship it; None if there is no finished run. It must give the errors that the results say."""
    lines = [
        line for line in read_results(results_path(results, TABLE)) if "+" not in line["variant"]
    ]
    if not lines:
        return None
    line = min(lines, key=lambda line: (line["best"]["valid_error"], line["best"]["valid_loss"]))
    (spec,) = specs_of(
        load_preset(TABLE), runs, seeds=[line["seed"]], variants=[line["variant"]], data_root=data
    )
    source = Path(spec.directory) / "model"
    if not (source / "config.json").is_file():
        raise EntNetError(f"{NAME}: {source} holds no network; run seed {line['seed']} again")
    network = StoryModel.from_pretrained(source)
    assert isinstance(network, EntNet)
    options = LongOptions.from_dict({**spec.source, "test_words": [0], "test_samples": [200]})
    parts = {int(task): task_stories(spec.data, int(task), 0.1, data) for task in spec.tasks}
    _check(line, long_scores(network, parts, options, spec))
    target = (root or pretrained_root()) / NAME
    target.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(source / name, target / name)
    card = _card(line, network)
    write_atomically(target / CARD, json.dumps(card.to_dict(), indent=1).encode())
    return card


def _check(line: dict[str, Any], got: dict[str, dict[str, Any]]) -> None:
    """On some of the questions, the network must be about as good as the results say on all of them."""
    for task, cells in got.items():
        told, found = line["tasks"][task]["0"]["test_error"], cells["0"]["test_error"]
        if abs(told - found) > 5:
            raise EntNetError(
                f"{NAME}: the run's network has {found}% error on task {task}, the results say {told}%"
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
