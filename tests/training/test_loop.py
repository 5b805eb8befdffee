"""Runs: what they write, and that nothing is lost when they are killed."""

from __future__ import annotations

import json
import multiprocessing
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from entnet import (
    EntNetError,
    ModelFileError,
    Story,
    StoryModel,
    TrainConfig,
    read_babi,
    write_babi,
)
from entnet.data.babi_tasks import generate
from entnet.training.loop import Run
from entnet.training.setup import prepare

SMALL = {"width": 8, "slots": 3}


def make(directory: Path, stories: list[Story], **options: Any) -> Run:
    config = TrainConfig.from_dict({"epochs": 4, "batch_size": 2, "engine": "reference", **options})
    prepared = prepare(stories, stories, stories, config, model_options=SMALL)
    return Run(directory, prepared.build, prepared.data, config, checkpoint_seconds=0)


def test_a_run_leaves_everything(tmp_path: Path, stories: list[Story]) -> None:
    result = make(tmp_path, stories).train()
    metrics = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in metrics] == [1, 2, 3, 4]
    assert min(line["valid_error"] for line in metrics) == result["best"]["valid_error"]
    assert metrics[-1]["valid_error"] == result["last"]["valid_error"]
    assert result["best"]["test_questions"] == 6
    assert result["train"]["seed"] == 1
    for name in ("model", "last"):
        StoryModel.from_pretrained(tmp_path / name)
    assert (
        StoryModel.from_pretrained(tmp_path).config
        == StoryModel.from_pretrained(tmp_path / "model").config
    )


def test_a_finished_run_is_not_run_again(tmp_path: Path, stories: list[Story]) -> None:
    result = make(tmp_path, stories).train()
    before = (tmp_path / "metrics.jsonl").stat().st_mtime_ns
    assert make(tmp_path, stories).train() == result
    assert (tmp_path / "metrics.jsonl").stat().st_mtime_ns == before


def test_another_runs_directory_is_refused(tmp_path: Path, stories: list[Story]) -> None:
    make(tmp_path, stories).train()
    with pytest.raises(EntNetError, match=r"another run.*train\.learning_rate"):
        make(tmp_path, stories, learning_rate=0.5).train()


def test_a_run_from_before_an_option_was_there_goes_on(
    tmp_path: Path, stories: list[Story]
) -> None:
    first = make(tmp_path / "run", stories).train()
    path = tmp_path / "run" / "run.json"
    about = json.loads(path.read_text())
    del about["train"]["permute"]
    path.write_text(json.dumps(about))
    assert make(tmp_path / "run", stories).train() == first
    with pytest.raises(EntNetError, match=r"another run.*train\.permute"):
        make(tmp_path / "run", stories, permute={"only_if": ["north"]}).train()


def test_damaged_checkpoint_is_named(tmp_path: Path, stories: list[Story]) -> None:
    make(tmp_path, stories).train()
    (tmp_path / "result.json").unlink()
    (tmp_path / "checkpoint.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ModelFileError, match="not a checkpoint"):
        make(tmp_path, stories).train()


def test_the_last_epoch_can_be_chosen(tmp_path: Path, stories: list[Story]) -> None:
    make(tmp_path, stories, checkpoint="last").train()
    model = (tmp_path / "model" / "model.safetensors").read_bytes()
    assert model == (tmp_path / "last" / "model.safetensors").read_bytes()


def test_draws_differ_from_passes(tmp_path: Path, stories: list[Story]) -> None:
    weights = {
        sampling: make(tmp_path / sampling, stories, sampling=sampling).train()["last"][
            "valid_loss"
        ]
        for sampling in ("shuffle", "replacement")
    }
    assert weights["shuffle"] != weights["replacement"]


GROUPS = [
    ["john", "mary", "sandra", "daniel"],
    ["garden", "kitchen", "hallway", "office", "bathroom", "bedroom"],
]


def train_losses(
    directory: Path, stories: list[Story], *options: dict[str, Any]
) -> list[list[float]]:
    """The training loss of every epoch, of a run with each of these options."""

    def losses(name: str, chosen: dict[str, Any]) -> list[float]:
        make(directory / name, stories, **chosen).train()
        lines = (directory / name / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line)["train_loss"] for line in lines]

    return [losses(str(number), chosen) for number, chosen in enumerate(options)]


def test_words_can_be_exchanged_from_a_later_epoch_on(tmp_path: Path, stories: list[Story]) -> None:
    plain, always, late = train_losses(
        tmp_path,
        stories,
        {},
        {"permute": {"groups": GROUPS}},
        {"permute": {"groups": GROUPS, "from_epoch": 3}},
    )
    assert late[:2] == plain[:2] != always[:2]
    assert late[2:] != plain[2:]


