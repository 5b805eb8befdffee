"""A trace as a picture: gates or movement by sentence and slot, words and attention beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from entnet.errors import EntNetError
from entnet.inspection.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Shown = Literal["gates", "movement"]
INK, GATE, LIGHT = "#24211d", "#0e6e72", "#c9701f"
FORMATS = (".png", ".svg", ".pdf")


def picture_file(path: Path | str) -> Path:
    """Where a picture goes: its folder is made, and a format that cannot be drawn is refused."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise EntNetError(f"{path}: a picture's name ends in {', '.join(FORMATS)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def save_plot(trace: Trace, path: Path | str, shown: Shown = "gates") -> None:
    """Draw a trace into a PNG, SVG or PDF file."""
    _save(lambda: plot_trace(trace, shown), path)


def save_reliability(bins: Sequence[dict[str, float]], path: Path | str) -> None:
    """Draw how often answers of a probability are right; ``bins`` as from ``inspection.names``."""
    _save(lambda: plot_reliability(bins), path)


def _save(draw: Callable[[], Figure], path: Path | str) -> None:
    path = picture_file(path)
    import matplotlib

    # Text stays text in SVG, and the file is the same from run to run.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "entnet"}):
        figure = draw()
        undated = {"Date": None} if path.suffix.lower() == ".svg" else {}
        figure.savefig(path, dpi=160, bbox_inches="tight", facecolor="white", metadata=undated)


def plot_reliability(bins: Sequence[dict[str, float]]) -> Figure:
    """A dot for each range of probabilities, the larger the more questions; right is on the diagonal."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2, 4.0), layout="constrained", facecolor="white")
    axis = figure.subplots()
    axis.plot([0, 1], [0, 1], color="#b9b4a7", linewidth=1, linestyle=":")
    most = max(of["questions"] for of in bins)
    axis.scatter(
        [of["sure"] for of in bins],
        [of["right"] for of in bins],
        s=[12 + 200 * (of["questions"] / most) ** 0.5 for of in bins],
        color=GATE,
        alpha=0.8,
    )
    axis.set_xlabel("probability of the answer")
    axis.set_ylabel("share that is right")
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def plot_trace(trace: Trace, shown: Shown = "gates") -> Figure:
    """A heat map of slots by sentences; beside it what slots hold at the end, and attention."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EntNetError(
            "pictures need matplotlib; install it with: pip install 'entnet[plots]'"
        ) from error
    if not trace.steps:
        raise EntNetError("there is nothing to draw: no sentence was read")
    slots, sentences = len(trace.slots), len(trace.steps)
    asked = trace.questions[-1] if trace.questions else None
    widths = [max(0.34 * sentences, 2.4), 2.6] + ([1.3] if asked else [])
    size = (sum(widths) + 1.6, 0.27 * slots + 2.6)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(
        1, len(widths), squeeze=False, width_ratios=widths, sharey=True
    )[0]  # fmt: skip
    _heat(axes[0], trace, shown)
    _words(axes[1], trace)
    if asked:
        _attention(axes[2], trace)
        answer = asked.answer
        figure.suptitle(
            f"{answer.question}  {answer.answer} ({answer.probability:.0%})",
            x=0.01, ha="left", fontsize=11, color=INK,
        )  # fmt: skip
    return figure


def _heat(axes: Axes, trace: Trace, shown: Shown) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    paper_to_ink = LinearSegmentedColormap.from_list("gate", ["#f3f0e9", GATE, "#0a3437"])
    values = [getattr(step, shown) for step in trace.steps]
    columns = [list(row) for row in zip(*values, strict=True)]
    top = 1.0 if shown == "gates" else max(max(row) for row in values) or 1.0
    axes.pcolormesh(columns, cmap=paper_to_ink, vmin=0, vmax=top, edgecolors="white", linewidth=1.2)
    axes.set_yticks(
        [slot + 0.5 for slot in range(len(trace.slots))],
        [f"{name.label}  {name.slot + 1}" for name in trace.slots],
        fontsize=8,
    )
    axes.set_xticks(
        [t + 0.5 for t in range(len(trace.steps))],
        [step.sentence for step in trace.steps],
        rotation=50, ha="right", rotation_mode="anchor", fontsize=7.5,
    )  # fmt: skip
    axes.invert_yaxis()
    axes.set_title(
        "how far gates opened" if shown == "gates" else "how far slots moved",
        loc="left",
        fontsize=9,
    )
    _bare(axes)


def _words(axes: Axes, trace: Trace) -> None:
    axes.set_title("nearest words at the end", loc="left", fontsize=9)
    for slot, near in enumerate(trace.words(len(trace.steps))):
        for place, word in enumerate(near[:3]):
            strength = max(0.6, min(1.0, 0.5 + word.similarity))
            axes.text(
                place / 3 + 0.01, slot + 0.5, word.word, va="center", fontsize=8, color=INK,
                alpha=strength if place == 0 else 0.6 * strength,
                fontweight="bold" if place == 0 else "normal", clip_on=True,
            )  # fmt: skip
    axes.set_xlim(0, 1)
    axes.set_xticks([])
    _bare(axes)


def _attention(axes: Axes, trace: Trace) -> None:
    attention = trace.questions[-1].answer.attention
    axes.barh([slot + 0.5 for slot in range(len(attention))], attention, color=LIGHT, height=0.7)
    axes.set_title("attention", loc="left", fontsize=9)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "½", "1"], fontsize=8)
    _bare(axes)


def _bare(axes: Axes) -> None:
    axes.tick_params(length=0, colors=INK)
    for spine in axes.spines.values():
        spine.set_visible(False)
