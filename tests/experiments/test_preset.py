"""The presets that come with the package, and how a preset's file is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from entnet.config import ConfigError, TrainConfig
from entnet.data.babi import read_babi
from entnet.data.sources import find_babi
from entnet.data.story import story_words
from entnet.errors import EntNetError
from entnet.experiments.plan import specs_of
from entnet.experiments.preset import current_variant, load_preset, parse_preset, preset_names
from entnet.report import copying
from entnet.report.figures import TABLES
from entnet.report.published import paper_column
from entnet.report.rivals import SYSTEMS
from entnet.tasks.entities import AUTHORS, ENTITIES, entities_of
from entnet.text import Vocab

PAPER = 'paper = ["table2", "EntNet"]\n'


@pytest.mark.parametrize("name", preset_names())
def test_shipped_presets_load_and_stand_beside_a_column_of_the_paper(name: str) -> None:
    preset = load_preset(name)
    assert preset.seeds >= 1
    if preset.benchmark != "babi":
        return
    some = {"generated": (1, 4, 6, 12, 15, 20), "table3": (2,), "varied": (15, 16, 19, 20)}
    assert preset.tasks == some.get(name, tuple(range(1, 21)))
    assert set(preset.tasks) <= set(paper_column(*preset.paper).errors)


def test_the_report_knows_every_preset() -> None:
    # Made in report.gridworld, report.cbt, report.propara and report.babilong; shown by `entnet compare`.
    others = {"table1a", "table1b", "table1b-longer", "table4", "propara", "compare"}
    others |= {"babilong", "babilong-joint"}
    others |= set(copying.PRESETS)
    others |= {preset for settings in SYSTEMS.values() for preset in settings.values()}
    assert sorted({*TABLES} | others) == preset_names()


def test_long_settings_make_short_directories(tmp_path: Path) -> None:
    """Directories of runs are named after changed settings, and names may be 255 bytes long."""
    groups = tuple(" ".join(f"name{i}" for i in range(n)) for n in range(40, 60))
    one, other = (
        specs_of(load_preset("table2"), tmp_path, [1], [1], train={"exchange": exchange})[0]
        for exchange in (groups, groups[:-1])
    )
    assert one.directory != other.directory
    Path(one.directory).mkdir(parents=True)


def test_table2_has_the_papers_settings() -> None:
    preset = load_preset("table2")
    (variant,) = preset.variants
    questions, authors, stories, whole, draws, many, *sifted = preset.trials
    ends = {"stop_after_learnt": 15}
    for single in (questions, authors):
        changed = preset.options("train", single, 1)
        assert changed == {**preset.options("train", variant, 1), "example": "question"}
    for ones in (questions, whole, many):
        assert preset.options("model", ones, 1) == preset.options("model", variant, 1)
    changed = preset.options("train", stories, 1)
    assert changed == {**preset.options("train", variant, 1), "batch_unit": "stories"}
    assert preset.options("train", whole, 1) == {**changed, **ends}
    changed = preset.options("train", draws, 1)
    assert changed == {**preset.options("train", authors, 1), "sampling": "replacement", **ends}
    only_sooner = [(many, questions, 19), *((more, draws, 3) for more in sifted)]
    for more, single, task in only_sooner:
        changed = preset.options("train", more, task)
        for rule in ("early_stopping", "prune"):
            changed.pop(rule, None)
        assert changed == {**preset.options("train", single, task), **ends}
    for random in (authors, stories, draws, *sifted):
        changed = preset.options("model", random, 1)
        assert changed == {**preset.options("model", variant, 1), "mask_init": "normal"}
    train = TrainConfig.from_dict(preset.options("train", variant, 1))
    assert (preset.data, variant.seeds, preset.stop_at_zero) == ("en-10k", 10, False)
    assert (train.optimizer, train.learning_rate, train.halve_every, train.epochs) == (
        "adam",
        0.01,
        25,
        200,
    )
    assert (train.batch_size, train.max_grad_norm) == (32, 40)
    model = preset.options("model", variant, 1)
    assert (model["width"], model["slots"], model["memory_limit"]) == (100, 20, 70)
    assert preset.options("model", variant, 3)["memory_limit"] == 130


def test_the_appendix_presets_differ_from_table2_where_they_must() -> None:
    assert load_preset("bow").model["encoder"] == "bow"
    assert load_preset("tied").model["encoder"] == "bow"
    assert load_preset("tied").tied
    assert load_preset("1k").data == "en"
    joint = load_preset("joint")
    assert joint.joint
    stories = next(variant for variant in joint.variants if variant.was == "stories")
    train = TrainConfig.from_dict(joint.options("train", stories, 0))
    assert (train.batch_size, train.batch_unit, train.learning_rate, train.halve_every) == (
        32,
        "stories",
        0.01,
        25,
    )


def test_a_task_overrides_a_variant_unless_that_is_meant_for_it() -> None:
    text = """
        [train]
        learning_rate = 0.01
        epochs = 5
        batch_size = 8
        [variant.slow.train]
        learning_rate = 0.003
        epochs = 6
        [variant.meant]
        extends = "slow"
        tasks = [3]
        [task.3.train]
        epochs = 7
        batch_size = 9
    """
    preset = parse_preset("made-up", PAPER + text)
    slow, meant = preset.variant("slow"), preset.variant("meant")
    assert preset.options("train", slow, 3) == {
        "learning_rate": 0.003,
        "epochs": 7,
        "batch_size": 9,
    }
    assert preset.options("train", slow, 2) == {
        "learning_rate": 0.003,
        "epochs": 6,
        "batch_size": 8,
    }
    assert preset.options("train", meant, 3) == {
        "learning_rate": 0.003,
        "epochs": 6,
        "batch_size": 9,
    }


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("seed = 3", "unknown: seed"),
        ("[variant.a]\nrate = 1", "variant a: unknown: rate"),
        ("[task.3]\nwidth = 1", "task 3: unknown: width"),
        ("title = ", "not TOML"),
        ('tied = "paper"', "tied is 'paper', but must be"),
        ('[variant.a]\ntied = "paper"', "variant a: tied is 'paper', but must be"),
        ("tasks = [1, 2]\n[variant.a]\ntasks = [2, 3]", "variant a: no task 3 in this preset"),
    ],
)
def test_slips_in_a_preset_are_named(text: str, complaint: str) -> None:
    with pytest.raises(EntNetError, match=complaint):
        parse_preset("made-up", PAPER + text)


def test_induction_with_a_bag_of_words_differs_from_the_paper_in_its_rate_alone() -> None:
    """docs/recipes.md rests on it: between unsolved (bow) and solved (best-bow) lies the rate alone."""
    paper, ours = load_preset("bow"), load_preset("best-bow")
    as_it_is = paper.variant("paper")
    for name, rate in {"lr-0.001": 0.001, "lr-0.002": 0.002, "lr-0.003": 0.003}.items():
        variant = ours.variant(name)
        assert variant.tasks == (16,)
        assert ours.options("model", variant, 16) == paper.options("model", as_it_is, 16)
        changed = {**paper.options("train", as_it_is, 16), "learning_rate": rate}
        assert ours.options("train", variant, 16) == changed


def test_a_preset_names_its_column_of_the_paper() -> None:
    with pytest.raises(EntNetError, match="paper must be a table and a column"):
        parse_preset("made-up", 'paper = "table2"')


def test_a_name_with_a_dot_needs_quotes() -> None:
    with pytest.raises(EntNetError, match=r'quotes: \[variant\."lr-0\.01"\]'):
        parse_preset("made-up", "[variant.lr-0.01.train]\nlearning_rate = 0.01")


def test_unknown_options_are_refused_before_any_run() -> None:
    with pytest.raises(ConfigError, match="widht"):
        parse_preset("made-up", PAPER + "[model]\nwidht = 3")
    with pytest.raises(ConfigError, match="rate is -1"):
        parse_preset("made-up", PAPER + "[train]\nrate = -1")


def test_unknown_names_are_answered_with_those_that_exist() -> None:
    with pytest.raises(EntNetError, match="table2"):
        load_preset("table9")
    with pytest.raises(EntNetError, match="held"):
        parse_preset("x", PAPER + "[variant.held]").variant("hold")


def test_entities_are_lower_case_and_named_once() -> None:
    assert len(set(ENTITIES)) == len(ENTITIES)
    assert all(word == word.lower() for word in ENTITIES)
    assert entities_of(Vocab.build({"mary", "went", "kitchen", "north"})) == ("mary", "kitchen")


def test_the_authors_list_of_entities_is_another() -> None:
    vocab = Vocab.build({"yellow", "tired", "square", "school", "mary", "went"})
    assert entities_of(vocab, "authors") == ("mary", "tired", "yellow", "yellow")
    preset = load_preset("tied")
    tied = {variant.name: preset.tied_in(variant) for variant in preset.all_variants}
    assert tied == {"paper": True, "question-batches": True, "authors-keys": "authors"}


def test_every_official_task_has_entities(official_data: object) -> None:
    for task in range(1, 21):
        path = find_babi("en", task, "train", str(official_data))
        assert path is not None
        vocab = Vocab.build(story_words(read_babi(path)))
        for tied in (True, "authors"):
            found = entities_of(vocab, tied)
            assert 2 <= len(found) <= 30, (task, tied, found)


def test_every_word_of_the_authors_list_is_one_of_the_official_files(official_data: object) -> None:
    words: set[str] = set()
    for task in range(1, 21):
        path = find_babi("en", task, "train", str(official_data))
        assert path is not None
        words |= story_words(read_babi(path))
    assert set(AUTHORS) <= words


def test_a_variant_can_be_like_one_before_it() -> None:
    text = """
        seeds = 4
        [variant.first]
        seeds = 2
        [variant.first.train]
        learning_rate = 0.5
        batch_size = 8
        [variant.second]
        extends = "first"
        [variant.second.model]
        width = 7
        [variant.second.train]
        learning_rate = 0.25
        """
    preset = parse_preset("x", PAPER + text)
    first, second = preset.variants
    assert second.seeds == first.seeds == 2
    assert preset.options("train", second, 1) == {"learning_rate": 0.25, "batch_size": 8}
    assert preset.options("train", first, 1) == {"learning_rate": 0.5, "batch_size": 8}
    assert (first.model, second.model) == ({}, {"width": 7})


def test_a_table_runs_its_own_variants_each_on_its_tasks_and_trials_apart(tmp_path: Path) -> None:
    text = "tasks = [1, 2, 3]\n[variant.all]\n[variant.third]\ntasks = [3]\n"
    trials = '[variant.other]\nextends = "third"\ntasks = [1]\n[variant.more]\n'
    preset = parse_preset("made-up", PAPER + text, trials)

    def runs(**asked: Any) -> list[tuple[str, int]]:
        return [(spec.variant, spec.task) for spec in specs_of(preset, tmp_path, **asked)]

    assert runs() == [("all", 1), ("all", 2), ("third", 3)]
    assert runs(tasks=[1, 2]) == [("all", 1), ("all", 2)]
    assert runs(tasks=[2], variants=["third"]) == [("third", 2)]
    assert runs(trials=True) == [("other", 1), ("more", 1), ("more", 2), ("more", 3)]
    assert runs(trials=True, tasks=[2]) == [("more", 2)]
    assert runs(tasks=[3], variants=["other", "all"]) == [("other", 3), ("all", 3)]


@pytest.mark.parametrize(
    ("trials", "complaint"),
    [
        ("[variant.paper]", "variant paper: the table has one of this name"),
        ("seeds = 3", "trials: unknown: seeds"),
        ("title =", "trials: not TOML"),
    ],
)
def test_slips_in_trials_are_named(trials: str, complaint: str) -> None:
    with pytest.raises(EntNetError, match=complaint):
        parse_preset("made-up", PAPER, trials)


def test_a_variant_like_none_before_it_is_refused() -> None:
    text = '[variant.a]\nextends = "b"\n[variant.b]\n'
    with pytest.raises(EntNetError, match="variant a: no variant 'b' before it"):
        parse_preset("x", PAPER + text)


def test_a_variant_is_found_by_its_name_in_older_results() -> None:
    preset = load_preset("best-bow")
    assert preset.variant("small") is preset.variant("lr-0.001")
    assert current_variant("best-bow", "small+epochs=3") == "lr-0.001+epochs=3"
    assert current_variant("best-bow", "lr-0.001") == "lr-0.001"
    assert current_variant("no-such-table", "small") == "small"
    for name in preset_names():  # no name is also an older one's
        variants = load_preset(name).all_variants
        names = [variant.name for variant in variants]
        assert not set(names) & {variant.was for variant in variants}
