"""Traces: what they hold agrees with the tracker, and with the network itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from entnet import EntNet, Question, Story, Tracker
from entnet.inspection.trace import EXAMPLE, SlotName, trace_story
from entnet.tracker import NearWord

STORY = Story(
    ("Mary went to the garden.", "John flew to the office.", "Mary moved to the kitchen."),
    (
        Question(3, "Where is Mary?", "kitchen"),
        Question(1, "Where is Mary?", "Garden"),
        Question(3, "Where is John?", ""),
    ),
)


@pytest.fixture(scope="module")
def tied(walking_networks: dict[str, Path]) -> EntNet:
    return EntNet.from_pretrained(walking_networks["walks-tied"])


def test_a_trace_is_what_the_tracker_went_through(tied: EntNet) -> None:
    trace = trace_story(tied, STORY, "walks", words=2)
    tracker = Tracker(tied)
    assert trace.start == tuple(content.words for content in tracker.slots(2))
    for step, sentence in zip(trace.steps, STORY.sentences, strict=True):
        (read,) = tracker.read(sentence)
        assert (step.sentence, step.gates, step.movement, step.unknown) == (
            read.sentence, read.gates, read.movement, read.unknown,
        )  # fmt: skip
        assert step.words == tuple(content.words for content in tracker.slots(2))
    assert trace.steps[1].unknown == ("flew",)
    assert trace.words(0) == trace.start
    assert trace.words(3) == trace.steps[2].words


def test_movement_is_the_distance_between_states(tied: EntNet) -> None:
    trace = trace_story(tied, STORY)
    tracker = Tracker(tied)
    before = tracker.state.memory[0]
    tracker.read(STORY.sentences[0])
    distance = (tracker.state.memory[0] - before).pow(2).sum(-1).sqrt()
    assert trace.steps[0].movement == pytest.approx(distance.tolist(), abs=1e-6)


def test_nearest_words_are_by_cosine_of_what_the_slot_says(tied: EntNet) -> None:
    """φ(H h_j) against the rows of R, worked out here with plain arithmetic."""
    tracker = Tracker(tied)
    tracker.read(STORY.sentences[0])
    with torch.no_grad():
        h = tracker.state.memory[0, 1]
        assert tied.readout.H is not None
        assert tied.readout.R is not None
        assert tied.memory.slope is not None
        x = tied.readout.H @ h
        said = torch.where(x > 0, x, tied.memory.slope * x)
        rows = tied.readout.R[1:]
        cosine = (rows @ said) / (rows.norm(dim=1) * said.norm())
    best = cosine.argmax().item()
    found = tracker.slots(words=1)[1].words[0]
    assert found.word == tied.vocab.words[int(best) + 1]
    assert found.similarity == pytest.approx(cosine.max().item(), abs=1e-5)


def test_questions_are_asked_at_their_moment(tied: EntNet) -> None:
    trace = trace_story(tied, STORY)
    assert [(asked.after, asked.answer.answer) for asked in trace.questions] == [
        (1, "garden"), (3, "kitchen"), (3, trace.questions[2].answer.answer),
    ]  # fmt: skip
    assert [asked.right for asked in trace.questions] == [True, True, None]


def test_a_trace_goes_to_json(tied: EntNet) -> None:
    values = json.loads(json.dumps(trace_story(tied, STORY, "walks").to_dict()))
    assert values["model"] == "walks"
    assert [slot["key"] for slot in values["slots"]] == ["mary", "john", "sandra"]
    assert len(values["steps"]) == 3
    assert len(values["steps"][0]["words"]) == 3
    nearest = values["steps"][2]["words"][0][0]
    assert nearest["word"] == "kitchen"
    assert 0 < nearest["similarity"] <= 1


def test_labels_name_the_key_or_what_is_near_it() -> None:
    near = (NearWord("mary", 0.6), NearWord("john", 0.3), NearWord("went", 0.29))
    assert SlotName(0, "milk", near).label == "milk"
    assert SlotName(0, None, near).label == "(mary, john)"
    assert SlotName(0, None, (near[0], NearWord("john", 0.2))).label == "(mary)"


def test_the_example_is_the_papers() -> None:
    assert len(EXAMPLE.sentences) == 12
    (question,) = EXAMPLE.questions
    assert (question.after, question.text, question.answer) == (12, "Where is the milk?", "garden")
