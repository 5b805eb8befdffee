"""Table 4: runs that go on where they were, lines of results, and the report made from them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from cbt_questions import trade_question, write_questions
from entnet.cli import app
from entnet.config import ConfigError, TrainConfig
from entnet.data.cbt.format import cbt_file_name
from entnet.data.cbt.passages import encode_passages
from entnet.data.cbt.windows import encode_training, encode_with
from entnet.errors import EntNetError
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import load_preset
from entnet.experiments.results import read_results
from entnet.experiments.running import members_of, run_one
from entnet.models.base import StoryModel
from entnet.models.entnet import EntNet
from entnet.models.readers.passage import PassageReader
from entnet.models.readers.reader import NetworkScorer
from entnet.models.readers.recurrent import RecurrentEntNet
from entnet.models.readers.scorer import accuracy, answers_of
from entnet.report import cbt
from entnet.tasks import cbt_data
from entnet.tasks.cbt import COUNTING, best_weights, ensemble, mixed
from entnet.tasks.cbt_data import CbtData, find_questions
from entnet.tasks.passages import PassageOptions, PassageSource, passage_model
from entnet.tasks.spec import RunSpec
from entnet.tasks.windows import WindowData, WindowOptions, window_trainer
from entnet.training.trainer import Trainer
from interrupted import interrupt

READERS = {"as", "ga", "epireader", "aoa", "nse"}
NETWORKS = {"entnet-simple", "entnet-general", "window-lstm", "memnn", "memnn-self"}
NETWORKS |= {"entnet-recurrent", *READERS}
TOGETHER = {"entnet-simple-ensemble", "entnet-simple-mixture", "entnet-recurrent-mixture"}
"""Systems made of others' runs."""
ALONE = {"begin": "", "frozen": False}
"""Of a network that begins as another one in the table."""
FEW = ["--epochs", "2", "--set", "width=16", "--set", "oov_rows=4"]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with questions of both kinds."""
    write_questions(tmp_path / "data" / "cbt" / "data")
    monkeypatch.setenv("ENTNET_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def window_data() -> WindowData:
    train, vocab = encode_training([trade_question(n) for n in range(60)])
    valid = encode_with([trade_question(500 + n) for n in range(10)], vocab)
    return WindowData(train, valid, valid, vocab)


def small_run(directory: Path, model: dict[str, Any], **training: Any) -> Trainer:
    config = TrainConfig(**{"batch_size": 8, "schedule": "exponential", "epochs": 4, **training})
    options = WindowOptions(oov_rows=3, oov_probability=0.2)
    return window_trainer(
        directory,
        "entnet",
        {"width": 8, **model},
        options,
        config,
        window_data(),
        checkpoint_seconds=0,
    )


GENERAL = {"U": "trained", "V": "trained", "W": "trained", "normalise": True}


@pytest.mark.parametrize(
    ("model", "optimizer"),
    [({}, "sgd"), ({}, "adagrad"), (GENERAL, "sgd"), (GENERAL, "adam"), (GENERAL, "adagrad")],
    ids=["native-sgd", "native-adagrad", "general-sgd", "general-adam", "general-adagrad"],
)
def test_an_interrupted_run_ends_as_one_that_was_not(
    tmp_path: Path, model: dict[str, Any], optimizer: str
) -> None:
    whole = small_run(tmp_path / "whole", model, optimizer=optimizer)
    result = whole.train()
    parts = small_run(tmp_path / "parts", model, optimizer=optimizer)
    interrupt(parts, 3)
    again = small_run(tmp_path / "parts", model, optimizer=optimizer)
    resumed = again.train()
    assert resumed["best"] == result["best"]
    ours, theirs = again.model.state_dict(), whole.model.state_dict()
    for name, tensor in theirs.items():
        assert torch.equal(ours[name], tensor), name


def run_variant(name: str, root: Path, runs: Path, **changes: Any) -> tuple[RunSpec, Any]:
    (spec,) = specs_of(load_preset("table4"), runs, ["NE"], [1], [name], **changes)
    return spec, run_one(spec)


@pytest.mark.parametrize("name", sorted(set(cbt.SYSTEMS) - TOGETHER))
def test_every_system_gives_a_line_of_one_form(name: str, root: Path, tmp_path: Path) -> None:
    """Networks on windows leave one on disk that gives the same errors."""
    changes: dict[str, Any] = {}
    if name == "lstm":
        changes = {
            "model": {"units": 16},
            "train": {"epochs": 8, "learning_rate": 0.02},
            "source": {"streams": 4, "steps": 10, "sample": 8, "least": 1, "parts": 2},
        }
    elif name in NETWORKS:
        sizes = {"width": 16, "units": 16} if name in READERS else {"width": 16}
        source = {"oov_rows": 4}
        if name == "entnet-recurrent" or name in READERS:
            source |= {**ALONE, "questions": 0}
        changes = {"model": sizes, "train": {"epochs": 2}, "source": source}
    spec, line = run_variant(name, root, tmp_path, **changes)
    assert line["schema"] == 2
    assert (line["table"], line["task"], line["seed"]) == ("table4", "NE", 1)
    assert line["recipe"] == spec.recipe
    assert (line["best"]["valid_questions"], line["best"]["test_questions"]) == (40, 50)
    assert 0 <= line["best"]["test_error"] <= 100
    assert 0 < line["peak_memory_mb"] < 10_000
    if name == "lstm":
        assert line["passes"] == 4
    if name in NETWORKS:
        assert line["passes"] == 2
        data = CbtData(find_questions(), "NE")
        network = NetworkScorer(StoryModel.from_pretrained(Path(spec.directory) / "model"))
        right = accuracy(network.scores(data.test), answers_of(data.test))
        assert line["best"]["test_error"] == pytest.approx(100 * (1 - right), abs=2.1)


@pytest.mark.parametrize("name", ["context-frequency", "entnet-simple"])
def test_official_questions_choose_and_test_and_rebuilt_ones_stand_beside(
    name: str, root: Path, tmp_path: Path
) -> None:
    """A user with official validation and test questions alone trains on rebuilt ones."""
    write_questions(root / "cbt" / "questions", ("NE",))
    (root / "cbt" / "questions" / cbt_file_name("NE", "train")).unlink()
    few = {"model": {"width": 8}, "train": {"epochs": 1}} if name == "entnet-simple" else {}
    _, line = run_variant(name, root, tmp_path, **few)
    assert (line["questions"], line["train_data"]) == ("official", "rebuilt")
    # The two are the same questions here, so their errors are.
    for part, count in (("valid", 40), ("test", 50)):
        assert line["best"][f"rebuilt_{part}_error"] == line["best"][f"{part}_error"]
        assert line["best"][f"rebuilt_{part}_questions"] == count
    found = CbtData.find("NE", root)
    assert (found.origin, found.train_origin) == ("official", "rebuilt")
    assert CbtData.find("CN", root).origin == "rebuilt"


def test_one_language_model_serves_both_kinds(root: Path, tmp_path: Path) -> None:
    few = {
        "model": {"units": 8},
        "train": {"epochs": 2},
        "source": {"streams": 4, "steps": 10, "sample": 8, "least": 1, "parts": 1},
    }
    specs = specs_of(load_preset("table4"), tmp_path, None, [1], ["lstm"], **few)
    lines = [run_one(spec) for spec in specs]
    assert [line["task"] for line in lines] == ["NE", "CN"]
    assert lines[0]["seconds"] == lines[1]["seconds"]  # of the one training
    assert len(list(tmp_path.rglob("checkpoint.safetensors"))) == 1


def test_an_ensemble_trains_the_members_that_are_missing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = load_preset("table4")
    simple = preset.variant("entnet-simple")
    few = dataclasses.replace(
        simple, model={"width": 8}, task_options={"NE": {"train": {"epochs": 1}}}
    )
    variants = tuple(few if one is simple else one for one in preset.variants)
    small = dataclasses.replace(preset, variants=variants)
    monkeypatch.setattr("entnet.experiments.preset.load_preset", lambda _: small)
    (spec,) = specs_of(small, tmp_path, ["NE"], [1], ["entnet-simple-ensemble"])
    line = run_one(spec)
    assert line["members"] == [1, 2, 3]
    assert len(list(tmp_path.rglob("model.safetensors"))) == 6  # last and chosen
    assert 0 < line["best"]["test_error"] < 100


def test_a_mixture_is_never_worse_than_its_network_on_validation(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {
        "entnet-recurrent": {"model": {"width": 8}, "train": {"epochs": 1}},
        "lstm": {
            "model": {"units": 8},
            "train": {"epochs": 1},
            "source": {"streams": 4, "steps": 10, "sample": 8, "least": 1, "parts": 1},
        },
    }
    preset = load_preset("table4")
    variants = tuple(
        dataclasses.replace(one, **{"task_options": {}, "source": {}, **small.get(one.name, {})})
        if one.name in small
        else one
        for one in preset.variants
    )
    small_preset = dataclasses.replace(preset, variants=variants)
    monkeypatch.setattr("entnet.experiments.running.load_preset", lambda _: small_preset)
    (spec,) = specs_of(small_preset, tmp_path, ["NE"], [1], ["entnet-recurrent-mixture"])
    both = {**spec.source, "language": ["kneser-ney-cache", "lstm"]}
    spec = dataclasses.replace(spec, source=both)
    line = run_one(spec)
    assert set(line["weights"]) == {"kneser-ney-cache", "lstm"}
    data = CbtData(find_questions(), "NE")
    place = tmp_path / "table4" / "NE" / "entnet-recurrent" / "seed1" / "model"
    network = NetworkScorer(StoryModel.from_pretrained(place))
    alone = accuracy(network.scores(data.valid), answers_of(data.valid))
    assert line["best"]["valid_error"] <= 100 * (1 - alone) + 1e-4
    again = run_one(dataclasses.replace(spec, seed=2))
    assert again["best"] == line["best"]


def test_weights_are_the_best_ones_and_missing_candidates_stay_out() -> None:
    network = np.array([[0.0, -1.0, -np.inf], [0.0, -0.1, -0.2]], dtype=np.float32)
    language = np.array([[-9.0, -9.0, -np.inf], [-2.0, -1.0, -9.0]], dtype=np.float32)
    weights = best_weights([network, language], np.array([0, 1]))
    assert 0 < weights[0] <= 1
    total = mixed([network, language], weights)
    assert total.argmax(1).tolist() == [0, 1]
    assert total[0, 2] == -np.inf


def test_an_epoch_may_read_a_part_of_the_questions() -> None:
    part = WindowOptions(questions=30)
    first, second = part.order(100, 1, 1), part.order(100, 1, 2)
    assert len(first) == len(set(first)) == 30
    assert set(first) != set(second)
    assert part.passes(100, 5) == pytest.approx(1.5)
    whole = WindowOptions()
    assert sorted(whole.order(100, 1, 1)) == list(range(100))
    assert whole.passes(100, 5) == 5
    assert WindowOptions(questions=300).passes(100, 5) == 5


def test_neighbours_come_into_a_batch_together() -> None:
    options = PassageOptions(neighbours=4)
    order = options.order(22, seed=1, epoch=2)
    assert sorted(order) == list(range(22))
    groups = np.split(order, np.flatnonzero(np.diff(order) != 1) + 1)
    assert all(group[0] % 4 == 0 for group in groups)
    assert len(groups) > 1
    assert order.tolist() != options.order(22, seed=1, epoch=3).tolist()


def test_a_reader_begins_with_vectors_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("Baker 1 2 3\nxxxxx 4 5 6\nelsewhere 7 8 9\n")
    _, vocab = encode_passages([trade_question(n) for n in range(9)])
    options = PassageOptions(oov_rows=3, vectors=str(file))
    model = passage_model("as", {"width": 3, "units": 2}, options, vocab)
    assert isinstance(model, PassageReader)
    assert model.embedding[vocab.index["baker"]].tolist() == [1, 2, 3]
    assert model.embedding[vocab.index["xxxxx"]].tolist() == [4, 5, 6]
    assert float(model.embedding[vocab.index["sailor"]].detach().abs().max()) <= 0.1
    with pytest.raises(EntNetError, match="3 numbers each, width is 5: set width=3"):
        passage_model("as", {"width": 5, "units": 2}, options, vocab)
    file.write_text("nothing 1 2 3\n")
    with pytest.raises(EntNetError, match="no vector of any word of the questions"):
        passage_model("as", {"width": 3}, options, vocab)


def test_the_recurrent_network_begins_as_the_simple_one(root: Path, tmp_path: Path) -> None:
    """It trains that first, answers as it does, and keeps what it is told to."""
    preset = load_preset("table4")
    (spec,) = specs_of(preset, tmp_path, ["NE"], [1], ["entnet-recurrent"])
    kept = {**spec.source, "frozen": True}
    few = dataclasses.replace(spec, train={"epochs": 1, "learning_rate": 1e-9}, source=kept)
    (member,) = members_of(few)
    assert (member.variant, member.seed) == ("entnet-simple", 1)
    simple = run_one(member)
    line = run_one(few)
    assert line["best"]["valid_error"] == pytest.approx(simple["best"]["valid_error"], abs=10)
    begun, grown = (
        StoryModel.from_pretrained(Path(one.directory) / "model") for one in (member, few)
    )
    assert isinstance(begun, EntNet)
    assert isinstance(grown, RecurrentEntNet)
    for word in ("baker", "xxxxx", "namea"):
        was, now = (model.embedding[model.vocab.index[word]] for model in (begun, grown))
        assert torch.equal(was, now)
    assert begun.encoder.question_mask is not None
    assert torch.equal(begun.encoder.question_mask, grown.question.mask)
    assert begun.encoder.gate_mask is not None
    assert torch.equal(begun.encoder.gate_mask[:5], grown.gate_view.mask)
    with pytest.raises(ConfigError, match="frozen needs begin"):
        PassageOptions(frozen=True)
    with pytest.raises(EntNetError, match="masks of 5 words and width 8 is needed"):
        passage_model("entnet-recurrent", {"width": 8}, PassageOptions(), grown.vocab, begun)
    with pytest.raises(
        EntNetError, match="as does not begin as a network of kind entnet-recurrent"
    ):
        passage_model("as", {}, PassageOptions(), grown.vocab, grown)
    # A reader takes the embeddings alone.
    reader = passage_model("as", {"width": 100}, PassageOptions(oov_rows=4), grown.vocab, begun)
    assert isinstance(reader, PassageReader)
    for word in ("baker", "xxxxx", "namea"):
        was, now = (model.embedding[model.vocab.index[word]] for model in (begun, reader))
        assert torch.equal(was, now)
    with pytest.raises(EntNetError, match="width 8 is needed to begin as, not 100"):
        passage_model("as", {"width": 8}, PassageOptions(), grown.vocab, begun)


def test_trials_leave_the_test_questions_alone(root: Path, tmp_path: Path) -> None:
    changed = {"model": {"width": 8}, "train": {"epochs": 1}}
    for name, other in (("entnet-simple", {}), ("entnet-recurrent", ALONE)):
        _, line = run_variant(name, root, tmp_path, **changed, source={"test": False, **other})
        assert "test_error" not in line["best"]
        assert line["best"]["valid_questions"] == 40


def test_a_limit_of_time_ends_a_run(tmp_path: Path) -> None:
    assert small_run(tmp_path, {}, max_seconds=1e-9).train()["epochs"] == 1


def test_the_kept_network_is_the_best_on_validation(tmp_path: Path) -> None:
    result = small_run(tmp_path, {}, optimizer="sgd", learning_rate=0.02, epochs=6).train()
    lines = [json.loads(text) for text in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    errors = [line["valid_error"] for line in lines]
    assert result["best_epoch"] == errors.index(min(errors)) + 1
    assert result["best"]["valid_error"] == pytest.approx(min(errors), abs=1e-4)


def reproduce(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["reproduce", "table4", "--jobs", "2", *map(str, arguments)])


def test_runs_are_lines_and_are_not_done_twice(root: Path, tmp_path: Path) -> None:
    quick = ["context-frequency", "word-distance"]
    asked = [part for name in quick for part in ("--variant", name)]
    folders = ["--runs", tmp_path / "runs", "--results", tmp_path]
    outcome = reproduce(*asked, *folders)
    assert outcome.exit_code == 0, outcome.output
    lines = read_results(tmp_path / "table4.jsonl")
    assert {(line["task"], line["variant"]) for line in lines} == {
        (kind, name) for kind in ("NE", "CN") for name in quick
    }
    assert all(line["questions"] == "rebuilt" for line in lines)
    again = reproduce(*asked, *folders)
    assert "4 of 4 runs done" in again.output
    assert read_results(tmp_path / "table4.jsonl") == lines


def test_the_report_has_every_system_beside_the_paper(tmp_path: Path) -> None:
    path = tmp_path / "table4.jsonl"

    def old_line(kind: str, name: str, seed: int, valid: float, test: float) -> str:
        about = {"table": "table4", "task": kind, "variant": name, "seed": seed, "valid": valid}
        about |= {"test": test, "test_questions": 2500, "questions": "rebuilt"}
        return json.dumps(about | ({"epochs": 0.25} if name == "memnn-self" else {}))

    def official_line(name: str, seed: int, valid: float, test: float, rebuilt: float) -> str:
        best = {"valid_error": 100 - 100 * valid, "test_error": 100 - 100 * test}
        best |= {"test_questions": 2500, "rebuilt_test_questions": 2500}
        best["rebuilt_test_error"] = 100 - 100 * rebuilt
        about = {"table": "table4", "task": "NE", "variant": name, "seed": seed, "best": best}
        return json.dumps({**about, "last": best, "questions": "official"})

    path.write_text(
        "\n".join(
            [
                official_line("entnet-simple", 1, 0.70, 0.64, 0.69),
                official_line("entnet-simple", 2, 0.71, 0.62, 0.68),
                old_line("CN", "entnet-simple", 1, 0.60, 0.60),
                old_line("NE", "memnn-self", 1, 0.60, 0.50),
            ]
        )
        + "\n"
    )
    assert cbt.report(tmp_path) == {
        # chosen on validation, not on test
        "entnet-simple": {"NE": 0.62, "NE_rebuilt": 0.68, "CN": 0.60},
        "memnn-self": {"NE_rebuilt": 0.50},
    }
    cell = cbt.details(tmp_path)["entnet-simple"]["NE"]
    assert cell["interval"] == pytest.approx(1.96 * (0.62 * 0.38 / 2500) ** 0.5)
    assert cell["mean"] == pytest.approx(0.63)
    assert cell["paper"] == 0.616
    # A published figure is on official questions, and no figure to compare with beside rebuilt ones.
    assert cbt.details(tmp_path)["entnet-simple"]["NE_rebuilt"]["paper"] is None
    assert ".620, .680, .600 | .616, –, .588" in " | ".join(cbt.summary_rows(tmp_path)[0])
    (page,) = cbt.pages(tmp_path)
    text = page.body
    assert "**Rebuilt questions** are made" in text
    simple, self_supervised = text.index("EntNet, simple"), text.index("self-supervised")
    assert simple < text.index("read again") < self_supervised
    assert "**.620** ± .019 (.630 ± .014, 2 seeds) | .616 | **.680** ± .018" in text
    assert "MemNN, windows, self-supervised | – | .666 | **.500** ± .020 | – | .630" in text
    assert "NSE | – | .732 | – | – | .714" in text
    assert "NE and CN: MemNN, windows, self-supervised 0.25." in page.runs
    sized = {"parameters": 12345, "cpu_seconds": 90.0, "model": {"width": 100, "units": 64}}
    assert cbt._cost({"passes": 0.48, **sized}) == ["0.48", "1.5", "12,345", "100", "64"]
    assert cbt._cost({}) == ["–"] * 5
    assert cbt.figures(tmp_path)["table4"]["entnet-simple"]["CN"] == 0.60
    cbt.plot_table4(tmp_path / "chart.png", tmp_path)
    assert (tmp_path / "chart.png").stat().st_size > 5000


def test_the_command_says_what_is_wrong(root: Path, tmp_path: Path) -> None:
    for wrong, reason in (
        (["--tasks", "NE,nouns"], "no task nouns in table4; it has NE, CN"),
        (["--variant", "gpt"], "no variant 'gpt'"),
        (["--epochs", "3"], "corpus-frequency has nothing to set"),
        (["--variant", "memnn", "--set", "hue=3"], "no setting 'hue'"),
    ):
        outcome = reproduce(*wrong)
        assert outcome.exit_code == 1
        assert reason in str(outcome.exception)


def test_runs_with_changed_settings_are_other_runs(root: Path, tmp_path: Path) -> None:
    outcome = reproduce("--tasks", "ne", "--variant", "memnn", *FEW, "--runs", tmp_path)
    assert outcome.exit_code == 0, outcome.output
    (line,) = read_results(tmp_path / "results" / "table4.jsonl")
    assert line["variant"] == "memnn+epochs=2,oov_rows=4,width=16"
    assert (line["model"]["width"], line["epochs"]) == (16, 2)
    assert cbt.report(tmp_path / "results") == {}
    assert "| memnn | NE | epochs=2, oov_rows=4, width=16 |" in cbt.render_trials(
        tmp_path / "results"
    )


def test_without_results_there_is_nothing_to_report(tmp_path: Path) -> None:
    assert cbt.report(tmp_path) == {}
    assert cbt.figures(tmp_path) == {}
    assert cbt.pages(tmp_path) == []
    with pytest.raises(EntNetError, match="no runs"):
        cbt.plot_table4(tmp_path / "chart.png", tmp_path)


def test_an_ensemble_is_the_mean_of_probabilities() -> None:
    first = np.log(np.array([[0.6, 0.4]], dtype=np.float32))
    second = np.log(np.array([[0.1, 0.9]], dtype=np.float32))
    np.testing.assert_allclose(np.exp(ensemble([first, second])), [[0.35, 0.65]], rtol=1e-5)


def test_mistakes_are_told(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "cbt" / "data" / cbt_file_name("CN", "test")).unlink()
    outcome = reproduce(
        *("--tasks", "CN", "--variant", "context-frequency", "--runs", tmp_path),
        *("--results", tmp_path),
    )
    assert outcome.exit_code == 1
    assert "CN_test" in outcome.output
    monkeypatch.setattr(cbt_data, "default_directory", lambda: tmp_path / "nowhere")
    with pytest.raises(EntNetError, match="build-cbt"):
        find_questions(tmp_path / "none")
    with pytest.raises(ConfigError, match="OOV rows"):
        WindowOptions(oov_rows=0, oov_probability=0.5)


def test_older_names_of_settings_are_read() -> None:
    """Results from before the renaming have them."""
    older = WindowOptions.from_dict({"fresh": 3, "disguise": 0.5})
    assert older == WindowOptions(oov_rows=3, oov_probability=0.5)


def test_official_questions_come_before_built_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = write_questions(tmp_path / "questions")
    monkeypatch.setattr(cbt_data, "default_directory", lambda: built)
    monkeypatch.setenv("ENTNET_DATA", str(tmp_path / "data"))
    assert find_questions() == built
    official = tmp_path / "data" / "cbt" / "data"
    official.mkdir(parents=True)
    (official / cbt_file_name("NE", "train")).write_text("")
    assert find_questions() == official
    assert find_questions(tmp_path / "data") == official


def test_every_variant_of_the_preset_is_a_row_of_the_table() -> None:
    variants = {variant.name: variant for variant in load_preset("table4").variants}
    assert set(variants) == set(cbt.SYSTEMS)
    assert set(cbt.PAPER) <= set(cbt.SYSTEMS)
    assert {variant.kind for variant in variants.values()} > set(COUNTING)


def test_batches_of_a_pool_are_sorted_by_length_and_neighbours_stay_together() -> None:
    data, _ = encode_passages([trade_question(n) for n in range(48)])
    lengths = np.diff(data.offsets).copy()
    lengths[: len(lengths)] = np.random.default_rng(1).integers(1, 30, len(lengths))
    data = dataclasses.replace(data, offsets=np.concatenate([[0], lengths.cumsum()]))
    options = PassageOptions(neighbours=4, pool=3)
    source = PassageSource(data, options, TrainConfig(batch_size=8))
    drawn = options.order(len(data), 1, 1)
    order = source.sorted_in_pools(drawn)
    words = lengths[data.contexts].sum(1)
    for first in range(0, 48, 24):
        pool = order[first : first + 24]
        assert sorted(pool) == sorted(drawn[first : first + 24])
        groups = np.split(pool, np.flatnonzero(np.diff(pool // 4)) + 1)
        assert [len(group) for group in groups] == [4] * 6
        longest = [words[group].max() for group in groups]
        assert longest == sorted(longest)
    plain = PassageSource(data, PassageOptions(neighbours=4), TrainConfig(batch_size=8))
    assert plain.sorted_in_pools(drawn).tolist() == drawn.tolist()
