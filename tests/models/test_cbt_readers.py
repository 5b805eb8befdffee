"""Readers of the Children's Book Test: what attention and the pointer sum must be, and what is shared."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from cbt_questions import trade_question
from entnet.config import TrainConfig
from entnet.data.cbt.format import CbtQuestion
from entnet.data.cbt.passages import encode_passages
from entnet.data.cbt.windows import with_oov_rows
from entnet.data.story import RaggedBatch
from entnet.models.base import model_class
from entnet.models.readers.epireader import EpiReader
from entnet.models.readers.gated_attention import GatedAttention
from entnet.models.readers.nse import NSE, halting
from entnet.models.readers.passage import PassageReader, distinct_rows
from entnet.models.readers.pointer import PointerReader
from entnet.models.readers.recurrent import RecurrentEntNet, occurrences
from entnet.training.engine import TorchEngine

SMALL = {
    "as": {"units": 6},
    "ga": {"units": 6, "layers": 2},
    "aoa": {"units": 6},
    "nse": {"units": 6, "steps": 3},
}
PROPOSER = {"units": 6, "filters": 4, "sentence_units": 3, "proposals": 10}
READERS = {**SMALL, "epireader": PROPOSER, "entnet-recurrent": {"width": 12, "classes": 6}}
QUESTIONS = [trade_question(seed) for seed in range(5)]


def twice(question: CbtQuestion) -> CbtQuestion:
    """The same story, asked for another of its persons, one of whom it names again."""
    name = question.candidates[3]
    told = (*question.sentences[:15], f"{name} slept .", *question.sentences[16:])
    return replace(question, sentences=told)


PASSAGES, VOCAB = encode_passages(
    [
        twice(QUESTIONS[0]),
        replace(twice(QUESTIONS[0]), query="then the XXXXX spoke again .", answer="Namea")
        if "Namea" in QUESTIONS[0].candidates
        else replace(twice(QUESTIONS[0]), query="then the XXXXX spoke again ."),
        *QUESTIONS[1:],
    ],
    least=1,
)
EVERYTHING = np.arange(len(PASSAGES))


def reader(kind: str, **options: object) -> PassageReader:
    network = model_class(kind)
    assert issubclass(network, PassageReader)
    words = with_oov_rows(VOCAB, 4)
    torch.manual_seed(1)
    values = {"width": 8, "embedding_scale": 0.5, **READERS[kind], **options}
    model = network(network.config_class.from_dict({**values, "vocabulary": len(words)}), words)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.after_update()
    return model.eval()


def pointer(kind: str, **options: object) -> PointerReader:
    model = reader(kind, **options)
    assert isinstance(model, PointerReader)
    return model


every_reader = pytest.mark.parametrize("kind", sorted(READERS))
every_pointer = pytest.mark.parametrize("kind", sorted(SMALL))


@torch.no_grad()
def scores(model: PassageReader, batch: RaggedBatch) -> Tensor:
    found: Tensor = model(batch)
    return found


@every_pointer
@torch.no_grad()
def test_attention_sums_to_one_over_the_words_that_are_there(kind: str) -> None:
    model = pointer(kind)
    documents = model.documents(PASSAGES.batch(EVERYTHING, 4))
    assert len(documents.told.lengths) == len(PASSAGES) - 1  # two questions share theirs
    weights = model.attention(documents)
    torch.testing.assert_close(weights.sum(1), torch.ones(len(PASSAGES)))
    assert bool((weights[~documents.there] == 0).all())
    assert bool((weights >= 0).all())


@every_pointer
@torch.no_grad()
def test_a_candidate_has_the_attention_of_all_places_where_it_stands(kind: str) -> None:
    model, batch = pointer(kind), PASSAGES.batch(EVERYTHING, 4)
    keys = batch.story_keys
    assert keys is not None
    weights = model.attention(model.documents(batch))
    p = scores(model, batch).exp()
    for number in range(len(PASSAGES)):
        told = batch.words[20 * number : 20 * (number + 1)]
        words = told[told != 0].tolist()
        for slot, key in enumerate(keys[number].tolist()):
            places = [place for place, word in enumerate(words) if word == key]
            wanted = float(weights[number, places].sum())
            assert float(p[number, slot]) == pytest.approx(wanted, abs=1e-6)
    assert max(words.count(key) for key in keys[-1].tolist()) == 1


@every_reader
def test_permuting_the_candidates_permutes_their_scores(kind: str) -> None:
    model, batch = reader(kind), PASSAGES.batch(EVERYTHING, 4)
    assert batch.story_keys is not None
    order = torch.from_numpy(np.random.default_rng(1).permutation(10))
    changed = dataclasses.replace(batch, story_keys=batch.story_keys[:, order])
    wanted = scores(model, batch)[:, order]
    torch.testing.assert_close(scores(model, changed), wanted, rtol=1e-4, atol=1e-5)
    assert float(wanted.std(1).min()) > 1e-4


@every_reader
def test_a_question_is_answered_alone_as_among_others(kind: str) -> None:
    """Padding, shared documents and shared sentences change nothing."""
    model = reader(kind)
    together = scores(model, PASSAGES.batch(EVERYTHING, 4))
    alone = [scores(model, PASSAGES.batch(EVERYTHING[n : n + 1], 4)) for n in EVERYTHING]
    torch.testing.assert_close(torch.cat(alone), together, rtol=1e-4, atol=1e-5)


@every_reader
def test_gradients_of_questions_that_share_a_document_are_those_of_each_by_itself(
    kind: str,
) -> None:
    model = reader(kind)

    def gradients(*chosen: int) -> dict[str, Tensor]:
        model.zero_grad()
        losses, _ = model.loss(PASSAGES.batch(np.array(chosen), 4))
        torch.autograd.backward(losses.sum())
        return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}

    together, first, second = gradients(0, 1), gradients(0), gradients(1)
    assert together.keys() == first.keys()
    for name, gradient in together.items():
        torch.testing.assert_close(gradient, first[name] + second[name], rtol=1e-3, atol=1e-5)
    assert any(float(gradient.abs().max()) > 1e-3 for gradient in together.values())


@every_reader
def test_a_reader_learns_which_trade_a_person_has(kind: str) -> None:
    """The query names one of ten trades; the person stands beside it in the story."""
    questions = [trade_question(seed) for seed in range(64)]
    passages, vocab = encode_passages(questions, VOCAB)
    assert vocab is VOCAB
    model = reader(kind, **({"width": 32} if kind == "entnet-recurrent" else {"units": 16}))
    engine = TorchEngine(model, TrainConfig(optimizer="adam", loss="mean", max_grad_norm=10.0))
    batch = passages.batch(np.arange(64), 4)
    steps = 0
    while engine.step(batch, 0.02).errors and steps < 80:
        steps += 1
    assert steps < 80


def test_one_layer_asked_at_the_blank_is_an_attention_sum() -> None:
    """GA with K = 1 differs from the AS Reader only in where the query is read."""
    ga, batch = pointer("ga", layers=1), PASSAGES.batch(EVERYTHING, 4)
    assert isinstance(ga, GatedAttention)
    documents = ga.documents(batch)
    d = documents.by_question(ga.document[0](documents.table, *documents.told))
    q = ga.query[0](documents.table, *documents.asked)[documents.blank]
    wanted = (d @ q.unsqueeze(2)).squeeze(2).masked_fill(~documents.there, -torch.inf).softmax(1)
    torch.testing.assert_close(ga.attention(documents), wanted)
    words = with_oov_rows(VOCAB, 4).words
    spoken = [words[n] for n in batch.question_words[batch.question_words != 0].tolist()]
    assert [spoken[place] for place in documents.blank.tolist()] == ["xxxxx"] * len(PASSAGES)


@pytest.mark.parametrize("options", [{"gate": "query"}, {"query_words": True}, {"layers": 3}])
def test_every_form_of_gated_attention_is_a_reader(options: dict[str, object]) -> None:
    model, batch = pointer("ga", **options), PASSAGES.batch(EVERYTHING, 4)
    losses, _ = model.loss(batch)
    losses.sum().backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert float(parameter.grad.abs().sum()) > 0, name


def test_the_loss_can_be_taken_over_the_whole_document() -> None:
    batch = PASSAGES.batch(EVERYTHING, 4)
    whole, found = pointer("as", loss="document").loss(batch)
    among, _ = pointer("as").loss(batch)
    p = found.detach().exp()
    answer = p[torch.arange(len(p)), batch.answers]
    torch.testing.assert_close(whole.detach(), -answer.log())
    torch.testing.assert_close(among.detach(), -(answer / p.sum(1)).log())


def test_rounds_count_as_far_as_none_before_them_has_halted() -> None:
    e = torch.tensor([[0.5, 0.5, 0.9], [1.0, 0.3, 0.2], [0.0, 0.0, 0.0]])
    wanted = torch.tensor([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    torch.testing.assert_close(halting(e), wanted)
    torch.testing.assert_close(halting(e[:, :1]), torch.ones(3, 1))
    model = pointer("nse")
    assert isinstance(model, NSE)
    looked, counts = model.rounds(model.documents(PASSAGES.batch(EVERYTHING, 4)))
    torch.testing.assert_close(looked.sum(2), torch.ones(len(PASSAGES), 3))
    torch.testing.assert_close(counts.sum(1), torch.ones(len(PASSAGES)))


def test_one_round_is_the_first_of_many_and_counts_alone() -> None:
    model = pointer("nse", steps=1)
    more = pointer("nse", steps=3)
    assert isinstance(model, NSE)
    assert isinstance(more, NSE)
    documents = model.documents(PASSAGES.batch(EVERYTHING, 4))
    looked, counts = model.rounds(documents)
    torch.testing.assert_close(counts, torch.ones(len(PASSAGES), 1))
    again, _ = more.rounds(documents)
    torch.testing.assert_close(again[:, :1], looked)
    torch.testing.assert_close(model.attention(documents), looked[:, 0])


# The EpiReader.


def epireader(**options: object) -> EpiReader:
    model = reader("epireader", **options)
    assert isinstance(model, EpiReader)
    return model


def test_a_reasoner_that_finds_all_equal_leaves_the_order_of_the_extractor() -> None:
    model, batch = epireader(), PASSAGES.batch(EVERYTHING, 4)
    with torch.no_grad():
        model.weigh.weight.zero_()
        found = model.propose(batch)
    p = found.p / found.p.sum(1, keepdim=True)
    torch.testing.assert_close(scores(model, batch).exp(), p, rtol=1e-4, atol=1e-6)


def test_the_answer_is_always_among_what_is_proposed_in_training() -> None:
    model, batch = epireader(proposals=2), PASSAGES.batch(EVERYTHING, 4)
    with torch.no_grad():
        worst = model.propose(batch).p.argmin(1)
        found = model.propose(batch, worst)
    assert bool((found.slots == worst.unsqueeze(1)).any(1).all())
    torch.testing.assert_close(found.pi.sum(1), torch.ones(len(PASSAGES)))
    assert bool((scores(model, batch) > -20).sum(1).eq(2).all())


def test_a_sentence_is_convolved_by_itself() -> None:
    """As torch does it, sentence by sentence with zeros round it, from inputs written out in full."""
    model, batch = epireader(proposals=3), PASSAGES.batch(EVERYTHING, 4)
    with torch.no_grad():
        documents = model.documents(batch)
        slots = model.propose(batch).slots
        keys = batch.story_keys
        assert keys is not None
        candidates = model.embedding[keys.gather(1, slots)]
        got = model._sentences(batch, documents, candidates)
        bodies = model.sentence_filters.permute(2, 1, 0)  # (F, E + 2, W)
        for question in range(len(PASSAGES)):
            query = batch.question_words[question]
            asked = model.embedding[query[query != 0]]
            for number in range(20):
                words = batch.words[20 * question + number]
                e = model.embedding[words[words != 0]]
                near = (e @ asked.T).amax(1, keepdim=True)
                for place, candidate in enumerate(candidates[question]):
                    x = torch.cat([e, e @ candidate.unsqueeze(1), near], 1).T.unsqueeze(0)
                    made = torch.nn.functional.conv1d(x, bodies, model.sentence_bias, padding=1)
                    wanted = made.relu().amax(2).squeeze(0)
                    torch.testing.assert_close(
                        got[question, number, place], wanted, rtol=1e-4, atol=1e-5
                    )


def test_a_hypothesis_is_the_query_with_a_candidate_in_the_blank() -> None:
    """As torch convolves it, written out in full for every candidate."""
    model, batch = epireader(proposals=3, window=5), PASSAGES.batch(EVERYTHING, 4)
    with torch.no_grad():
        documents = model.documents(batch)
        keys = batch.story_keys
        assert keys is not None
        candidates = model.embedding[keys.gather(1, model.propose(batch).slots)]
        got = model._hypotheses(documents, candidates)
        bodies = model.hypothesis_filters.permute(2, 1, 0)  # (F, E, W)
        for question in range(len(PASSAGES)):
            query = batch.question_words[question]
            query = query[query != 0]
            blank = int((query == model.blank).nonzero())
            for place, candidate in enumerate(candidates[question]):
                words = model.embedding[query].clone()
                words[blank] = candidate
                made = torch.nn.functional.conv1d(
                    words.T.unsqueeze(0), bodies, model.hypothesis_bias, padding=2
                )
                wanted = made.relu().amax(2).squeeze(0)
                torch.testing.assert_close(got[question, place], wanted, rtol=1e-4, atol=1e-5)


# The recurrent EntNet.


def slots_of(model: PassageReader, batch: RaggedBatch) -> list[Tensor]:
    """What a network's memory holds when its questions are asked."""
    assert isinstance(model, RecurrentEntNet)
    caught: list[Tensor] = []
    scan = model.memory.scan
    model.memory.scan = lambda *args: caught.append(scan(*args)) or caught[-1]  # type: ignore
    scores(model, batch)
    return caught


