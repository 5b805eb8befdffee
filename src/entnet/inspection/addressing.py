"""Where the heads of a memory machine write and read, step by step, as a picture."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from entnet.errors import EntNetError
from entnet.inspection.plots import picture_file


def draw_addressing(
    weights: Tensor,
    path: Path,
    title: str = "",
    shown: Tensor | None = None,
    said: Tensor | None = None,
) -> None:
    """(T, R + 1, slots), the writing head first: a picture per head, steps from left to right.

    Bits that were shown and those that the machine said, both (T, bits), go above.
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise EntNetError("the picture needs matplotlib: pip install 'entnet[plots]'") from error
    steps, heads, slots = weights.shape
    parts = [
        (name, bits.T) for name, bits in (("shown", shown), ("said", said)) if bits is not None
    ]
    names = ["writes", *(["reads"] if heads == 2 else [f"reads, {n}" for n in range(1, heads)])]
    parts += [(name, weights[:, head].T) for head, name in enumerate(names)]
    heights = [max(0.5, 0.09 * len(values)) for _, values in parts]
    figure, axes = pyplot.subplots(
        len(parts),
        1,
        figsize=(max(4.0, 1.5 + 0.16 * steps), 0.6 + sum(heights) + 0.15 * len(parts)),
        height_ratios=heights,
        sharex=True,
        layout="constrained",
        squeeze=False,
    )
    for axis, (name, values) in zip(axes[:, 0], parts, strict=True):
        axis.imshow(
            values.numpy(), cmap="gray", vmin=0, vmax=1, aspect="auto", interpolation="nearest"
        )
        axis.set_ylabel(name)
        axis.set_yticks([0, slots - 1] if len(values) == slots else [])
    axes[-1, 0].set_xlabel("step")
    figure.suptitle(title)
    figure.savefig(picture_file(path), dpi=120)
    pyplot.close(figure)
