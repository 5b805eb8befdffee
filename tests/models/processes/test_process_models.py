"""Networks on processes: invariances, what may follow what, and the search for the best grid."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from entnet.config import ConfigError
from entnet.data.propara.encode import (
    TAGS,
    Places,
    ProcessBatch,
    build_vocab,
    collate,
    encode,
    tags_of,
)
from entnet.data.propara.process import Process
from entnet.models import StoryModel, model_class
from entnet.models.processes.base import ProcessModel
from entnet.models.processes.chain import (
    ALIVE,
    CREATE,
    DESTROY,
    MOVE,
    NOT_YET,
    THERE,
    EventChain,
    best_states,
    greedy_states,
)
from entnet.models.processes.tracker import mean_of_others, reversed_rows
from propara_paragraphs import paragraphs

KINDS = ("process-entnet", "process-lstm", "process-qrn", "process-tracker")
PARTS_OUT: dict[str, dict[str, object]] = {
    "no encoder": {"words": "alone"},
    "one way": {"both_ways": False},
    "gru one way": {"memory": "gru", "both_ways": False},
    "no others": {"others": False},
    "names of places": {"place_context": False},
    "no chain": {"chain": False},
}
"""The tracker with one of its parts left out."""
SYSTEMS = [*KINDS, *PARTS_OUT]
PROCESSES = paragraphs(5)
VOCAB = build_vocab(PROCESSES)
PLACES = Places.count(PROCESSES)


def network(kind: str, **changes: object) -> ProcessModel:
    """A kind of network, or the tracker without one of its parts."""
    torch.manual_seed(1)
    if kind in PARTS_OUT:
        kind, changes = "process-tracker", {**PARTS_OUT[kind], **changes}
    owner = model_class(kind)
    table = torch.from_numpy(PLACES.table(VOCAB))
    size = {"vocabulary": len(VOCAB), "known_places": len(table)}
    model = owner(
        owner.config_class.from_dict({"width": 16, "embedding_width": 16, **size, **changes}), VOCAB
    )
    assert isinstance(model, ProcessModel)
    model.get_buffer("place_table").copy_(table)
    return model.eval()


def batch(processes: list[Process]) -> ProcessBatch:
    return collate([encode(one, VOCAB, PLACES) for one in processes])


@pytest.mark.parametrize("kind", SYSTEMS)
def test_scores_do_not_depend_on_the_other_paragraphs(kind: str) -> None:
    """Neither on how far words and candidates are filled up."""
    long = replace(
        PROCESSES[1],
        sentences=tuple(f"Deep in the old quiet mountain {s}" for s in PROCESSES[1].sentences),
    )
    model = network(kind)
    alone, together = model(batch([PROCESSES[0]])), model(batch([PROCESSES[0], long, PROCESSES[2]]))
    rows, count = alone.places.shape
    torch.testing.assert_close(together.events[:rows], alone.events)
    torch.testing.assert_close(together.places[:rows, :count], alone.places)
    torch.testing.assert_close(together.first_places[:2, :count], alone.first_places)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_participants_may_stand_in_any_order(kind: str) -> None:
    one = PROCESSES[0]
    other = replace(one, participants=one.participants[::-1], states=one.states[::-1])
    model = network(kind)
    a, b = model(batch([one])), model(batch([other]))
    steps = one.steps
    turned = torch.cat((b.events[steps:], b.events[:steps]))
    torch.testing.assert_close(turned, a.events)
    torch.testing.assert_close(b.first_places.flip(0), a.first_places)
    # Predicted grids stand in the order asked for.
    assert (
        model.predict_processes([other])[0].states[::-1] == model.predict_processes([one])[0].states
    )


@pytest.mark.parametrize("kind", SYSTEMS)
def test_every_weight_is_trained(kind: str) -> None:
    model = network(kind).train()
    losses, _ = model.loss(batch(PROCESSES))
    assert losses.shape == (10,)
    torch.autograd.backward(losses.sum())
    unused = {
        name
        for name, weight in model.named_parameters()
        if weight.grad is None or not bool(weight.grad.any())
    }
    assert unused <= {"memory.gate_bias"}, unused


class LossOf(torch.nn.Module):
    """A network's loss as its output, for functional calls."""

    def __init__(self, model: ProcessModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, paragraphs: ProcessBatch) -> torch.Tensor:
        return self.model.loss(paragraphs)[0].sum()


@pytest.mark.parametrize("kind", SYSTEMS)
def test_gradients_are_right(kind: str) -> None:
    """Every parameter's, in double precision, against differences."""
    model, one = network(kind, width=6, embedding_width=6).double(), batch(PROCESSES[:1])
    names = [name for name, _ in model.named_parameters()]
    values = [model.get_parameter(name).detach().requires_grad_() for name in names]

    def loss(*parameters: torch.Tensor) -> torch.Tensor:
        named = {f"model.{name}": value for name, value in zip(names, parameters, strict=True)}
        return torch.func.functional_call(LossOf(model), named, (one,))

    assert torch.autograd.gradcheck(loss, values, fast_mode=True)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_saved_network_predicts_the_same(kind: str, tmp_path: Path) -> None:
    model = network(kind)
    model.save_pretrained(tmp_path)
    loaded = StoryModel.from_pretrained(tmp_path)
    assert isinstance(loaded, ProcessModel)
    assert loaded.places.seen == model.places.seen
    assert loaded.predict_processes(PROCESSES) == model.predict_processes(PROCESSES)


