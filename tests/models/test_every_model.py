"""What every kind of network must do. A new kind needs one line here, in TINY.

A model file of your own can be put through the same tests: docs/new-model.md says how.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from cbt_questions import trade_question
from entnet import Corpus, RaggedBatch, Story, StoryModel, Tracker, TrainConfig, Vocab, write_babi
from entnet.cli import app
from entnet.data.cbt.format import write_cbt
from entnet.data.story import longest_sentence, story_words
from entnet.models.readers.reader import NetworkScorer
from entnet.models.registry import kinds, load_model_file, model_class
from entnet.training.engine import TorchEngine, choose_engine
from entnet.training.evaluate import score
from entnet.training.loop import Run, RunData
from interrupted import interrupt
from small_networks import make_stories

TINY: dict[str, dict[str, Any]] = {
    "aoa": {"width": 5, "units": 3},
    "as": {"width": 5, "units": 3},
    "dmn": {"width": 5},
    "dnc": {"units": 6, "slots": 4, "width": 5, "heads": 2},
    "dntm": {"units": 6, "slots": 4, "content": 5, "address": 3, "word_units": 4},
    "entnet": {"width": 5, "slots": 3},
    "entnet-recurrent": {"width": 6},
    "epireader": {"width": 5, "units": 3, "filters": 4, "sentence_units": 3, "proposals": 10},
    "ga": {"width": 5, "units": 3, "layers": 2},
    "lstm": {"units": 6, "width": 5},
    "memn2n": {"width": 5, "time_noise": 0.0},
    "nse": {"width": 5, "units": 6, "steps": 3},
    "ntm": {"units": 6, "slots": 4, "width": 5, "heads": 2},
    "qrn": {"width": 5},
    "window-memory": {"width": 5},
}
"""Settings that make a network of each kind small."""
PROCESSES = "entnet.models.processes."
HEAR_QUESTIONS = {"dnc", "ntm"}
"""Kinds for which a story's earlier questions are part of what is read, as in their papers."""
SMALL = {"width": 5, "slots": 3, "units": 6}
"""The same for networks in files of one's own, where they have such settings."""

STORIES = make_stories(6, seed=1, sentences=4) + make_stories(3, seed=2, sentences=7)
VOCAB = Vocab.build(story_words(STORIES))
LENGTH = longest_sentence(STORIES)


def own_files() -> Iterator[str]:
    """Kinds in files of one's own: ENTNET_MODEL_FILE=mine.py pytest tests/models/test_every_model.py"""
    for file in filter(None, os.environ.get("ENTNET_MODEL_FILE", "").split(os.pathsep)):
        yield from load_model_file(file)


KINDS = list(own_files()) or sorted(TINY)
every_kind = pytest.mark.parametrize("kind", KINDS)


def build(kind: str, seed: int = 1, vocab: Vocab = VOCAB, **options: Any) -> StoryModel:
    """A small network, its parameters away from where they start, so that each one matters."""
    network = model_class(kind)
    sizes = {"vocabulary": len(vocab), "sentence_length": LENGTH}
    small = TINY.get(kind) or {
        field.name: SMALL[field.name]
        for field in dataclasses.fields(network.config_class)
        if field.name in SMALL
    }
    config = network.config_class.from_dict({**sizes, **small, **options})
    torch.manual_seed(seed)
    model = network(config, vocab)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    model.after_update()
    return model.eval()


def corpus_for(model: StoryModel, stories: list[Story] = STORIES) -> Corpus:
    """Stories in numbers; where candidates come with the stories, one question each."""
    if model.keys_per_story:
        stories = [Story(story.sentences, story.questions[-1:]) for story in stories]
    corpus = Corpus.encode(stories, VOCAB, LENGTH)
    if model.keys_per_story:
        dice = np.random.default_rng(5)
        words = np.arange(1, len(VOCAB))
        drawn = [dice.permutation(words)[: model.keys_per_story] for _ in stories]
        corpus.story_keys = np.stack(drawn)
        if model.answers == "candidates":  # one that stands in the story, as in the benchmark
            told = np.split(corpus.words, corpus.story_offsets[1:-1])
            there = [np.isin(keys, said) for keys, said in zip(drawn, told, strict=True)]
            corpus.answers = np.array([dice.choice(np.flatnonzero(held)) for held in there])
    return corpus


def batch_of(model: StoryModel, stories: list[Story] = STORIES) -> RaggedBatch:
    entries = corpus_for(model, stories).entries()
    return entries.batch(np.arange(len(entries)))


def scores_of(model: StoryModel, batch: RaggedBatch) -> Tensor:
    with torch.no_grad():
        scores: Tensor = model(batch)
    return scores


