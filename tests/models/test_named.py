"""Slots that a story names: the stream grows them as the batch does, and nothing happens before."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from entnet.config import ConfigError, EntNetConfig
from entnet.data.story import Question, Story
from entnet.models.base import encode_stories
from random_batches import NAMED, random_batch, random_network

TOLD = ("w1 w20 w25", "w22 w24", "w23 w2 w26", "w1 w24 w2 w25", "w22 w3")


@pytest.mark.parametrize("slots", [3, 40])
def test_a_stream_answers_as_the_batch_does(slots: int) -> None:
    model = random_network({**NAMED, "slots": slots}).eval()
    batch = random_batch(model.config, seed=5, stories=4, questions=12)
    with torch.inference_mode():
        wanted = model(batch)
        for i, story in enumerate(batch.question_story.tolist()):
            state = model.initial_state()
            first, last = int(batch.story_offsets[story]), int(batch.question_step[i])
            for words in batch.words[first : last + 1]:
                state, gates = model.step(state, words.unsqueeze(0))
                assert gates.shape[1] == state.memory.shape[1] == len(state.named) <= slots
            got = model.read(state, batch.question_words[i : i + 1]).scores
            torch.testing.assert_close(got, wanted[i : i + 1], rtol=1e-4, atol=1e-5)


def test_a_slot_is_for_whom_is_named_and_keeps_its_place() -> None:
    model = random_network(NAMED).eval()
    state = model.initial_state()
    with torch.inference_mode():
        for words in ([20, 3, 25, 0, 0, 0], [7, 3, 21, 0, 0, 0], [22, 0, 0, 0, 0, 0]):
            state, _ = model.step(state, torch.tensor([words]))
    assert state.named == (3, 7)
    assert torch.equal(state.keys[0], model.embedding.detach()[[3, 7]])


SEVERAL = {**NAMED, "key_slots": (1, 3, 2, *(1 for _ in range(8))), "slots": 5}


def test_a_word_has_all_of_its_slots_or_none() -> None:
    model = random_network(SEVERAL).eval()
    state = model.initial_state()
    with torch.inference_mode():
        for words in ([2, 1, 0, 0, 0, 0], [3, 2, 0, 0, 0, 0], [4, 3, 0, 0, 0, 0]):
            state, _ = model.step(state, torch.tensor([words]))
    # Two slots for w3 were too many for the one that was left.
    assert state.named == (2, 2, 2, 1, 4)
    ordinals = model.memory.ordinals
    assert ordinals is not None
    wanted = model.embedding[[2, 2, 2, 1, 4]].detach()
    wanted[1:3] += ordinals.detach()
    torch.testing.assert_close(state.keys[0], wanted)


@pytest.mark.parametrize("seed", range(3))
def test_a_stream_with_several_slots_per_word_answers_as_the_batch_does(seed: int) -> None:
    model = random_network({**SEVERAL, "slots": 4 + 3 * seed}).eval()
    batch = random_batch(model.config, seed=seed, stories=3, questions=9)
    with torch.inference_mode():
        wanted = model(batch)
        for i, story in enumerate(batch.question_story.tolist()):
            state = model.initial_state()
            for row in range(int(batch.story_offsets[story]), int(batch.question_step[i]) + 1):
                state, _ = model.step(state, batch.words[row : row + 1])
            got = model.read(state, batch.question_words[i : i + 1]).scores
            torch.testing.assert_close(got, wanted[i : i + 1], rtol=1e-4, atol=1e-5)


def test_nobody_named_is_an_answer_from_the_question_alone() -> None:
    model = random_network(NAMED).eval()
    question = torch.tensor([[20, 21, 0, 0, 0, 0]])
    with torch.inference_mode():
        reading = model.read(model.initial_state(), question)
    assert reading.attention.shape == (1, 0)
    assert bool(reading.scores.isfinite().all())


@pytest.mark.parametrize(
    "options",
    [
        {"key_words": ()},
        {"gate_bias": True},
        {"output": "slots"},
        {"key_slots": (2, 2)},
        {"key_slots": (0,) * 11},
        {"keys": "free", "key_words": (), "key_slots": (2,)},
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        EntNetConfig(**{**NAMED, "vocabulary": 30, **options})  # type: ignore[arg-type]


CONTEXT = {
    "context_length": 3,
    "sentence_length": 6 + 2 + 4 * 3,
    "context_people": ("w1", "w2"),
    "context_places": ("w25", "w26"),
}


def test_beside_a_sentence_stands_what_was_told_of_its_people() -> None:
    stories = [Story(TOLD, (Question(len(TOLD), "where is w1", "w25"),))]
    model = random_network({**NAMED, **CONTEXT}).eval()
    corpus = encode_stories(stories, model.vocab, model.config)
    words = [[model.vocab.words[n] if n else "" for n in row] for row in corpus.words[:, 6:]]
    parts = [(row[:2], row[2:5], row[5:8], row[8:11], row[11:]) for row in words]
    nothing = ["", "", ""]
    assert parts == [
        (["", ""], nothing, nothing, nothing, nothing),
        # Nobody is named: it is about w1 still.
        (["w1", ""], ["w1", "w20", "w25"], nothing, nothing, nothing),
        (["", ""], nothing, nothing, nothing, nothing),
        # Both are named; the second sentence about w1 told of no place.
        (["", ""], ["w1", "w20", "w25"], nothing, nothing, ["w23", "w2", "w26"]),
        (["w1", "w2"], ["w1", "w24", "w2"], ["w1", "w20", "w25"], nothing, ["w1", "w24", "w2"]),
    ]
    with torch.inference_mode():
        state = model.initial_state()
        for text in TOLD:
            numbers = model.vocab.encode(text.split())
            state, _ = model.step(state, torch.tensor([numbers + [0] * (20 - len(numbers))]))
        wanted = model(corpus.entries().batch(np.array([0])))
        asked = torch.from_numpy(corpus.question_words)
        torch.testing.assert_close(model.read(state, asked).scores, wanted, rtol=1e-4, atol=1e-5)


def test_beside_a_sentence_stands_what_its_people_did_with_things() -> None:
    """w1 and w2 are people, w25 is a place, w3 to w7 are things: of each the last sentence counts."""
    things = [f"w{i}" for i in range(3, 8)]
    options = {**CONTEXT, "context_things": tuple(things), "sentence_length": 6 + 2 + 10 * 3}
    model = random_network({**NAMED, **options}).eval()
    told = ("w1 w20 w3", "w2 w20 w4", "w1 w21 w5", "w1 w22 w3", "w1 w2 w25")
    stories = [Story(told, (Question(len(told), "where is w3", "w25"),))]
    corpus = encode_stories(stories, model.vocab, model.config)
    last = [model.vocab.words[n] if n else "" for n in corpus.words[-1, 6 + 2 + 4 * 3 :]]
    rows = [" ".join(last[i : i + 3]).strip() for i in range(0, len(last), 3)]
    assert rows == ["w1 w22 w3", "w1 w21 w5", "", "", "w2 w20 w4", ""]
    assert (corpus.words[0, 6:] == 0).all()


def test_what_stands_beside_a_sentence_counts_for_nothing_before_training() -> None:
    options = {**NAMED, **CONTEXT, "separate_encoders": True}
    model = random_network(options)
    fresh = type(model)(model.config, model.vocab)
    for mask in (fresh.encoder.story_mask, fresh.encoder.gate_mask):
        assert mask is not None
        assert bool((mask[:6] == 1).all())
        assert bool((mask[6:] == 0).all())
