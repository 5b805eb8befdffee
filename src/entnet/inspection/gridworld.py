"""Seeing the grid in the memory: a linear probe of the slots, and pictures step by step.

entnet inspect MODEL --grid walk.html        (or .gif, which needs matplotlib)
entnet inspect MODEL --probe
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from entnet.data.gridworld import DIRECTIONS, GridStories, GridWorld
from entnet.errors import EntNetError
from entnet.models.entnet import EntNet

Floats = NDArray[np.float64]
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2")


@torch.no_grad()
def slot_states(model: EntNet, words: Tensor) -> Tensor:
    """What the slots hold after every sentence. words (S, T, L) → (S, T, m, d)"""
    state = model.initial_state()
    state = state._replace(memory=state.memory.expand(words.shape[0], -1, -1).contiguous())
    memories = []
    for sentence in words.unbind(1):
        state, _ = model.step(state, sentence)
        memories.append(state.memory)
    return torch.stack(memories, 1)


@dataclass(frozen=True)
class Probe:
    """How often a linear map of the slots finds an agent's field, both x and y right."""

    by_slot: Floats
    """(m, A) from one slot alone."""
    together: Floats
    """(A) from all slots."""
    along: Floats
    """(T, A) from all slots, after each sentence; nan before the agent has a place."""


def probe_slots(
    model: EntNet,
    world: GridWorld,
    length: int = 20,
    stories: int = 2000,
    seed: int = 1,
    ridge: float = 1e-3,
) -> Probe:
    """Fit on half of the stories, by least squares, and score on the other half.

    The map has a score for every x and every y; the highest of each is its answer.
    """
    simulated = world.simulate(np.random.default_rng(seed), stories, length)
    states = slot_states(model, torch.from_numpy(simulated.words)).double()
    half = stories // 2
    slots = states.shape[2]
    by_slot = np.zeros((slots, world.agents))
    together = np.zeros(world.agents)
    along = np.zeros((length, world.agents))
    for agent in range(world.agents):
        fields = torch.from_numpy(simulated.fields[:, :, agent].astype(np.int64))
        for slot in range(slots):
            right = _linear(states[:, :, slot], fields, world, half, ridge)
            by_slot[slot, agent] = right.nanmean()
        right = _linear(states.flatten(2), fields, world, half, ridge)
        together[agent] = right.nanmean()
        along[:, agent] = right.nanmean(0)
    return Probe(by_slot, together, along)


def _linear(features: Tensor, fields: Tensor, world: GridWorld, half: int, ridge: float) -> Tensor:
    """(S − half, T) 1 where the map finds the field, 0 where not, nan where there is none yet."""
    ones = torch.ones(*features.shape[:2], 1, dtype=features.dtype)
    features = torch.cat([features, ones], -1)
    x = torch.div(fields, world.height, rounding_mode="floor")
    y = fields % world.height
    placed = fields[:half] >= 0
    inputs = features[:half][placed]
    one_hot = torch.nn.functional.one_hot
    targets = torch.cat(
        [one_hot(x[:half][placed], world.width), one_hot(y[:half][placed], world.height)], -1
    )
    gram = inputs.T @ inputs + ridge * torch.eye(inputs.shape[1], dtype=inputs.dtype)
    weights = torch.linalg.solve(gram, inputs.T @ targets.to(inputs.dtype))
    scores = features[half:] @ weights
    found_x = scores[..., : world.width].argmax(-1)
    found_y = scores[..., world.width :].argmax(-1)
    right = ((found_x == x[half:]) & (found_y == y[half:])).double()
    return torch.where(fields[half:] >= 0, right, torch.nan)


@dataclass(frozen=True)
class Walk:
    """A story step by step: what is said, what is true, what the network would answer."""

    world: GridWorld
    sentences: tuple[str, ...]
    true: NDArray[np.int32]
    """(T, A) fields; −1 before the agent has a place."""
    facing: NDArray[np.int32]
    """(T, A) directions; −1 before the agent has one."""
    read: NDArray[np.int64]
    """(T, A) the field that the network answers; −1 for no place or an answer that is no field."""
    probability: Floats
    """(T, A) how sure it is."""
    gates: Floats
    """(T, m) how far each slot opened."""