def test_every_kind_of_the_package_is_here() -> None:
    if sorted(TINY) != KINDS:
        pytest.skip("this run is for a file of one's own")
    own = {kind for kind in kinds() if model_class(kind).__module__.startswith("entnet.")}
    # Networks of processes read paragraphs with spans, not stories; tests/models/processes is theirs.
    own = {kind for kind in own if not model_class(kind).__module__.startswith(PROCESSES)}
    assert own == set(TINY)


@every_kind
def test_shapes(kind: str) -> None:
    model = build(kind)
    batch = batch_of(model)
    answers = len(VOCAB) if model.answers == "vocabulary" else model.keys_per_story
    losses, scores = model.loss(batch)
    assert scores.shape == (batch.questions, answers or model.slot_count)
    assert losses.shape == (batch.questions,)
    assert bool((losses > 0).all())
    assert scores_of(model, batch).shape == scores.shape


@every_kind
def test_gradients_are_right(kind: str) -> None:
    """Every parameter's, in double precision, against differences."""
    model = build(kind).double()
    batch = batch_of(model, STORIES[:2] + STORIES[-1:])
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    values = [model.get_parameter(name).detach().requires_grad_() for name in names]

    def loss(*parameters: Tensor) -> Tensor:
        named = dict(zip(names, parameters, strict=True))
        scores: Tensor = torch.func.functional_call(model, named, (batch,))
        return torch.nn.functional.cross_entropy(scores, batch.answers, reduction="sum")

    assert torch.autograd.gradcheck(loss, values, fast_mode=True)
    model.loss(batch)[0].sum().backward()
    unused = [name for name in names if model.get_parameter(name).grad is None]
    assert not unused, "parameters that the loss does not depend on"


@every_kind
def test_stories_do_not_see_each_other(kind: str) -> None:
    """In one batch or one by one, in any order, beside longer ones: the same scores."""
    model = build(kind)
    entries = corpus_for(model).entries()
    together = scores_of(model, entries.batch(np.arange(len(entries))))
    alone = [scores_of(model, entries.batch(np.array([i]))) for i in range(len(entries))]
    torch.testing.assert_close(torch.cat(alone), together, rtol=1e-4, atol=1e-5)
    order = np.random.default_rng(1).permutation(len(entries))
    shuffled = scores_of(model, entries.batch(order))
    wanted = torch.cat([alone[i] for i in order])
    torch.testing.assert_close(shuffled, wanted, rtol=1e-4, atol=1e-5)


