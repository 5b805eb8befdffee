"""What may happen after what: a chain of a participant's events (a linear-chain CRF), and the best grid.

What does not exist can be created and nothing else; what exists stays, moves or is destroyed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from entnet.data.propara.encode import TAGS

Floats = NDArray[np.floating[Any]]

NOT_YET, NO_MORE, THERE, CREATE, MOVE, DESTROY = range(len(TAGS))
ALIVE = (THERE, CREATE, MOVE)
"""Tags after which a participant exists."""
NEVER = -1e4
"""The score of what cannot be."""

_FOLLOWS = {
    NOT_YET: (NOT_YET, CREATE),
    NO_MORE: (NO_MORE, CREATE),
    DESTROY: (NO_MORE, CREATE),
    **dict.fromkeys(ALIVE, (THERE, MOVE, DESTROY)),
}
FIRST = (NOT_YET, THERE, CREATE, MOVE, DESTROY)
"""What may happen in the first sentence."""


def allowed() -> Tensor:
    """(tags, tags) 0 where the second may follow the first, else ``NEVER``."""
    table = torch.full((len(TAGS), len(TAGS)), NEVER)
    for before, after in _FOLLOWS.items():
        table[before, list(after)] = 0.0
    return table


def allowed_first() -> Tensor:
    """(tags) the same for the first sentence."""
    row = torch.full((len(TAGS),), NEVER)
    row[list(FIRST)] = 0.0
    return row


class EventChain(nn.Module):
    """Scores of one event after another, learnt; impossible ones are ruled out."""

    def __init__(self) -> None:
        super().__init__()
        self.transition = nn.Parameter(torch.zeros(len(TAGS), len(TAGS)))
        self.first = nn.Parameter(torch.zeros(len(TAGS)))
        self.register_buffer("allowed", allowed(), persistent=False)
        self.register_buffer("allowed_first", allowed_first(), persistent=False)

    def scores(self) -> tuple[Tensor, Tensor]:
        """(tags, tags) and (tags), with what is impossible."""
        return (
            self.transition + self.get_buffer("allowed"),
            self.first + self.get_buffer("allowed_first"),
        )

    def loss(self, scores: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """Negative log-likelihood of R chains: scores (R, T, tags), tags (R, T), lengths (R)."""
        transition, first = self.scores()
        alpha = first + scores[:, 0]
        gold = alpha.gather(1, tags[:, :1]).squeeze(1)
        for step in range(1, scores.shape[1]):
            reads = (lengths > step).unsqueeze(1)
            further = torch.logsumexp(alpha.unsqueeze(2) + transition, 1) + scores[:, step]
            alpha = torch.where(reads, further, alpha)
            moved = transition[tags[:, step - 1], tags[:, step]]
            emitted = scores[:, step].gather(1, tags[:, step : step + 1]).squeeze(1)
            gold = gold + torch.where(reads.squeeze(1), moved + emitted, 0.0)
        return torch.logsumexp(alpha, 1) - gold


def best_states(
    events: Floats, transition: Floats, first: Floats, places: Floats, first_place: Floats
) -> list[int]:
    """The best states of one participant: Viterbi over events and places at once.

    events (T, tags) and places (T, C): scores after each sentence; first_place (C): before the first. A
    state is a candidate's number, or -1 for what does not exist; there are T + 1 of them.
    """
    steps, count = places.shape
    dead = np.full((steps, len(TAGS)), float(NEVER) * steps)
    alive = np.full((steps, len(TAGS), count), float(NEVER) * steps)
    came_dead: dict[tuple[int, int], tuple[int, int]] = {}
    came_alive: dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    stay, moved_from = first_place, _best_other(first_place)

    dead[0, NOT_YET] = first[NOT_YET] + events[0, NOT_YET]
    dead[0, DESTROY] = first[DESTROY] + events[0, DESTROY] + first_place.max()
    alive[0, CREATE] = first[CREATE] + events[0, CREATE] + places[0]
    alive[0, THERE] = first[THERE] + events[0, THERE] + stay + places[0]
    alive[0, MOVE] = first[MOVE] + events[0, MOVE] + moved_from[0] + places[0]

    living = list(ALIVE)
    for t in range(1, steps):
        for tag in (NOT_YET, NO_MORE):
            options = dead[t - 1] + transition[:, tag]
            came_dead[t, tag] = (int(options.argmax()), -1)
            dead[t, tag] = options.max() + events[t, tag]
        options = alive[t - 1, living] + transition[living, DESTROY][:, None]
        before, origin = divmod(int(options.argmax()), count)
        came_dead[t, DESTROY] = (living[before], origin)
        dead[t, DESTROY] = options.max() + events[t, DESTROY]

        options = dead[t - 1] + transition[:, CREATE]
        none = np.full(count, -1)
        came_alive[t, CREATE] = (np.full(count, options.argmax()), none)
        alive[t, CREATE] = options.max() + events[t, CREATE] + places[t]
        for tag in (THERE, MOVE):
            options = alive[t - 1, living] + transition[living, tag][:, None]
            best, which = options.max(0), np.array(living)[options.argmax(0)]
            if tag == THERE:
                came_alive[t, tag] = (which, np.arange(count))
            else:
                best, source = _best_other(best)
                came_alive[t, tag] = (which[source], source)
            alive[t, tag] = best + events[t, tag] + places[t]

    last = steps - 1
    if dead[last].max() >= alive[last].max():
        tag, place = int(dead[last].argmax()), -1
    else:
        tag, place = divmod(int(alive[last].argmax()), count)
    states = [place]
    for t in range(last, 0, -1):
        if place < 0:
            tag, place = came_dead[t, tag]
        else:
            tags, origins = came_alive[t, tag]
            tag, place = int(tags[place]), int(origins[place])
        states.append(place)
    states.append(_origin(tag, place, first_place, moved_from[1]))
    return states[::-1]


def _origin(tag: int, place: int, first_place: Floats, other: NDArray[np.int64]) -> int:
    """The state before the first sentence, from what happened in it and the state after it."""
    if tag == MOVE:
        return int(other[place])
    if tag == DESTROY:
        return int(first_place.argmax())
    return place if tag == THERE else -1


def _best_other(scores: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """For every candidate the best score of another one, and which that is."""
    if len(scores) == 1:
        return np.full(1, NEVER, dtype=scores.dtype), np.zeros(1, dtype=np.int64)
    second, best = np.argsort(scores)[-2:]
    other = np.full(len(scores), best)
    other[best] = second
    return scores[other], other


def greedy_states(events: Floats, places: Floats, first_place: Floats) -> list[int]:
    """States sentence by sentence: each event the likeliest, what is impossible taken as nothing."""
    opening = int(events[0].argmax())
    there = opening in (THERE, MOVE, DESTROY)
    states = [int(first_place.argmax()) if there else -1]
    for t, tag in enumerate(events.argmax(1).tolist()):
        now = states[-1]
        if now < 0:
            states.append(int(places[t].argmax()) if tag == CREATE else -1)
        elif tag == MOVE:
            states.append(int(places[t].argmax()))
        else:
            states.append(-1 if tag == DESTROY else now)
    return states