def test_exchange_can_be_limited_to_some_stories_for_some_epochs(
    tmp_path: Path, stories: list[Story]
) -> None:
    limited = {"groups": GROUPS, "only_if": ["milk"]}
    always, milk, widened, at_once = train_losses(
        tmp_path,
        stories,
        {"permute": {"groups": GROUPS}},
        {"permute": limited},
        {"permute": {**limited, "only_if_until": 2}},
        {"permute": {**limited, "only_if_until": 0}},
    )
    assert widened[:2] == milk[:2] != always[:2]
    assert widened[2:] != milk[2:]
    assert at_once == always


def test_whole_batches_only_drops_the_rest(tmp_path: Path, stories: list[Story]) -> None:
    result = make(tmp_path, stories * 8, drop_last=True, epochs=1).train()
    assert result["best"]["test_questions"] == 32  # of 48
    assert result["best"]["valid_questions"] == 48


def test_exploding_loss_is_told(tmp_path: Path, stories: list[Story]) -> None:
    with pytest.raises(EntNetError, match="a smaller learning rate"):
        make(tmp_path, stories, learning_rate=1e30, epochs=20).train()


def train_a_network(directory: Path, engine: str, epochs: int, story_file: Path) -> None:
    config = TrainConfig(epochs=epochs, batch_size=4, engine=engine)
    options = {"width": 12, "slots": 4, "dropout": 0.0 if engine == "native" else 0.2}
    prepared = prepare(read_babi(story_file), None, None, config, model_options=options)
    Run(directory, prepared.build, prepared.data, config, checkpoint_seconds=0).train()


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "epochs"), [("reference", 20), ("native", 40)])
def test_killed_runs_end_with_the_same_weights(tmp_path: Path, engine: str, epochs: int) -> None:
    """SIGKILL at random moments, several times; the weights are those of a run left alone, to the bit."""
    story_file = tmp_path / "stories.txt"
    write_babi(story_file, generate(1, 100, seed=5))
    # Each process is a fork of one that has imported everything and done nothing.
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["pytest", prepare.__module__, generate.__module__])

    def start(name: str) -> Any:
        process = processes.Process(
            target=train_a_network, args=(tmp_path / name, engine, epochs, story_file)
        )
        process.start()
        return process

    def finish(name: str) -> None:
        process = start(name)
        process.join()
        assert process.exitcode == 0

    finish("alone")
    moments = random.Random(7)
    kills = 0
    metrics = tmp_path / "killed" / "metrics.jsonl"
    while kills < 3:
        process = start("killed")
        done = len(metrics.read_text().splitlines()) if metrics.is_file() else 0
        target = done + moments.randint(1, 5)
        while process.is_alive():
            now = len(metrics.read_text().splitlines()) if metrics.is_file() else 0
            if now >= target:
                time.sleep(moments.random() * 0.02)
                process.kill()
                break
            time.sleep(0.002)
        process.join()
        if process.exitcode != -signal.SIGKILL:
            break
        kills += 1
    assert kills >= 2
    finish("killed")
    for name in ("model", "last"):
        same = [
            (tmp_path / run / name / "model.safetensors").read_bytes()
            for run in ("alone", "killed")
        ]
        assert same[0] == same[1]
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [line["epoch"] for line in lines] == list(range(1, epochs + 1))
    undisturbed = (tmp_path / "alone" / "metrics.jsonl").read_text().splitlines()
    for line, other in zip(lines, map(json.loads, undisturbed), strict=True):
        assert line["train_loss"] == other["train_loss"]


def test_a_run_ends_once_it_makes_no_error_in_training(
    tmp_path: Path, stories: list[Story]
) -> None:
    options = {
        "epochs": 60,
        "learning_rate": 0.02,
        "stop_after_learnt": 3,
        "curriculum": [{"epochs": 5, "only": ["milk"]}],
    }
    result = make(tmp_path, stories, **options).train()
    metrics = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    clean = [line["train_error"] == 0 for line in metrics]
    assert result["epochs"] < 60
    assert clean[-3:] == [True] * 3
    # Not by what the beginning, which leaves stories out, has learnt.
    assert not any(all(clean[end - 3 : end]) for end in range(8, len(clean)))


@pytest.mark.parametrize("kind", ["train_error", "valid_error"])
def test_a_run_that_is_behind_is_given_up(tmp_path: Path, stories: list[Story], kind: str) -> None:
    make(tmp_path / "whole", stories).train()
    lines = (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()
    error = json.loads(lines[1])[kind]
    rule = {"epoch": 2, "metric": kind}
    level = make(tmp_path / "level", stories, prune=[{**rule, "above": error}]).train()
    behind = make(tmp_path / "behind", stories, prune=[{**rule, "above": error - 0.1}]).train()
    assert (level["epochs"], behind["epochs"]) == (4, 2)