@every_kind
def test_later_sentences_are_not_seen_by_earlier_questions(kind: str) -> None:
    model = build(kind, memory_limit=None)
    entries = corpus_for(model).entries("question")
    if model.keys_per_story:  # their only question is at the end
        pytest.skip("questions of candidates are asked once all is read")
    if kind in HEAR_QUESTIONS:
        pytest.skip("it hears a story's earlier questions")
    alone = scores_of(model, entries.batch(np.arange(len(entries))))
    torch.testing.assert_close(alone, scores_of(model, batch_of(model)), rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def loaded_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[float]]]:
    """Scores of saved networks, by kind, in a process that imported nothing but the package."""
    root = tmp_path_factory.mktemp("saved")
    for kind in KINDS:
        model = build(kind)
        model.save_pretrained(root / kind)
        torch.save(batch_of(model), root / kind / "batch.pt")
    program = """
import json, os, sys, torch, entnet
torch.set_num_threads(1)
scores = {}
for file in filter(None, os.environ.get("ENTNET_MODEL_FILE", "").split(os.pathsep)):
    from entnet.models import load_model_file
    load_model_file(file)
for path in sys.argv[1:]:
    model = entnet.StoryModel.from_pretrained(path)
    batch = torch.load(path + "/batch.pt", weights_only=False)
    scores[model.config.kind] = model(batch).tolist()
print(json.dumps(scores))
"""
    # The least usual first: what a name means must not depend on what was loaded before.
    places = [str(root / kind) for kind in reversed(KINDS)]
    done = subprocess.run(
        [sys.executable, "-c", program, *places], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    scores: dict[str, list[list[float]]] = json.loads(done.stdout)
    return scores


@every_kind
def test_it_is_the_same_in_a_fresh_process(
    kind: str, loaded_elsewhere: dict[str, list[list[float]]]
) -> None:
    model = build(kind)
    wanted = scores_of(model, batch_of(model))
    torch.testing.assert_close(torch.tensor(loaded_elsewhere[kind]), wanted, rtol=1e-4, atol=1e-5)


@every_kind
def test_updates_lower_the_loss(kind: str) -> None:
    model = build(kind)
    engine, batch = choose_engine(model, TrainConfig()), batch_of(model)
    losses = [engine.step(batch, 0.01).loss for _ in range(30)]
    assert losses[-1] < 0.9 * losses[0]


@every_kind
def test_scores_and_weights_are_left_alone_by_evaluation(kind: str) -> None:
    model = build(kind)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    entries = corpus_for(model).entries()
    first, second = (score(TorchEngine(model, TrainConfig()), entries) for _ in range(2))
    assert first.predictions.tolist() == second.predictions.tolist()
    assert first.loss == second.loss
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name


@every_kind
def test_a_killed_run_ends_with_the_same_weights(kind: str, tmp_path: Path) -> None:
    corpus = corpus_for(build(kind))
    data = RunData(corpus, corpus, corpus)
    config = TrainConfig(epochs=4, batch_size=4)

    def run(name: str) -> Run:
        return Run(tmp_path / name, lambda: build(kind), data, config, checkpoint_seconds=0)

    whole = run("whole").train()
    interrupt(run("killed"), 3)
    again = run("killed").train()
    weights = [
        (tmp_path / n / "last" / "model.safetensors").read_bytes() for n in ("whole", "killed")
    ]
    assert weights[0] == weights[1]
    assert (again["best"], again["last"]) == (whole["best"], whole["last"])


@every_kind
def test_a_tracker_answers_as_the_network_does(kind: str) -> None:
    model = build(kind)
    batch = batch_of(model)
    story, keys = STORIES[0], None
    if model.keys_per_story and batch.story_keys is not None:
        keys = [VOCAB.words[number] for number in batch.story_keys[0].tolist()]
        story = Story(story.sentences, story.questions[-1:])
    tracker = Tracker(model, keys)
    alone = corpus_for(model).entries("question")
    wanted = scores_of(model, alone.batch(np.arange(len(alone)))).softmax(-1)
    first = 1 if model.answers == "vocabulary" else 0
    read = 0
    for number, question in enumerate(story.questions):
        tracker.read_sentences(story.sentences[read : question.after])
        read = question.after
        answer = tracker.ask(question.text)
        assert answer.probability == pytest.approx(float(wanted[number, first:].max()), rel=1e-3)
    assert len(tracker.slots()) == len(answer.attention) == model.slot_count
    twin = Tracker(model, keys)
    twin.restore(tracker.snapshot())
    assert twin.ask(question.text) == answer
    tracker.reset()
    tracker.ask(question.text)  # nothing read is no error


@every_kind
def test_the_command_line_evaluates_and_asks(kind: str, tmp_path: Path) -> None:
    model = build(kind)
    if model.keys_per_story:
        pytest.skip("it chooses among candidates: the next test")
    model.save_pretrained(tmp_path / "model")
    file = tmp_path / "stories.txt"
    write_babi(file, STORIES)
    place = str(tmp_path / "model")
    done = CliRunner().invoke(app, ["evaluate", place, str(file), "--json"])
    assert done.exit_code == 0, done.output
    wanted = score(TorchEngine(model, TrainConfig()), corpus_for(model).entries(memory_limit=70))
    assert json.loads(done.stdout)["errors"] == wanted.errors
    asked = ["ask", place, "--story", str(file), "--question", "Where is Mary?", "--json"]
    done = CliRunner().invoke(app, [*asked, "--number", "1"])
    assert done.exit_code == 0, done.output
    tracker = Tracker(model)
    tracker.read_sentences(STORIES[0].sentences)
    answer = json.loads(done.stdout)
    assert answer["answer"] == tracker.ask("Where is Mary?").answer
    assert len(answer["attention"]) == model.slot_count


@every_kind
def test_the_command_line_evaluates_what_chooses_among_candidates(
    kind: str, tmp_path: Path
) -> None:
    """On questions of the Children's Book Test, which bring their candidates."""
    if not build(kind).keys_per_story:
        pytest.skip("it answers with words: the test before")
    questions = [trade_question(seed) for seed in range(40)]
    texts = [text for one in questions for text in (*one.sentences, one.query, *one.candidates)]
    model = build(
        kind, vocab=Vocab.build({word for text in texts for word in text.lower().split()})
    )
    model.save_pretrained(tmp_path / "model")
    write_cbt(tmp_path / "questions.txt", questions)
    command = ["evaluate", str(tmp_path / "model"), str(tmp_path / "questions.txt"), "--json"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    said = [NetworkScorer(model).answer(one) for one in questions]
    wrong = sum(answer != one.answer for answer, one in zip(said, questions, strict=True))
    assert json.loads(done.stdout)["errors"] == wrong < 40
