"""The shipped network that reads processes: the best on development of ours in ProPara's table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from entnet.data.propara.files import read_grids
from entnet.errors import EntNetError
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import load_preset
from entnet.experiments.results import read_results, results_path
from entnet.models.base import StoryModel
from entnet.models.processes.base import ProcessModel
from entnet.release.card import Card, put, require_network
from entnet.tasks.propara import grids_path, scores, shortfall

NAME = TABLE = "propara"
VARIANT = "ours"


def release_propara(
    results: Path, runs: Path, data: Path | None = None, root: Path | None = None
) -> Card | None:
    """Ship it; None if there is no finished run. It must give the scores that the results say."""
    lines = [
        line for line in read_results(results_path(results, TABLE)) if line["variant"] == VARIANT
    ]
    if not lines:
        return None
    line = min(
        lines, key=lambda line: shortfall(line["best"]["valid"], line["source"]["choose_by"])
    )
    (spec,) = specs_of(
        load_preset(TABLE), runs, seeds=[line["seed"]], variants=[VARIANT], data_root=data
    )
    source = Path(spec.directory) / "model"
    require_network(NAME, source, f"{TABLE} {VARIANT} seed {line['seed']}")
    network = StoryModel.from_pretrained(source)
    assert isinstance(network, ProcessModel)
    found = scores(network, read_grids(grids_path("dev", data)))
    if found != line["best"]["valid"]:
        raise EntNetError(f"{NAME}: {source} scores otherwise on development than the results say")
    return put(_card(line, network), source, root)


def _card(line: dict[str, Any], network: ProcessModel) -> Card:
    return Card(
        name=NAME,
        title="where things are in paragraphs on processes",
        task="ProPara",
        table=TABLE,
        variant=line["variant"],
        seed=line["seed"],
        data=line["data"],
        train_data=line.get("train_data", "official"),
        epoch=line["best_epoch"],
        validation_error=line["best"]["valid_error"],
        test_error=line["best"]["test_error"],
        test_questions=line["best"]["test_questions"],
        task_test_errors={},
        parameters=network.parameter_count(),
    )