@torch.no_grad()
def follow(model: EntNet, world: GridWorld, stories: GridStories, number: int = 0) -> Walk:
    """Read one of the simulated stories, asking for every agent after every sentence."""
    one = slice(number, number + 1)
    simulated = GridStories(stories.words[one], stories.fields[one], stories.facing[one])
    questions = torch.from_numpy(world.question_words(np.arange(world.agents)))
    field_of = {int(word): field for field, word in enumerate(world.field_words)}
    state = model.initial_state()
    read, probability, gates = [], [], []
    for sentence in torch.from_numpy(simulated.words[0]):
        state, gate = model.step(state, sentence.unsqueeze(0))
        memory = state._replace(memory=state.memory.expand(world.agents, -1, -1))
        sure, said = model.read(memory, questions).scores.softmax(-1).max(-1)
        read.append([field_of.get(int(word), -1) for word in said])
        probability.append(sure.tolist())
        gates.append(gate[0].tolist())
    true = simulated.fields[0]
    return Walk(
        world,
        world.describe(simulated)[0].sentences,
        true,
        simulated.facing[0],
        np.where(true >= 0, np.array(read), -1),
        np.array(probability),
        np.array(gates),
    )


def _svg(walk: Walk, step: int, cell: int = 36) -> str:
    """The grid after a sentence: a filled circle where an agent is, a ring where it is read to be."""
    world = walk.world
    width, height = world.width * cell, world.height * cell
    parts = [
        f'<svg viewBox="-24 -4 {width + 32} {height + 32}" width="{width + 32}" role="img" '
        f'aria-label="{html.escape(walk.sentences[step])}">'
    ]
    lines = [f"M{i * cell} 0V{height}" for i in range(world.width + 1)]
    lines += [f"M0 {i * cell}H{width}" for i in range(world.height + 1)]
    parts.append(f'<path d="{"".join(lines)}" stroke="#bbb" fill="none"/>')
    label = '<text x="{}" y="{}" font-size="12" text-anchor="middle" fill="#777">{}</text>'
    parts += [label.format(i * cell + cell / 2, height + 16, i + 1) for i in range(world.width)]
    parts += [
        label.format(-12, height - i * cell - cell / 2 + 4, i + 1) for i in range(world.height)
    ]
    for agent in range(world.agents):
        parts += _svg_agent(walk, step, agent, cell)
    return "".join([*parts, "</svg>"])


def _svg_agent(walk: Walk, step: int, agent: int, cell: int) -> list[str]:
    colour = COLOURS[agent % len(COLOURS)]
    parts = []

    def centre(field: int) -> tuple[float, float]:
        x, y = walk.world.coordinates(field)
        return (x - 0.5) * cell, (walk.world.height - y + 0.5) * cell

    true, read, facing = (int(array[step, agent]) for array in (walk.true, walk.read, walk.facing))
    if true >= 0:
        cx, cy = centre(true)
        parts.append(f'<circle cx="{cx}" cy="{cy}" r="{cell / 4}" fill="{colour}"/>')
        if facing >= 0:
            turn = 90 * facing
            parts.append(
                f'<path d="M-5 -9L0 -15L5 -9z" fill="{colour}" '
                f'transform="translate({cx} {cy}) rotate({turn})"/>'
            )
    if read >= 0:
        cx, cy = centre(read)
        parts.append(
            f'<circle cx="{cx}" cy="{cy}" r="{cell / 3 + agent}" fill="none" stroke="{colour}" '
            'stroke-width="2.5" stroke-dasharray="4 2"/>'
        )
    return parts


