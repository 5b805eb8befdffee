"""How a network does on names, crowds and long stories that it never saw, and on what no story tells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from entnet.binding import Places, bind_story
from entnet.config import TrainConfig
from entnet.data.babi import read_babi
from entnet.data.sources import require_babi
from entnet.data.story import Corpus, Story
from entnet.data.world.mixture import HOUSE_TASKS, mixture, sized_stories
from entnet.data.world.pools import UNKNOWN
from entnet.models.base import StoryModel, encode_stories
from entnet.renaming import rename
from entnet.tracker import Tracker
from entnet.training.engine import choose_engine
from entnet.training.evaluate import score

CROWD = {"people": 10, "things": 10, "places": 12}
BINS = 10


def encoded(model: StoryModel, stories: Sequence[Story]) -> Corpus:
    config = model.config
    return encode_stories(stories, model.vocab, config)


def error(model: StoryModel, stories: Sequence[Story]) -> float:
    """In percent, over all questions."""
    engine = choose_engine(model, TrainConfig())
    entries = encoded(model, stories).entries("story", model.config.memory_limit)
    return round(score(engine, entries).error_percent, 3)


@torch.no_grad()
def scores_of(model: StoryModel, stories: Sequence[Story]) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores before the softmax (Q, answers), and the right answers (Q), in one order of their own."""
    entries = encoded(model, stories).entries("story", model.config.memory_limit)
    groups = entries.groups(256)
    batches = [*entries.batches(groups)]
    return torch.cat([model(batch) for batch in batches]), torch.cat([b.answers for b in batches])


def best_temperature(model: StoryModel, stories: Sequence[Story]) -> float:
    """What scores are divided by so that the right answers of these stories are most probable."""
    scores, answers = scores_of(model, stories)
    tried = np.geomspace(0.5, 3.0, 61)
    losses = [float(nn.functional.cross_entropy(scores / t, answers)) for t in tried]
    return round(float(tried[int(np.argmin(losses))]), 3)


def least_probability(
    model: StoryModel, stories: Sequence[Story], temperature: float, cost: float
) -> float:
    """Below which an answer counts as not known, so that at most this share of those questions of the
    stories is declined that have an answer; 0 where "unknown" alone is more."""
    scores, answers = scores_of(model, stories)
    unknown = model.vocab.index[UNKNOWN]
    chances = (scores[answers != unknown] / temperature).softmax(-1)
    chances[:, 0] = 0.0  # the null word is no answer
    sure, said = chances.max(-1)
    left = int(cost * len(sure)) - int((said == unknown).sum())
    if left < 0:
        return 0.0
    return float(np.floor(1000 * float(sure[said != unknown].sort().values[left])) / 1000)


def calibration(
    model: StoryModel, stories: Sequence[Story], temperature: float
) -> tuple[float, list[dict[str, float]]]:
    """The expected calibration error in percent; per bin of probability, how many, how sure, how right."""
    scores, answers = scores_of(model, stories)
    sure, said = (scores / temperature).softmax(-1).max(-1)
    right = (said == answers).float()
    bins = (sure * BINS).long().clamp(max=BINS - 1)
    rows, expected = [], 0.0
    for i in range(BINS):
        inside = bins == i
        count = int(inside.sum())
        if count:
            mean, share = float(sure[inside].mean()), float(right[inside].mean())
            expected += count / len(sure) * abs(mean - share)
            rows.append({"questions": count, "sure": round(mean, 4), "right": round(share, 4)})
    return round(100 * expected, 3), rows


def official(task: int, data: Path | None = None) -> list[Story]:
    return read_babi(require_babi("en-10k", task, "test", data))


def renamed(model: StoryModel, places: Places, stories: Sequence[Story]) -> list[Story]:
    """Stories with every name a new one, as the network reads them."""
    known = model.vocab.index
    return [bind_story(places, one, known) for one in rename(stories, places.kind_of, known)]


def declined(tracker: Tracker, stories: Sequence[Story]) -> tuple[int, int]:
    """How many of the stories' questions are declined, and how many there are."""
    count = asked = 0
    for story in stories:
        tracker.reset()
        read = 0
        for question in sorted(story.questions, key=lambda one: one.after):
            tracker.read_sentences(story.sentences[read : question.after])
            read = question.after
            count += not tracker.ask(question.text).known
            asked += 1
    return count, asked


