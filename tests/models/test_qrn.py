"""QRN: its scan in closed form, its gates, and what filling must not change."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from entnet.config import ConfigError
from entnet.data.story import Corpus, RaggedBatch, Story, story_words
from entnet.models.layers import position_encoding
from entnet.models.past import past_of
from entnet.models.qrn import QRN, QRNConfig
from entnet.text import Vocab


def build(stories: list[Story], **options: object) -> QRN:
    torch.manual_seed(0)
    vocab = Vocab.build(story_words(stories))
    values = {"vocabulary": len(vocab), "sentence_length": 5, "width": 6, **options}
    return QRN(QRNConfig.from_dict(values), vocab)


def batch_of(model: QRN, stories: list[Story]) -> RaggedBatch:
    entries = Corpus.encode(stories, model.vocab, 5).entries("story")
    return entries.batch(np.arange(len(entries)))


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("reset", [True, False])
def test_gradients_are_right(stories: list[Story], layers: int, reset: bool) -> None:
    model = build(stories, layers=layers, reset=reset, width=3).double()
    batch = batch_of(model, stories[:2])
    names = [name for name, _ in model.named_parameters()]

    def scores(*values: torch.Tensor) -> torch.Tensor:
        given = dict(zip(names, values, strict=True))
        result: torch.Tensor = torch.func.functional_call(model, given, (batch,))
        return result

    assert torch.autograd.gradcheck(scores, tuple(model.parameters()))


def test_step_by_step(stories: list[Story]) -> None:
    """Two layers, one question at a time, as the equations stand."""
    model = build(stories, layers=2)
    batch = batch_of(model, stories)
    scores, past, mask = model(batch), past_of(batch), position_encoding(5, 6)
    for number in range(batch.questions):
        rows = past.rows[number, : int(past.lengths[number])]
        m = (model.embedding[batch.words[rows]] * mask).sum(1)
        u = (model.embedding[batch.question_words[number]] * mask).sum(0).expand_as(m)
        for layer in range(2):
            reduced = torch.tanh(torch.cat([u, m], 1) @ model.W.T + model.bias)
            update, forwards, backwards = ((u * m) @ model.gates.T + model.gate_bias).unbind(1)
            a = (update - 2.5).sigmoid()
            h = [torch.zeros(6)]
            f, b = [torch.zeros(6)], [torch.zeros(6)]
            for i in range(len(rows)):
                j = len(rows) - 1 - i
                h.append(a[i] * reduced[i] + (1 - a[i]) * h[-1])
                f.append(a[i] * forwards[i].sigmoid() * reduced[i] + (1 - a[i]) * f[-1])
                b.append(a[j] * backwards[j].sigmoid() * reduced[j] + (1 - a[j]) * b[-1])
            u = torch.stack(f[1:]) + torch.stack(b[1:]).flip(0)
            if layer == 1:
                torch.testing.assert_close(scores[number], model.R @ h[-1])


def test_filling_and_neighbours_change_nothing(stories: list[Story]) -> None:
    model = build(stories)
    together = model(batch_of(model, stories))
    alone = torch.cat([model(batch_of(model, [story])) for story in stories])
    torch.testing.assert_close(together, alone)


@pytest.mark.parametrize("field", ["width", "layers"])
def test_impossible_values_are_refused(field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        QRNConfig.from_dict({field: 0})