def test_predictions_obey_the_rules_of_existence() -> None:
    """Whatever a network says: nothing moves or ends that is not there."""
    for kind, seed in itertools.product(SYSTEMS, range(3)):
        model = network(kind)
        torch.manual_seed(seed)
        with torch.no_grad():
            for weight in model.parameters():
                weight += torch.randn_like(weight)
            model.embedding[0] = 0
        for process in model.predict_processes(PROCESSES):
            for number, states in enumerate(process.states):
                tags = [TAGS.index(tag) for tag in tags_of(states)]
                assert len(states) == process.steps + 1
                actions = process.actions(number)
                assert [TAGS[t] if t > 2 else "NONE" for t in tags] == actions


def test_the_tracker_s_slots_and_gru_are_both_to_be_had() -> None:
    slots, gru = network("process-tracker"), network("process-tracker", memory="gru")
    assert slots(batch(PROCESSES)).events.shape == gru(batch(PROCESSES)).events.shape
    with pytest.raises(ConfigError, match="slots are as wide as embeddings"):
        network("process-entnet", width=8)


def all_paths(steps: int) -> list[tuple[int, ...]]:
    """Every chain of events that may be."""
    chain = EventChain()
    transition, first = chain.scores()
    return [
        path
        for path in itertools.product(range(len(TAGS)), repeat=steps)
        if first[path[0]] >= 0 and all(transition[a, b] >= 0 for a, b in itertools.pairwise(path))
    ]


def test_chains_of_events() -> None:
    paths = all_paths(2)
    assert (THERE, MOVE) in paths
    assert (DESTROY, CREATE) in paths
    for impossible in ((NOT_YET, MOVE), (DESTROY, MOVE), (CREATE, CREATE), (THERE, NOT_YET)):
        assert impossible not in paths


def test_the_chain_s_loss_is_that_of_all_paths() -> None:
    torch.manual_seed(2)
    chain = EventChain()
    with torch.no_grad():
        chain.transition.normal_()
        chain.first.normal_()
    scores = torch.randn(2, 3, len(TAGS))
    tags = torch.tensor([[NOT_YET, CREATE, MOVE], [THERE, DESTROY, 0]])
    losses = chain.loss(scores, tags, torch.tensor([3, 2]))
    transition, first = chain.scores()
    for number, steps in enumerate((3, 2)):

        def score(path: tuple[int, ...], number: int = number) -> torch.Tensor:
            total = first[path[0]] + scores[number, 0, path[0]]
            for step, (a, b) in enumerate(itertools.pairwise(path), start=1):
                total = total + transition[a, b] + scores[number, step, b]
            return total

        everything = torch.stack([score(path) for path in all_paths(steps)]).logsumexp(0)
        gold = score(tuple(tags[number, :steps].tolist()))
        torch.testing.assert_close(losses[number], everything - gold)


@pytest.mark.parametrize("seed", range(12))
def test_the_best_grid_is_the_best_of_all(seed: int) -> None:
    """The search against every grid of two places and three sentences, scored one by one."""
    rng = np.random.default_rng(seed)
    steps, count = 3, 2
    events = rng.normal(size=(steps, len(TAGS)))
    places = rng.normal(size=(steps, count))
    first_place = rng.normal(size=count)
    chain = EventChain()
    with torch.no_grad():
        chain.transition.copy_(torch.from_numpy(rng.normal(size=(len(TAGS), len(TAGS)))))
        chain.first.copy_(torch.from_numpy(rng.normal(size=len(TAGS))))
        transition, first = (table.double().numpy() for table in chain.scores())

    def score(states: tuple[int, ...]) -> float:
        names = ["-" if state < 0 else str(state) for state in states]
        tags = [TAGS.index(tag) for tag in tags_of(names)]
        total = first[tags[0]] + sum(transition[a, b] for a, b in itertools.pairwise(tags))
        total += sum(events[step, tag] for step, tag in enumerate(tags))
        total += first_place[states[0]] if states[0] >= 0 else 0.0
        return float(total + sum(places[t, s] for t, s in enumerate(states[1:]) if s >= 0))

    best = max(itertools.product(range(-1, count), repeat=steps + 1), key=score)
    found = best_states(events, transition, first, places, first_place)
    assert score(tuple(found)) == pytest.approx(score(best))


def test_greedy_states_take_what_is_impossible_as_nothing() -> None:
    said = [THERE, DESTROY, MOVE, CREATE, MOVE]
    events = np.eye(len(TAGS))[said]
    places = np.eye(3)[[0, 0, 1, 2, 1]]
    assert greedy_states(events, places, np.eye(3)[1]) == [1, 1, -1, -1, 2, 1]
    assert set(ALIVE) == {THERE, CREATE, MOVE}


def test_rows_backwards_and_others() -> None:
    back = reversed_rows(torch.tensor([0, 3, 5]))
    assert back.tolist() == [2, 1, 0, 4, 3]
    assert back[back].tolist() == [0, 1, 2, 3, 4]
    rows = torch.tensor([[1.0], [3.0], [5.0], [7.0]])
    others = mean_of_others(rows, torch.tensor([0, 0, 0, 1]), 2)
    assert others.flatten().tolist() == [4.0, 3.0, 2.0, 0.0]