def walk_html(walk: Walk) -> str:
    """A page on its own: one picture a sentence, stepped through with a slider or the arrow keys."""
    frames = "".join(
        f"<figure{'' if step == 0 else ' hidden'}>{_svg(walk, step)}<figcaption>"
        f"{step + 1}. {html.escape(sentence)}<br>{html.escape(_spoken(walk, step))}"
        "</figcaption></figure>"
        for step, sentence in enumerate(walk.sentences)
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Agents on a grid</title>'
        "<style>body{font:16px system-ui;max-width:28em;margin:2em auto}figure{margin:0}"
        "svg{max-width:100%}input{width:100%}</style>"
        "<p>Filled: where an agent is. Dashed ring: where the network, asked now, says it is.</p>"
        f'{frames}<input type="range" min="0" max="{len(walk.sentences) - 1}" value="0" '
        'aria-label="sentence"><script>const f=document.querySelectorAll("figure");'
        'document.querySelector("input").oninput=e=>f.forEach((g,i)=>g.hidden=i!=e.target.value)'
        "</script></html>"
    )


def _spoken(walk: Walk, step: int) -> str:
    said = []
    for agent in range(walk.world.agents):
        field = int(walk.read[step, agent])
        if field >= 0:
            sure = walk.probability[step, agent]
            said.append(f"agent{agent + 1}: ({walk.world.field_word(field)}), {sure:.0%} sure")
    return "; ".join(said)


def write_gif(walk: Walk, path: Path, milliseconds: int = 900) -> None:
    """The same pictures as an animation."""
    try:
        from matplotlib.figure import Figure
        from PIL import Image
    except ImportError as error:
        raise EntNetError("animations need matplotlib: pip install 'entnet[plots]'") from error
    frames = []
    for step in range(len(walk.sentences)):
        figure = Figure(figsize=(4, 4.4), dpi=80, layout="constrained")
        axes = figure.add_subplot()
        axes.set(xlim=(0.5, walk.world.width + 0.5), ylim=(0.5, walk.world.height + 0.5))
        axes.set_aspect("equal")
        axes.set_xticks(range(1, walk.world.width + 1))
        axes.set_yticks(range(1, walk.world.height + 1))
        axes.grid(color="0.85")
        axes.set_title(f"{step + 1}. {walk.sentences[step]}", fontsize=11)
        for agent in range(walk.world.agents):
            colour = COLOURS[agent % len(COLOURS)]
            marks = (
                (walk.true, 110, colour, colour),
                (walk.read, 330 + 60 * agent, "none", colour),
            )
            for fields, size, face, edge in marks:
                if fields[step, agent] >= 0:
                    x, y = walk.world.coordinates(int(fields[step, agent]))
                    axes.scatter([x], [y], s=size, facecolors=face, edgecolors=edge, linewidths=2)
            if walk.facing[step, agent] >= 0:
                x, y = walk.world.coordinates(int(walk.true[step, agent]))
                letter = DIRECTIONS[int(walk.facing[step, agent])]
                axes.text(x, y, letter, color="white", ha="center", va="center", fontsize=8)
        picture = BytesIO()
        figure.savefig(picture, format="png")
        frames.append(Image.open(picture).convert("P"))
    path.parent.mkdir(parents=True, exist_ok=True)
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=milliseconds, loop=0, optimize=True
    )


def probe_markdown(probe: Probe) -> str:
    """The probe as a table: a row a slot, a column an agent."""
    agents = range(probe.together.shape[0])
    rows = ["| slot |" + "".join(f" agent{agent + 1} |" for agent in agents)]
    rows.append("|---|" + "---|" * len(agents))
    for slot, shares in enumerate(probe.by_slot, start=1):
        rows.append(f"| {slot} |" + "".join(f" {share:.1%} |" for share in shares))
    rows.append("| all |" + "".join(f" {share:.1%} |" for share in probe.together))
    return "\n".join(rows) + "\n"


def require_grid(model: EntNet, world: GridWorld, name: str) -> None:
    """An error unless the network was trained on this grid."""
    if model.vocab != world.vocab:
        raise EntNetError(f"{name}: not an EntNet trained on the 10 × 10 grid of two agents")


def draw_walk(model: EntNet, world: GridWorld, path: Path, length: int = 20, seed: int = 1) -> None:
    """A picture of the network reading a fresh story: .gif, or else a page."""
    walk = follow(model, world, world.simulate(np.random.default_rng(seed), 1, length))
    if path.suffix == ".gif":
        write_gif(walk, path)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(walk_html(walk), encoding="utf-8")
