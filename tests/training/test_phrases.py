"""Phrases permuted in batches are what permuting the texts gives."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from entnet import Question, Story, Vocab
from entnet.data.story import Corpus, RaggedBatch, longest_sentence, story_words
from entnet.symmetries.phrases import Phrases
from entnet.symmetries.verify import permute_story
from entnet.training.phrases import PhraseExchange

WHOLE = ("red box", "box of red nails", "blue tin")
THINGS = ("red box", "box of red nails", "box", "tin", "crate")
GROUP = ("red box", "box of red nails", "box", "crate")
FRAMES = ("The {} is here.", "{} fits in the {}.", "Red {} of {}.", "Nails.", "The box of {}.")

things = st.sampled_from(THINGS)
texts = st.builds(
    lambda frame, one, two: frame.format(one, two), st.sampled_from(FRAMES), things, things
)
stories = st.lists(
    st.builds(
        lambda told, asked, answer: Story(tuple(told), (Question(len(told), asked, answer),)),
        st.lists(texts, min_size=1, max_size=4),
        texts,
        st.sampled_from(["yes", "crate", "box", "tin", "red box"]),
    ),
    min_size=1,
    max_size=6,
)


def whole_batch(corpus: Corpus) -> RaggedBatch:
    entries = corpus.entries()
    return entries.batch(np.arange(len(entries)))


def draws(exchange: PhraseExchange, count: int, seed: int) -> list[dict[str, str]]:
    """What the exchange draws from a generator with this seed, as words."""
    generator = np.random.default_rng(seed)
    (group,) = exchange.groups
    images = group[generator.random((count, len(group))).argsort(1)]
    return [
        {exchange.units[a]: exchange.units[b] for a, b in zip(group, row, strict=True)}
        for row in images
    ]


@settings(deadline=None, max_examples=60)
@given(stories, st.integers(0, 2**16))
def test_batches_are_permuted_as_texts_are(told: list[Story], seed: int) -> None:
    vocab = Vocab.build(story_words(told) | set(" ".join(THINGS).split()))
    length = longest_sentence(told)
    exchange = PhraseExchange(WHOLE, (GROUP,), vocab)
    got = exchange(whole_batch(Corpus.encode(told, vocab, length)), np.random.default_rng(seed))
    expected = []
    for story, mapping in zip(told, draws(exchange, len(told), seed), strict=True):
        permuted = permute_story(story, mapping, Phrases(frozenset(WHOLE)))
        fits = longest_sentence([permuted]) <= length and permuted.questions[0].answer in vocab
        expected.append(permuted if fits else story)
    wanted = whole_batch(Corpus.encode(expected, vocab, length))
    assert torch.equal(got.words, wanted.words)
    assert torch.equal(got.question_words, wanted.question_words)
    assert torch.equal(got.answers, wanted.answers)


def test_a_group_that_the_vocabulary_lacks_changes_nothing() -> None:
    story = Story(("The tin is here.",), (Question(1, "What is here?", "tin"),))
    vocab = Vocab.build(story_words([story]))
    exchange = PhraseExchange(("red box",), (("red box", "crate"),), vocab)
    batch = whole_batch(Corpus.encode([story] * 5, vocab))
    got = exchange(batch, np.random.default_rng(0))
    assert torch.equal(got.words, batch.words)
    assert torch.equal(got.answers, batch.answers)
