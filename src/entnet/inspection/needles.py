"""A picture of what was found in a long text: where gates opened, how far, and for which sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from entnet.errors import EntNetError
from entnet.inspection.plots import picture_file
from entnet.models.stream_reader import Needle

MOST = 40
"""Sentences that fit on a picture, those whose gates opened furthest."""


def draw_needles(needles: Sequence[Needle], size: int, title: str, path: Path) -> None:
    """A row per sentence: where it stands in a text of ``size`` bytes, and how far a gate opened."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EntNetError('pictures need matplotlib: pip install "entnet[plots]"') from error
    widest = sorted(needles, key=lambda one: -one.gate)[:MOST]
    shown = sorted(widest, key=lambda one: one.start)
    figure = Figure(figsize=(8, 1.2 + 0.24 * len(shown)), layout="constrained", facecolor="white")
    axis = figure.subplots()
    for row, one in enumerate(shown):
        share = 100 * one.start / max(size, 1)
        axis.plot([0, 100], [row, row], color="#eeeeee", linewidth=5, zorder=1)
        axis.scatter(
            share, row, s=12 + 50 * one.gate, color="#1b7f5c", alpha=0.35 + 0.6 * one.gate, zorder=2
        )
        left = share < 60
        text = one.sentence if len(one.sentence) < 60 else one.sentence[:59] + "…"
        axis.text(
            share + (1.5 if left else -1.5),
            row,
            text,
            fontsize=7,
            va="center",
            ha="left" if left else "right",
            zorder=3,
            parse_math=False,
        )
    axis.set_xlim(0, 100)
    axis.set_ylim(len(shown), -1)
    axis.set_yticks([])
    axis.set_xlabel("place in the text, %; the dot grows with the gate", fontsize=8)
    axis.set_title(title, fontsize=9, loc="left", parse_math=False)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    figure.savefig(picture_file(path), dpi=100)