def test_nothing_of_the_query_or_of_what_follows_reaches_the_memory() -> None:
    """Another query, other words behind the blank: the slots are the same to the bit."""
    batch = PASSAGES.batch(EVERYTHING, 4)
    other = dataclasses.replace(batch, question_words=batch.question_words.flip(0))
    (before,), (after,) = (slots_of(reader("entnet-recurrent"), b) for b in (batch, other))
    assert torch.equal(before, after)
    # A sentence after the question, in the same batch, does not reach it either.
    question = PASSAGES.batch(np.array([3]), 4)
    told = torch.cat([question.words, question.words[:5]])
    longer = dataclasses.replace(question, words=told, story_offsets=torch.tensor([0, len(told)]))
    (before,), (after,) = (slots_of(reader("entnet-recurrent"), b) for b in (question, longer))
    torch.testing.assert_close(before, after, rtol=0, atol=0)
    # But the story does.
    changed = dataclasses.replace(batch, words=batch.words.roll(1, 1))
    (third,) = slots_of(reader("entnet-recurrent"), changed)
    assert not torch.equal(slots_of(reader("entnet-recurrent"), batch)[0], third)


def test_a_sentence_is_encoded_once_however_many_stories_it_stands_in() -> None:
    model, seen = reader("entnet-recurrent"), []
    assert isinstance(model, RecurrentEntNet)
    model.encoder.register_forward_hook(lambda _, given, __: seen.append(given[2].tolist()))
    batch = PASSAGES.batch(EVERYTHING[:2], 4)  # two questions about the same story
    scores(model, batch)
    told = {tuple(row) for row in batch.words.tolist()}
    queries = (batch.question_words != 0).sum(1).tolist()
    assert len(told) == 12  # ten persons, one of whom slept, and rain
    assert seen[0][: len(told)] == [
        len([n for n in row if n]) for row in dict.fromkeys(map(tuple, batch.words.tolist()))
    ]
    assert seen[0][len(told) :] == queries


