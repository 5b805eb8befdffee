"""GRUs as layers: one direction, or both, over sequences that lie end to end."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from entnet.models.layers import Packing, pack
from entnet.ops.gru import gru_scan


def matrix(*shape: int) -> nn.Parameter:
    """Xavier's uniform start; of stacked matrices, each by itself."""
    made = torch.empty(shape)
    for part in made.view(-1, *shape[-2:]):
        nn.init.xavier_uniform_(part)
    return nn.Parameter(made)


def rows(table: Tensor, numbers: Tensor) -> Tensor:
    """Rows of a table; the gradients of a row that is taken often are added up quickly."""
    return nn.functional.embedding(numbers, table)


class GRU(nn.Module):
    """Weights of a GRU from ``width`` inputs to d units, or of an attention GRU, without update gate."""

    def __init__(self, units: int, gates: int = 3, width: int | None = None) -> None:
        super().__init__()
        self.W, self.U = matrix(gates, units, width or units), matrix(gates, units, units)
        self.bias = nn.Parameter(torch.zeros(gates * units))

    def inputs(self, x: Tensor) -> Tensor:
        """W x + b"""
        return torch.addmm(self.bias, x, self.W.flatten(0, 1).T)

    def read(self, inputs: Tensor, lengths: Tensor, attention: Tensor | None = None) -> Tensor:
        """States after every input, sequence by sequence, from zero on."""
        packing = pack(lengths)
        laid = packing.lay(torch.arange(len(inputs), device=inputs.device))
        given = None if attention is None else attention[laid]
        return self.scan(inputs[laid], packing, given)[packing.place]

    def scan(self, inputs: Tensor, packing: Packing, attention: Tensor | None = None) -> Tensor:
        """States after every input, as the sequences are packed."""
        nothing = inputs.new_zeros((len(packing.order), self.U.shape[1]))
        return gru_scan(inputs, self.U.flatten(0, 1), nothing, packing.active, attention)


class BiGRU(nn.Module):
    """[→h ; ←h] at every place: what a sequence is up to there, and what it is from there on."""

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        self.there, self.back = GRU(units, width=width), GRU(units, width=width)
        for gru in (self.there, self.back):
            for U in gru.U.data:
                nn.init.orthogonal_(U)

    def forward(self, table: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """(T, 2H) for sequences of these lengths, whose ``words`` (T) are rows of ``table`` (V, d).

        What a word brings is computed once per row, however often it stands there.
        """
        states = []
        for gru, packing in zip((self.there, self.back), there_and_back(lengths), strict=True):
            inputs = rows(gru.inputs(table), packing.lay(words))
            states.append(rows(gru.scan(inputs, packing), packing.place))
        return torch.cat(states, 1)


def there_and_back(lengths: Tensor) -> tuple[Packing, Packing]:
    """How sequences of these lengths are laid out to be read forwards, and backwards."""
    packing = pack(lengths)
    return packing, packing._replace(place=packing.place[mirrored(lengths)])


def mirrored(lengths: Tensor) -> Tensor:
    """For every place of sequences laid end to end, the place as far from its sequence's other end."""
    first = (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
    last = (lengths.cumsum(0) - 1).repeat_interleave(lengths)
    return first + last - torch.arange(len(first), device=lengths.device)
