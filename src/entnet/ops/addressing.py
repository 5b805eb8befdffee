"""How memory machines find rows of their memory: one short function per equation.

code        letter      shape           meaning
memory      M           (S, N, W)       N slots of W units
keys        k           (S, R, W)       what heads look for
strengths   β           (S, R)          how sharply
weights     w           (S, R, N)       where heads read or write
usage       u           (S, N)          how far each slot is in use
"""

from __future__ import annotations

import torch
from torch import Tensor

EPSILON = 1e-6
"""Keeps the cosine of an empty memory, and the allocation of an unused slot, away from 0 / 0."""

LOG_FLOOR = 1e-16


def content_weights(
    memory: Tensor, keys: Tensor, strengths: Tensor, masks: Tensor | None = None
) -> Tensor:
    """C(M, k, β) = softmax(β cos(k, M_i)); with masks (S, R, W), the cosine of k ⊙ m and M_i ⊙ m."""
    squares = torch.ones_like(keys) if masks is None else masks**2
    dots = (keys * squares) @ memory.mT
    lengths = (squares @ (memory**2).mT + EPSILON).sqrt()
    key_lengths = ((squares * keys**2).sum(-1, keepdim=True) + EPSILON).sqrt()
    cosine = dots / (key_lengths * lengths + EPSILON)
    return (strengths.unsqueeze(-1) * cosine).softmax(-1)


def shifted(weights: Tensor, shift: Tensor) -> Tensor:
    """w̃_i = Σ_j w_{i−j} s_j with shifts (…, 3) of −1, 0 and +1, around the corner."""
    back, stay, on = shift.unsqueeze(-1).unbind(-2)
    return back * weights.roll(-1, -1) + stay * weights + on * weights.roll(1, -1)


def sharpened(weights: Tensor, power: Tensor) -> Tensor:
    """w_i^γ / Σ_j w_j^γ, as a softmax of logarithms."""
    return (power.unsqueeze(-1) * (weights + LOG_FLOOR).log()).softmax(-1)


def retention(free: Tensor, read_weights: Tensor) -> Tensor:
    """ψ = Π_r (1 − f_r w^r_r): what no head frees after having read it. (S, R), (S, R, N) → (S, N)"""
    return (1 - free.unsqueeze(-1) * read_weights).prod(-2)


def used(usage: Tensor, write_weights: Tensor, kept: Tensor) -> Tensor:
    """u ← (u + w − u w) ψ"""
    return (usage + write_weights - usage * write_weights) * kept


def allocation(usage: Tensor) -> Tensor:
    """a[φ_j] = (1 − u[φ_j]) Π_i<j u[φ_i], where φ sorts slots by usage, least first. (S, N) → (S, N)

    The order is taken as constant by the gradient.
    """
    floored = EPSILON + (1 - EPSILON) * usage
    order = floored.detach().sort(dim=-1, stable=True).indices
    least_first = floored.gather(-1, order)
    before = torch.cat([torch.ones_like(least_first[:, :1]), least_first[:, :-1]], -1).cumprod(-1)
    return torch.zeros_like(usage).scatter(-1, order, (1 - least_first) * before)


def linked(links: Tensor, precedence: Tensor, write_weights: Tensor) -> Tensor:
    """L_ij ← (1 − w_i − w_j) L_ij + w_i p_j, its diagonal 0. (S, N, N)"""
    to, by = write_weights.unsqueeze(-1), write_weights.unsqueeze(-2)
    updated = (1 - to - by) * links + to * precedence.unsqueeze(-2)
    return updated * (1 - torch.eye(links.shape[-1], dtype=links.dtype, device=links.device))


def sharper(weights: Tensor, power: Tensor) -> Tensor:
    """((d + ε) / max (d + ε))^s, scaled to sum 1 (Csordás and Schmidhuber 2019)."""
    return (power.unsqueeze(-1) * (weights + EPSILON).log()).softmax(-1)
