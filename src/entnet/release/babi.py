"""The bAbI networks that come with the package: selected runs, with cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from entnet.binding import Places
from entnet.config import TrainConfig
from entnet.data.babi import TASK_NAMES
from entnet.data.splits import task_stories
from entnet.errors import EntNetError
from entnet.experiments.preset import ALL_TASKS, load_preset
from entnet.experiments.results import read_results, results_path
from entnet.experiments.selection import choose, kept
from entnet.inspection.places import measure_places
from entnet.models.base import StoryModel, pretrained_root
from entnet.models.entnet import EntNet
from entnet.release.binding import confirmed_places, places_of
from entnet.release.card import Card, put, require_network, write_card
from entnet.release.varied import measure_varied
from entnet.release.world import WORLD, world_least_probability, world_places, world_temperature
from entnet.tasks.babi import error_percent
from entnet.tasks.spec import JOINT, Result, task_label


@dataclass(frozen=True)
class Wanted:
    """A network to be shipped: the best on validation among the runs of these tables."""

    name: str
    title: str
    task: int
    tables: tuple[str, ...]
    by_places: bool = False
    """Chosen by how many slots name the right place in validation stories, not by its answers."""
    variants: tuple[str, ...] = ()
    """Only runs of these; none for all of the tables'."""
    first: str = ""
    """A table whose runs, where there are some, go before all others: they went on from those, and are
    chosen by stories told otherwise, too."""


def wanted() -> list[Wanted]:
    """What the package ships."""
    single = [
        Wanted(
            f"babi-qa{task}",
            f"{TASK_NAMES[task]}, 10k",
            task,
            ("auto-10k", "varied"),
            first="varied",
        )
        for task in ALL_TASKS
    ]
    return [
        *single,
        Wanted(
            "babi-qa2-tied",
            "two-supporting-facts, 10k, bag of words, tied keys",
            2,
            ("table3",),
            by_places=True,
            variants=("slot-supervision-0.5",),
        ),
        Wanted("world", "all tasks of the house in one story, any names", JOINT, (WORLD,)),
        Wanted("babi-joint", "all 20 tasks, 10k", JOINT, ("joint", "best-joint")),
    ]


def candidates(want: Wanted, results: Path) -> list[Result]:
    """Finished runs that could be shipped."""
    lines = []
    for table in want.tables:
        variants = want.variants or {variant.name for variant in load_preset(table).all_variants}
        for line in read_results(results_path(results, table)):
            if line["task"] == want.task and line["variant"] in variants:
                lines.append(line)
    return [line for line in lines if line["table"] == want.first] or lines


def run_directory(runs: Path, line: Result) -> Path:
    """Where a run of a table lies."""
    place = Path(runs, line["table"], task_label(line["task"]))
    name = line["variant"]
    was = next((v.was for v in load_preset(line["table"]).all_variants if v.name == name), "")
    if was and not (place / name).is_dir() and (place / was).is_dir():
        name = was  # it was run before it was named so
    return place / str(name) / f"seed{line['seed']}"


def release(
    want: Wanted, results: Path, runs: Path, data_root: Path | None = None, root: Path | None = None
) -> Card | None:
    """Ship the selected run's network; None if there is no finished run. It is scored on the official test
    file once more, and refused if that gives another error than the results say."""
    lines = candidates(want, results)
    if not lines:
        return None
    line = _best_slots(lines, runs, data_root) if want.by_places else choose(lines)
    source = run_directory(runs, line) / "model"
    require_network(want.name, source, f"{line['table']} {line['variant']} seed {line['seed']}")
    card = _card(want, line, source)
    _check(card, source, data_root)
    return put(card, source, root)


def _best_slots(lines: Sequence[Result], runs: Path, data_root: Path | None) -> Result:
    """The run whose network has the most slots that name the right place, in validation stories."""
    valid = task_stories(lines[0]["data"], lines[0]["task"], 0.1, data_root).valid

    def share(line: Result) -> float:
        network = EntNet.from_pretrained(run_directory(runs, line) / "model")
        return measure_places(network, valid).share

    return max(lines, key=share)


def _card(want: Wanted, line: Result, source: Path) -> Card:
    select = kept(line)
    scores = line[select]
    tasks = {task: of[select]["test_error"] for task, of in line.get("tasks", {}).items()}
    is_world = want.tables == (WORLD,)
    temperature = world_temperature(source) if is_world else 1.0
    network = StoryModel.from_pretrained(source)
    return Card(
        want.name,
        want.title,
        want.task,
        line["table"],
        line["variant"],
        line["seed"],
        line["data"],
        line["train_data"],
        line["best_epoch"] if select == "best" else line["epochs"],
        scores["valid_error"],
        round(sum(tasks.values()) / len(tasks), 4) if tasks else scores["test_error"],
        scores["test_questions"],
        tasks,
        line["parameters"],
        _places(want, network).to_json(),
        temperature,
        world_least_probability(source, temperature) if is_world else 0.0,
        varied=measure_varied(network, [int(task) for task in tasks] or [want.task]),
    )


def _places(want: Wanted, network: StoryModel) -> Places:
    if want.tables == (WORLD,):
        return world_places()
    return confirmed_places(places_of(want.task), want.task, network)


def _check(card: Card, source: Path, data_root: Path | None) -> None:
    network = StoryModel.from_pretrained(source)
    expected = card.task_test_errors or {str(card.task): card.test_error}
    for task, error in expected.items():
        data = "en-10k" if card.table == WORLD else card.data
        test = task_stories(data, int(task), 0.1, data_root).test
        got = round(error_percent(network, test, TrainConfig()), 4)
        if got != error:
            raise EntNetError(
                f"{card.name}: {source} has {got}% error on the test file of task {task}, "
                f"the results say {error}%"
            )


def write_binding(name: str, card: Card) -> Places:
    """Write into a shipped network's card which words are of a kind; everything else stays."""
    network = StoryModel.from_pretrained(name)
    places = confirmed_places(places_of(int(card.task)), int(card.task), network)
    write_card(replace(card, binding=places.to_json()), pretrained_root() / name)
    return places
