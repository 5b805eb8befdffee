"""Where the heads of a memory machine write and read, step by step, as a picture."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from entnet.errors import EntNetError


def draw_addressing(weights: Tensor, path: Path, title: str = "") -> None:
    """(T, R + 1, slots), the writing head first: a row of slots per head, steps from left to right."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise EntNetError("the picture needs matplotlib: pip install 'entnet[plots]'") from error
    steps, heads, _ = weights.shape
    figure, axes = pyplot.subplots(
        1,
        heads,
        figsize=(1 + heads * max(2.5, 0.12 * steps), 3),
        layout="constrained",
        squeeze=False,
    )
    for head, axis in enumerate(axes[0]):
        axis.imshow(weights[:, head].T.numpy(), cmap="gray", vmin=0, vmax=1, aspect="auto")
        axis.set(xlabel="step", title="writes" if head == 0 else f"reads, head {head}")
    axes[0, 0].set_ylabel("slot")
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
