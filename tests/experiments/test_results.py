"""The file of finished runs: a line each, never two, and choosing among them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import pytest

from entnet.errors import DataError
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import Preset
from entnet.experiments.results import add_result, drop_results, read_results, results_path
from entnet.experiments.selection import choose, solved


class MakeLine(Protocol):
    def __call__(self, task: int, seed: int = 1, **values: Any) -> dict[str, Any]: ...


def test_a_run_is_written_down_once(tmp_path: Path, make_line: MakeLine) -> None:
    path = results_path(tmp_path / "results", "table2")
    assert read_results(path) == []
    assert add_result(path, make_line(1, 1, test=2.5))
    assert not add_result(path, make_line(1, 1, test=9.9))
    assert add_result(path, make_line(1, 2))
    assert [(line["seed"], line["best"]["test_error"]) for line in read_results(path)] == [
        (1, 2.5),
        (2, 0.0),
    ]
    assert path.read_text().count("\n") == 2


def test_several_writers_lose_nothing(tmp_path: Path, make_line: MakeLine) -> None:
    path = tmp_path / "table2.jsonl"
    # Each line comes twice, from eight writers at once.
    lines = [make_line(1, seed) for seed in range(20)] * 2
    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(lambda line: add_result(path, line), lines))
    assert sum(added) == 20
    assert sorted(line["seed"] for line in read_results(path)) == list(range(20))


def test_dropping_runs(tmp_path: Path, make_line: MakeLine, small: Preset) -> None:
    path = tmp_path / "small.jsonl"
    for task in (1, 2):
        add_result(path, make_line(task, 1, table="small"))
    (spec,) = specs_of(small, tmp_path, tasks=[1], seeds=[1])
    assert drop_results(path, [spec]) == 1
    assert [line["task"] for line in read_results(path)] == [2]
    assert drop_results(path, [spec]) == 0


def test_a_broken_line_is_named(tmp_path: Path, make_line: MakeLine) -> None:
    path = tmp_path / "table2.jsonl"
    add_result(path, make_line(1))
    path.write_text(path.read_text() + '{"table": "table2"}\n')
    with pytest.raises(DataError, match="line 2: not a line of results"):
        read_results(path)


def test_the_choice_is_by_validation_and_blind_to_the_test(make_line: MakeLine) -> None:
    lucky = make_line(1, 1, valid=3.0, test=0.0)
    careful = make_line(1, 2, valid=1.0, test=5.0)
    late = make_line(1, 3, valid=2.0, test=4.0, last=(0.5, 6.0))
    assert choose([lucky, careful, late]) is careful
    assert choose([lucky, careful, late], "last") is late


def test_loss_decides_between_equal_errors(make_line: MakeLine) -> None:
    first, second = make_line(1, 1), make_line(1, 2)
    first["best"]["valid_loss"], second["best"]["valid_loss"] = 0.2, 0.1
    assert choose([first, second]) is second
    second["best"]["valid_loss"] = 0.2
    assert choose([second, first]) is first


def test_a_task_is_solved_when_the_kept_network_makes_no_error(make_line: MakeLine) -> None:
    line = make_line(1, 1, valid=0.0, last=(2.0, 2.0))
    assert solved(line)
    line["train"]["select"] = "last"
    assert not solved(line)


def test_the_papers_mean_over_some_tasks_counts_those_alone() -> None:
    from entnet.report.published import paper_column

    whole = paper_column("table2", "EntNet")
    some = whole.of((3, 19))
    assert some.mean == pytest.approx((4.1 + 2.3) / 2)
    assert some.failed == 0
    assert whole.of(range(1, 21)) is whole