def test_a_slot_knows_how_long_ago_and_how_often_its_candidate_was_named() -> None:
    """With these vectors alone, and a question that asks for nothing else, the scores say so."""
    model, batch = reader("entnet-recurrent"), PASSAGES.batch(EVERYTHING[:1], 4)
    assert isinstance(model, RecurrentEntNet)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.question.state.bias[0] = 1.0
        model.recency[:, 0] = torch.arange(21.0)
        plain = scores(model, batch)[0]
        model.count[:, 0] = 100.0 * torch.arange(11.0)
        counted = scores(model, batch)[0] - plain
    keys = batch.story_keys
    assert keys is not None
    for slot, key in enumerate(keys[0]):
        here = (batch.words == key).any(1).nonzero().squeeze(1)
        assert float(plain[slot]) == 19 - int(here.max())
        assert float(counted[slot]) == 100 * int((batch.words == key).sum())


def test_a_tally_says_how_often_a_candidate_stood_in_each_class_of_places() -> None:
    model, batch = reader("entnet-recurrent"), PASSAGES.batch(EVERYTHING[:2], 4)
    assert isinstance(model, RecurrentEntNet)
    assert model.tally is not None
    keys = batch.story_keys
    assert keys is not None
    found = occurrences(batch, keys)
    tally = model.tally
    with torch.no_grad():
        places, questions = torch.randn(len(found.row), 24), torch.randn(2, 24)
        counts = tally.read(places, found, keys.shape)
        asked = tally.ask(questions, counts)
        shares = tally.place(places).softmax(1)
        for story, slot in np.ndindex(2, 10):
            here = found.of[:, slot] & (found.story == story)
            torch.testing.assert_close(counts[story, slot], shares[here].sum(0))
            if not here.any():
                assert float(asked[story, slot]) == 0
                continue
            of_each = shares[here] @ tally.query(questions[story]).exp()
            assert float(asked[story, slot]) == pytest.approx(float(of_each.mean().log()), abs=1e-4)
        # Training begins with no class saying more than another.
        for parameter in tally.query.parameters():
            parameter.zero_()
        assert float(tally.ask(questions, counts).abs().max()) < 1e-5


def test_each_distinct_row_is_given_once_in_the_order_in_which_they_are_met() -> None:
    given = torch.tensor([[3, 1], [2, 2], [3, 1], [0, 5], [2, 2]])
    distinct, which = distinct_rows(given)
    assert distinct.tolist() == [[3, 1], [2, 2], [0, 5]]
    assert which.tolist() == [0, 1, 0, 2, 1]
