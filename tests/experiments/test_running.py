"""One run: its stories, its line of results, and starting it twice."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from entnet.data.splits import GENERATED_QUESTIONS, task_stories
from entnet.errors import EntNetError
from entnet.experiments.plan import parse_numbers, specs_of
from entnet.experiments.preset import Preset, parse_preset
from entnet.experiments.running import is_busy, is_outdated, learning_curve, run_one
from entnet.models import EntNet
from entnet.tasks.spec import RunSpec


def test_a_specification_survives_json(small: Preset, tmp_path: Path) -> None:
    for spec in specs_of(small, tmp_path):
        assert RunSpec.from_json(spec.to_json()) == spec


def test_runs_of_a_preset_are_tasks_times_seeds(small: Preset, tmp_path: Path) -> None:
    specs = specs_of(small, tmp_path)
    assert {(spec.task, spec.seed) for spec in specs} == {(t, s) for t in (1, 2, 4) for s in (1, 2)}
    assert len({spec.directory for spec in specs}) == len(specs)
    assert {spec.task: spec.epochs for spec in specs} == {1: 3, 2: 4, 4: 3}


def test_changed_options_make_another_variant_and_recipe(small: Preset, tmp_path: Path) -> None:
    (plain,) = specs_of(small, tmp_path, tasks=[1], seeds=[1])
    (other,) = specs_of(small, tmp_path, tasks=[1], seeds=[1], train={"learning_rate": 0.5})
    (second,) = specs_of(small, tmp_path, tasks=[1], seeds=[2])
    assert other.variant == "paper+learning_rate=0.5"
    assert other.recipe != plain.recipe
    assert second.recipe == plain.recipe


def test_numbers() -> None:
    assert parse_numbers("1,4-6,5", "--tasks") == [1, 4, 5, 6]
    with pytest.raises(ValueError, match="--tasks"):
        parse_numbers("1-x", "--tasks")


BEGINS = """
seeds = 1
tasks = [1]
[train]
epochs = 1
learning_rate = 1e-9
engine = "reference"
[task.1.source]
network = "small/qa1/paper/seed1"
"""


def test_a_run_may_begin_with_the_network_of_another(
    small: Preset, tmp_path: Path, data_root: Path
) -> None:
    preset = parse_preset("further", BEGINS)
    (further,) = specs_of(preset, tmp_path, data_root=data_root)
    with pytest.raises(EntNetError, match="entnet reproduce small --tasks 1 trains it"):
        run_one(further)
    (first,) = specs_of(small, tmp_path, tasks=[1], seeds=[1], data_root=data_root)
    before = run_one(first)
    line = run_one(further)
    assert line["best"]["test_error"] == before["best"]["test_error"]
    weights, begun = (
        EntNet.from_pretrained(Path(spec.directory) / "model").state_dict()
        for spec in (further, first)
    )
    for name, values in weights.items():
        torch.testing.assert_close(values, begun[name], atol=1e-6, rtol=0)
    assert further.recipe != replace(further, source={}).recipe


def test_a_run_gives_a_line_and_gives_it_again(
    small: Preset, tmp_path: Path, data_root: Path
) -> None:
    (spec,) = specs_of(small, tmp_path, tasks=[2], seeds=[2], data_root=data_root)
    line = run_one(spec)
    assert (line["table"], line["task"], line["variant"], line["seed"]) == spec.key
    assert line["epochs"] == 4
    assert line["train_data"] == "official"
    assert line["best"]["valid_questions"] == 6
    assert line["curve"]["epoch"] == [1, 2, 3, 4]
    before = (tmp_path / "small/qa2/paper/seed2/model/model.safetensors").stat().st_mtime_ns
    assert run_one(spec) == line
    after = (tmp_path / "small/qa2/paper/seed2/model/model.safetensors").stat().st_mtime_ns
    assert after == before


def test_a_joint_run_is_scored_on_each_task(small: Preset, tmp_path: Path, data_root: Path) -> None:
    (spec,) = specs_of(replace(small, joint=True), tmp_path, seeds=[1], data_root=data_root)
    line = run_one(spec)
    errors = [line["tasks"][str(task)]["best"]["test_error"] for task in (1, 2, 4)]
    # The tasks' test files are of equal size, so the error on all questions is the mean.
    assert sum(errors) / 3 == pytest.approx(line["best"]["test_error"], abs=1e-3)
    assert line["best"]["test_questions"] == 30


def test_tied_keys_stand_for_the_entities(small: Preset, tmp_path: Path, data_root: Path) -> None:
    (spec,) = specs_of(replace(small, tied=True), tmp_path, [1], [1], data_root=data_root)
    run_one(spec)
    network = EntNet.from_pretrained(Path(spec.directory) / "model")
    assert network.config.key_words == ("daniel", "john", "mary", "garden", "kitchen")
    assert network.config.slots == 5
    (spec,) = specs_of(
        replace(small, tied="authors"), tmp_path / "2", [1], [1], data_root=data_root
    )
    run_one(spec)
    network = EntNet.from_pretrained(Path(spec.directory) / "model")
    assert network.config.key_words == ("kitchen", "garden", "john", "mary", "daniel")


def test_a_directory_of_other_settings_is_outdated(
    small: Preset, tmp_path: Path, data_root: Path
) -> None:
    (spec,) = specs_of(small, tmp_path, [1], [1], data_root=data_root)
    assert not is_outdated(spec)
    run_one(spec)
    assert not is_outdated(spec)
    changed = replace(spec, train={**spec.train, "learning_rate": 0.5})
    assert is_outdated(changed)
    with pytest.raises(EntNetError, match=r"train\.learning_rate"):
        run_one(changed)


def test_only_one_process_is_at_a_run(small: Preset, tmp_path: Path, data_root: Path) -> None:
    (spec,) = specs_of(small, tmp_path, [1], [1], data_root=data_root)
    lock = Path(spec.directory) / ".lock"
    lock.parent.mkdir(parents=True)
    hold = (
        "import fcntl,sys; f=open(sys.argv[1],'w'); fcntl.flock(f,fcntl.LOCK_EX); "
        "f.write('77'); f.flush(); print('held',flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_busy(spec)
        with pytest.raises(EntNetError, match="process 77 is at this run"):
            run_one(spec)
    assert not is_busy(spec)
    assert run_one(spec)["task"] == 1


def test_a_learning_curve_keeps_its_ends(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for epochs in (1, 2, 59, 60, 61, 200):
        lines = [
            {"epoch": e, "train_error": 100 / e, "valid_error": 90.123 / e}
            for e in range(1, epochs + 1)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        curve = learning_curve(path)
        assert curve["epoch"][0] == 1
        assert curve["epoch"][-1] == epochs
        assert len(curve["epoch"]) == min(epochs, 60)
        assert curve["valid_error"][0] == 90.12


def test_task_three_is_trained_on_generated_stories_where_the_official_file_is_missing(
    official_data: Path,
) -> None:
    official = task_stories("en-10k", 1, 0.1, official_data)
    assert official.train_data == "official"
    assert sum(len(story.questions) for story in official.train) == 9000
    assert sum(len(story.questions) for story in official.valid) == 1000
    got = task_stories("en-10k", 3, 0.1, official_data)
    assert sum(len(story.questions) for story in got.train) == GENERATED_QUESTIONS
    assert got.train_data == ("generated" if len(got.valid) == 385 else "official")
    assert not set(got.train) & set(got.valid)


def test_a_missing_file_is_named(data_root: Path) -> None:
    with pytest.raises(EntNetError, match="qa7_counting_test"):
        task_stories("en-10k", 7, 0.1, data_root)


def test_a_variant_of_a_preset_has_its_own_directory(tmp_path: Path) -> None:
    text = 'paper = ["table2", "EntNet"]\n[variant.a]\nseeds = 1\n[variant.b]\nseeds = 2\n'
    specs = specs_of(parse_preset("x", text), tmp_path, tasks=[1])
    assert [(s.variant, s.seed) for s in specs] == [("a", 1), ("b", 1), ("b", 2)]
    assert specs[2].directory == str(tmp_path / "x" / "qa1" / "b" / "seed2")