def unanswerable(count: int = 300) -> list[Story]:
    """Generated stories with those of their questions that they do not answer."""
    return [
        Story(story.sentences, tuple(q for q in story.questions if q.answer == UNKNOWN))
        for story in mixture(count, 1, "test", task_share=0.0)
    ]


def read_unanswerable(path: Path) -> list[Story]:
    """Stories in a line each, their questions after them in lines that begin with ``?``."""
    from entnet.data.plain import split_sentences
    from entnet.data.story import Question

    stories: list[tuple[list[str], list[str]]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("?"):
            stories[-1][1].append(line[1:].strip())
        elif line.strip() and not line.startswith("#"):
            stories.append(([] if line.strip() == "-" else split_sentences(line), []))
    return [
        Story(tuple(told), tuple(Question(len(told), text, UNKNOWN) for text in asked))
        for told, asked in stories
    ]


def measure(
    source: str, hand_written: Path | None = None, data: Path | None = None
) -> dict[str, Any]:
    """Everything that docs/names.md says of a network."""
    tracker = Tracker.from_pretrained(source)
    model, manner = tracker.model, tracker.manner
    if manner.places is None:
        raise ValueError(f"{source}: its card does not say which words are of a kind")
    files = {task: official(task, data) for task in HOUSE_TASKS}
    everything = [story for stories in files.values() for story in stories]
    expected, bins = calibration(model, everything, manner.temperature)
    long = sized_stories(20, 1, "test", sentences=300)
    out: dict[str, Any] = {
        "official": {task: error(model, stories) for task, stories in files.items()},
        "renamed": {
            task: error(model, renamed(model, manner.places, stories))
            for task, stories in files.items()
        },
        "mixed": error(model, mixture(300, 1, "test", task_share=0.0)),
        "crowd": error(model, sized_stories(100, 1, "test", **CROWD)),
        "long": error(model, long),
        "calibration_error": expected,
        "reliability": bins,
        "generated_declined": declined(tracker, unanswerable()),
        "answerable_declined": declined(tracker, everything[:: max(1, len(everything) // 400)]),
    }
    if hand_written is not None:
        out["hand_written_declined"] = declined(tracker, read_unanswerable(hand_written))
    return out


def names_markdown(of: dict[str, Any]) -> str:
    """What ``measure`` found, as docs/names.md has it."""
    official, new = of["official"], of["renamed"]
    mean, mean_new = (sum(errors.values()) / len(errors) for errors in (official, new))
    worst = max(official, key=official.__getitem__)
    lost = max(official, key=lambda task: new[task] - official[task])
    answerable, asked = of["answerable_declined"]
    rows = [
        "| | " + " | ".join(map(str, official)) + " | mean |",
        "|---" * (len(official) + 2) + "|",
        _errors("official test files", [*official.values()], mean),
        _errors("the same, every name new", [*new.values()], mean_new),
        "",
        "| | measured | wanted |",
        "|---|---|---|",
        f"| official test files, mean error | {mean:.2f}% | ≤ 1% |",
        f"| worst task ({worst}) | {official[worst]:.1f}% | ≤ 5% |",
        f"| largest loss by new names (task {lost}) | {new[lost] - official[lost]:.1f} points | ≤ 0.5 |",
        f"| mixed stories | {of['mixed']:.1f}% | |",
        f"| mixed, 10 people, 10 things, 12 places | {of['crowd']:.1f}% | ≤ 5% |",
        f"| mixed, 300 sentences | {of['long']:.1f}% | ≤ 5% |",
        _share("unanswerable questions declined: generated", of["generated_declined"]),
    ]
    if "hand_written_declined" in of:
        rows.append(_share("written by hand", of["hand_written_declined"]))
    rows += [
        f"| answerable official questions declined | {answerable} of {asked} "
        f"({100 * answerable / asked:.2f}%) | ≤ 1% |",
        f"| expected calibration error, official files | {of['calibration_error']:.2f}% | ≤ 2% |",
    ]
    return "\n".join(rows) + "\n"


def _errors(name: str, errors: Sequence[float], mean: float) -> str:
    return f"| {name} | " + " | ".join(f"{one:.1f}" for one in errors) + f" | {mean:.2f} |"


def _share(name: str, counts: tuple[int, int]) -> str:
    declined, asked = counts
    return f"| {name} | {declined} of {asked} ({100 * declined / asked:.1f}%) | ≥ 95% |"
