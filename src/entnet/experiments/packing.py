"""The networks that come with the package: chosen runs, copied, each with a card that says what it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from entnet.binding import Places
from entnet.config import TrainConfig
from entnet.data.babi import TASK_NAMES
from entnet.errors import EntNetError
from entnet.experiments.binding import confirmed_places, places_of
from entnet.experiments.choice import choose, kept
from entnet.experiments.preset import ALL_TASKS, load_preset
from entnet.experiments.results import read_results, results_path
from entnet.experiments.running import Line
from entnet.experiments.spec import JOINT, task_label
from entnet.experiments.task_data import task_stories
from entnet.experiments.world_card import WORLD, world_places, world_temperature
from entnet.files import write_atomically
from entnet.inspection.places import measure_places
from entnet.models.base import StoryModel, list_pretrained, pretrained_root
from entnet.models.card import CARD
from entnet.models.entnet import EntNet
from entnet.tasks.babi import error_percent

FILES = ("config.json", "vocab.json", "model.safetensors")


@dataclass(frozen=True)
class Card:
    """Where a network comes from and how good it is. Errors in percent."""

    name: str
    title: str
    task: int | str
    """1 … 20, or 0 for all of them; NE or CN for the Children's Book Test."""
    table: str
    variant: str
    seed: int
    data: str
    train_data: str
    epoch: int
    validation_error: float
    test_error: float
    """On all questions of the official test file; for a joint network, the mean over the tasks."""
    test_questions: int
    task_test_errors: dict[str, float]
    """A joint network's error on each task."""
    parameters: int
    binding: dict[str, Any] | None = None
    """Which words are of a kind, and where they stand: new words are bound by it."""
    temperature: float = 1.0
    """What scores are divided by, so that probabilities are calibrated."""
    least_probability: float = 0.0
    """Less probable answers count as not known."""

    def about(self) -> dict[str, Any]:
        """The card without what only programs read."""
        return {name: value for name, value in self.to_dict().items() if name != "binding"}

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


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


def wanted() -> list[Wanted]:
    """What the package ships."""
    single = [
        Wanted(f"babi-qa{task}", f"{TASK_NAMES[task]}, 10k", task, ("table2", "best-10k"))
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


def candidates(want: Wanted, results: Path) -> list[Line]:
    """Finished runs that could be shipped."""
    lines = []
    for table in want.tables:
        variants = want.variants or {variant.name for variant in load_preset(table).all_variants}
        for line in read_results(results_path(results, table)):
            if line["task"] == want.task and line["variant"] in variants:
                lines.append(line)
    return lines


def run_directory(runs: Path, line: Line) -> Path:
    """Where a run of a table lies."""
    place = Path(runs, line["table"], task_label(line["task"]))
    name = line["variant"]
    was = next((v.was for v in load_preset(line["table"]).all_variants if v.name == name), "")
    if was and not (place / name).is_dir() and (place / was).is_dir():
        name = was  # it was run before it was named so
    return place / str(name) / f"seed{line['seed']}"


def pack(
    want: Wanted, results: Path, runs: Path, data_root: Path | None = None, root: Path | None = None
) -> Card | None:
    """Ship the chosen run's network; None if there is no finished run. It is scored on the official test
    file once more, and refused if that gives another error than the results say."""
    lines = candidates(want, results)
    if not lines:
        return None
    line = _best_slots(lines, runs, data_root) if want.by_places else choose(lines)
    source = run_directory(runs, line) / "model"
    missing = [name for name in FILES if not (source / name).is_file()]
    if missing:
        raise EntNetError(
            f"{want.name}: {source} lacks {', '.join(missing)}; the chosen run is "
            f"{line['table']} {line['variant']} seed {line['seed']}, run it again"
        )
    card = _card(want, line, source)
    _check(card, source, data_root)
    target = (root or pretrained_root()) / want.name
    target.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(source / name, target / name)
    write_atomically(target / CARD, json.dumps(card.to_dict(), indent=1).encode())
    return card


def _best_slots(lines: Sequence[Line], runs: Path, data_root: Path | None) -> Line:
    """The run whose network has the most slots that name the right place, in validation stories."""
    valid = task_stories(lines[0]["data"], lines[0]["task"], 0.1, data_root).valid

    def share(line: Line) -> float:
        network = EntNet.from_pretrained(run_directory(runs, line) / "model")
        return measure_places(network, valid).share

    return max(lines, key=share)


def _card(want: Wanted, line: Line, source: Path) -> Card:
    select = kept(line)
    scores = line[select]
    tasks = {task: of[select]["test_error"] for task, of in line.get("tasks", {}).items()}
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
        _places(want, StoryModel.from_pretrained(source)).to_json(),
        world_temperature(source) if want.tables == (WORLD,) else 1.0,
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
    changed = replace(card, binding=places.to_json())
    write_atomically(
        pretrained_root() / name / CARD, json.dumps(changed.to_dict(), indent=1).encode()
    )
    return places


def shipped() -> list[tuple[str, Card | None, int]]:
    """Networks that come with the package: name, card if it has one, size in bytes."""
    found = []
    for name in list_pretrained():
        folder = pretrained_root() / name
        card = Card.read(folder / CARD) if (folder / CARD).is_file() else None
        found.append((name, card, sum(f.stat().st_size for f in folder.iterdir())))
    return found
