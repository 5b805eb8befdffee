"""(1)  s = Σ_i f_i ⊙ e_i: from the words of a sentence to one vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from entnet.config import EntNetConfig
from entnet.models.layers import position_encoding


def encode(words: Tensor, embedding: Tensor, mask: Tensor | None) -> Tensor:
    """Sum the words' embeddings, each weighed by its position's mask; no mask is a bag of words.

    words (N, L), embedding (|V|, d), mask (L, d) → (N, d). The null word embeds as zero and adds nothing.
    """
    e = nn.functional.embedding(words, embedding)  # (N, L, d)
    return e.sum(1) if mask is None else (e * mask).sum(1)


class Encoder(nn.Module):
    """The masks of (1): for sentences, for questions, and, by option, for the gate alone."""

    story_mask: Tensor | None
    question_mask: Tensor | None
    gate_mask: Tensor | None

    def __init__(self, config: EntNetConfig) -> None:
        super().__init__()
        shape = (config.sentence_length, config.width)
        self.story_mask = self.question_mask = self.gate_mask = None
        if config.encoder == "position":
            fixed = position_encoding(*shape)
            self.register_buffer("fixed_mask", fixed, persistent=False)
        elif config.encoder == "mask":
            self.story_mask = nn.Parameter(torch.ones(shape))
            if config.separate_masks:
                self.question_mask = nn.Parameter(torch.ones(shape))
            if config.separate_encoders:
                self.gate_mask = nn.Parameter(torch.ones(shape))
            if config.mask_init == "normal":
                nn.init.normal_(self.story_mask, std=config.weight_scale)
                if self.gate_mask is not None:
                    nn.init.normal_(self.gate_mask, std=config.weight_scale)
            for mask in (self.story_mask, self.gate_mask):
                if mask is not None and config.context_size:
                    # What stands beside a sentence counts for nothing until it is learnt what for.
                    nn.init.zeros_(mask.data[config.longest_sentence :])
        self.kind = config.encoder

    def mask_for_story(self) -> Tensor | None:
        return self._fixed() if self.story_mask is None else self.story_mask

    def mask_for_question(self) -> Tensor | None:
        return self.mask_for_story() if self.question_mask is None else self.question_mask

    def mask_for_gate(self) -> Tensor | None:
        return self.mask_for_story() if self.gate_mask is None else self.gate_mask

    def _fixed(self) -> Tensor | None:
        return self.get_buffer("fixed_mask") if self.kind == "position" else None
